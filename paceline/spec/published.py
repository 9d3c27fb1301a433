"""What a study may say of its source: figures to stand beside, claims to be judged. Their meaning: report/claims."""

from collections.abc import Sequence
from typing import Any

from paceline.errors import nearest
from paceline.spec.argument import is_number
from paceline.spec.document import KeyPath
from paceline.spec.run import Run
from paceline.spec.study import Study

_ONE, _SOME, _PAIR = (1, 1, "one setting"), (1, 99, "one setting or more"), (2, 2, "two settings")
KINDS = {
    "best": _ONE,
    "worst": _ONE,
    "order": (2, 99, "two settings or more"),
    "alike": _PAIR,
    "fails": _SOME,
    "learns": _SOME,
    "worsens": _ONE,
    "faster": _PAIR,
    "gains_more": (2, 2, "two pairs of settings"),
    "ends": _SOME,
    "untestable": (0, 0, "a reason"),
}  # how many settings a claim of that kind names: at least, at most, in words
NUMBERS = ("within", "by", "at_most", "at_least")
BESIDE = (*NUMBERS, "of", "among", "size", "device")
STABLE = "epochs to stable"
_MORE = ("accuracy", "validation_accuracy", "train_accuracy", "accuracy at first")
_LESS = ("loss", "validation_loss", STABLE, "gap", "swing", "crossings of W", "detour of b")
HIGHER = {**dict.fromkeys(_MORE, True), **dict.fromkeys(_LESS, False)}  # what a claim may be of; whether more is better
DEVICES = ("cpu", "cuda", "mps")
_KEYS = ("source", "unlike", "findings", "rows")
_SHARES = {"accuracy": 1.0, "accuracy_percent": 100.0}


def kind_of(claim: dict[str, Any]) -> str:
    """Empty where it has none, or more than one."""
    kinds = [kind for kind in KINDS if kind in claim]
    return kinds[0] if len(kinds) == 1 else ""


def fault(claim: dict[str, Any]) -> tuple[str, str] | None:
    """The key of a claim that is wrong, and why."""
    text, kind = claim.get("finding", claim.get("asked")), kind_of(claim)
    known = ("finding", "asked", *KINDS, *BESIDE)
    if unknown := next((key for key in claim if key not in known), None):
        return unknown, f"unknown key '{unknown}'. {nearest(unknown, known)}"
    if not text or not kind or ("finding" in claim and "asked" in claim):
        return "", f"a claim has finding or asked, and one of {', '.join(KINDS)}."
    if not _named(kind, claim[kind]):
        return kind, f"{kind} names {KINDS[kind][2]}, each as {{optimizer: adam}}."
    if "among" in claim and not isinstance(claim["among"], dict):
        return "among", f"among names settings as {{case: [a, b]}}, not {claim['among']!r}."
    if kind == "ends" and ("at_most" in claim) == ("at_least" in claim):
        return kind, "ends has a number, at_least or at_most."
    for key in NUMBERS:
        if key in claim and not is_number(claim[key]):
            return key, f"{key} is a number, not {claim[key]!r}."
    if claim.get("within", 0) < 0:
        return "within", f"within is at least 0, not {claim['within']!r}."
    for key, allowed in (("of", HIGHER), ("device", DEVICES)):
        if key in claim and claim[key] not in tuple(allowed):
            return key, f"{key} is one of {', '.join(allowed)}; not {claim[key]!r}."
    if claim.get("size", "full") != "full":
        return "size", f"size is full, or not said; not {claim['size']!r}."
    return None


def _named(kind: str, said: Any) -> bool:
    if kind == "untestable":
        return True
    named = said if isinstance(said, list) else [said]
    least, most, _ = KINDS[kind]
    if not least <= len(named) <= most:
        return False
    if kind == "gains_more":
        return all(_named("faster", pair) for pair in named)
    return all(isinstance(row, dict) for row in named)


def check(study: Study) -> None:
    """StudyError where `published` has a shape of which nothing could be shown or judged."""
    said: Any = study.published
    at: KeyPath = ("published",)
    if isinstance(said, list):
        _check_rows(study, at, said)
    if not isinstance(said, dict):
        return
    for key in said:
        if key not in _KEYS:
            raise study.document.error((*at, key), f"unknown key '{key}'. {nearest(str(key), _KEYS)}")
    _check_rows(study, (*at, "rows"), said.get("rows") or [])
    findings, at = said.get("findings") or [], (*at, "findings")
    if isinstance(findings, dict):
        _check_claim(study, at, findings)
    for index, claim in enumerate(findings if isinstance(findings, list) else []):
        if isinstance(claim, dict):
            _check_claim(study, (*at, index), claim)


def _check_rows(study: Study, at: KeyPath, rows: Any) -> None:
    if not isinstance(rows, list):
        raise study.document.error(
            at, f"rows is a list of rows, each as {{optimizer: adam, accuracy: 0.92}}, not {rows!r}."
        )
    for index, row in enumerate(rows):
        if not isinstance(row, dict):
            raise study.document.error((*at, index), f"a row is as {{optimizer: adam, accuracy: 0.92}}, not {row!r}.")
        for key, most in _SHARES.items():
            if is_number(row.get(key)) and not 0 <= row[key] <= most:
                other = "; say accuracy_percent" if key == "accuracy" and 1 < row[key] <= 100 else ""
                raise study.document.error((*at, index, key), f"{key} is from 0 to {most:g}, not {row[key]!r}{other}.")


def _check_claim(study: Study, at: KeyPath, claim: dict[str, Any]) -> None:
    if found := fault(claim):
        key, why = found
        raise study.document.error((*at, key) if key else at, why)
    kind = kind_of(claim)
    named = {kind: claim[kind] if kind != "untestable" else [], "among": claim.get("among", [])}
    for place, said in named.items():
        for row in _rows(said):
            for key in row:
                _check_name(study, (*at, place), str(key), row[key])


def _rows(said: Any) -> Sequence[dict[str, Any]]:
    if isinstance(said, dict):
        return [said]
    return [row for each in said for row in _rows(each)]


def _check_name(study: Study, at: KeyPath, key: str, value: Any) -> None:
    """A key is `case` or a setting of a run; a case is one that the study has."""
    if key == "case":
        for name in value if isinstance(value, list) else [value]:
            if study.cases and not study.changed and not study.scale and str(name) not in study.cases:
                raise study.document.error(at, f"no case '{name}'. {nearest(str(name), study.cases)}")
    elif key.partition(".")[0] not in Run.model_fields:
        raise study.document.error(at, f"unknown key '{key}'. {nearest(key, ('case', *study.compare, *study.tune))}")
