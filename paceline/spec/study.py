"""A Study: a question, the runs that answer it, and how they are to be read."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, ValidationError

from paceline.errors import SYNONYMS, StudyError, nearest
from paceline.spec.document import Document, KeyPath, read
from paceline.spec.full import alike, within
from paceline.spec.override import override, read_value
from paceline.spec.run import FIELDS, GROUPS, PARTS, Frozen, Number, Whole

_NESTED = (*PARTS, *GROUPS)
_SIZE = "the size '{}'"
MAX_RUNS = 1_000_000


class Range(Frozen):
    """A tuned axis to sample from; of a setting that is a whole number, whole numbers if its ends are."""

    low: Number = Field(description="the least value")
    high: Number = Field(description="the largest")
    scale: Literal["linear", "log"] = Field("linear", description="how values are spread between them")


class Study(Frozen):
    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        description="letters, digits, '.', '_' and '-'; the record folder has this name",
    )
    question: str = Field("", description="one sentence, shown above the results")
    base: dict[str, Any] = Field({}, description="the run that all others vary: settings of a run")
    compare: dict[str, list[Any]] = Field({}, description="axes of the question: a list of values for a setting")
    tune: dict[str, Any] = Field(
        {},
        description="axes on which each compared setting is tuned, and shown at its best: lists, "
        "or, with sample: N, ranges of which N points are drawn",
    )
    cases: dict[str, dict[str, Any]] = Field(
        {}, description="named settings that are no grid; each may have a tune of its own"
    )
    repeat: Whole = Field(3, ge=1, le=10_000, description="seeds for every setting")
    measure: Literal["accuracy", "time"] = Field(
        "accuracy", description="time: runs one at a time, repetitions interleaved"
    )
    select: Literal["validation", "test", "best_epoch"] = Field(
        "validation",
        description="what tuned values are chosen on; best_epoch: every run counts at its best test value",
    )
    published: Any = Field(None, description="figures of others to stand beside: source, findings, rows")
    assumed: list[str] = Field([], description="what the source of those figures left unsaid")
    scales: dict[str, dict[str, Any]] = Field({}, description="named sizes for --scale: settings as for --set")

    _document: Document = PrivateAttr()
    _folder: Path = PrivateAttr()
    _scale: str = PrivateAttr("")
    _changed: str = PrivateAttr("")
    _part: bool = PrivateAttr(True)

    @property
    def document(self) -> Document:
        return self._document

    @property
    def folder(self) -> Path:
        """Where the user's own parts are looked for: beside the study file."""
        return self._folder

    @property
    def scale(self) -> str:
        """Which of its named sizes was asked for; empty if none was."""
        return self._scale

    @property
    def changed(self) -> str:
        """What makes its settings others than those of its file: `the size 'quick'`, `--set steps=1`, or both; empty
        for the full study, whatever its seeds."""
        return self._changed

    @property
    def part(self) -> bool:
        """Whether each of its settings is one of the full study: settings may be left out, seeds be others, and no
        run trains otherwise. True of the full study too."""
        return self._part


def load(file: Path, *, sets: list[str] | None = None, seeds: int | None = None, scale: str | None = None) -> Study:
    document = full = _accept_case_list(read(file))
    steps: list[tuple[str, Document]] = []  # what changed it, and what it was then
    if scale is not None:
        document = _rescale(document, scale)
        steps.append((_SIZE.format(scale), document))
    for text in sets or []:
        key, equals, value = text.partition("=")
        label = f"--set {text}"
        if not equals or not key.strip():
            raise StudyError("say key=value, as in --set steps=200.", where=label)
        document = _accept_case_list(override(document, key.strip(), read_value(value, label), label))
        steps.append((label, document))
    if seeds is not None:
        document = override(document, "repeat", seeds, f"--seeds {seeds}")
    changed = "" if alike(document.data, full.data) else _changes(full, steps)
    part = within(document.data, full.data)
    return from_document(document, file.resolve().parent, scale or "", changed=changed, part=part)


def _changes(document: Document, steps: list[tuple[str, Document]]) -> str:
    changed = []
    for label, after in steps:
        if not alike(after.data, document.data):
            changed.append(label)
        document = after
    return " and ".join(filter(None, [", ".join(changed[:-1]), *changed[-1:]]))


def from_document(document: Document, folder: Path, scale: str = "", *, changed: str = "", part: bool = True) -> Study:
    """A study from what a file or a record says. `changed`, `part`: in what it is less than the full one, and whether
    all its settings are settings of that."""
    document = _accept_case_list(document)
    if not isinstance(document.data, dict):
        raise document.error((), "a study is a mapping with name, base, compare, tune, cases and repeat.")
    _refuse_unknown(document, (), document.data, Study.model_fields)
    try:
        study = Study.model_validate(document.data)
    except ValidationError as error:
        path, message = said(error)
        raise document.error(path, message) from None
    study._document, study._folder, study._scale = document, folder, scale
    study._changed, study._part = changed, part
    _check_axes(study)
    return study


_PLAINLY = {
    "string_pattern_mismatch": "a name has letters, digits, '.', '_' and '-' and starts with a letter or digit",
    "dict_type": "say a mapping (key: value)",
    "list_type": "say a list of values, as [a, b]",
    "model_type": "say a mapping (key: value)",
    "int_parsing_size": "say a whole number of a reasonable size",
    "int_from_float": "say a whole number",
    "int_type": "say a whole number",
    "float_type": "say a number",
    "string_type": "say a text",
    "bool_type": "say true or false",
    "bool_parsing": "say true or false",
    "greater_than": "say a number above {gt:,.15g}",
    "greater_than_equal": "say at least {ge:,.15g}",
    "less_than": "say a number below {lt:,.15g}",
    "less_than_equal": "say at most {le:,.15g}",
}


def said(error: ValidationError) -> tuple[KeyPath, str]:
    """Where pydantic's first error stands, and its words with the value that caused it and the nearest valid one."""
    errors = error.errors()
    wrong_word = (e for e in errors if e["type"] == "literal_error" and isinstance(e["input"], str))
    first = next(wrong_word, errors[0])
    path, value = tuple(first["loc"]), first["input"]
    if first["type"] == "missing":
        return path, f"'{path[-1]}' is missing."
    if first["type"] == "literal_error":
        allowed = [word.strip("'") for word in first["ctx"]["expected"].replace(" or ", ", ").split(", ")]
        numbers = any("_number" in str(e["loc"]) and e["input"] == value for e in errors)
        other = " Or a whole number." if numbers else ""
        return path, f"unknown value {value!r}. {nearest(str(value), allowed)}{other}"
    if first["type"] in _PLAINLY:
        plainly = _PLAINLY[first["type"]].format(**first.get("ctx", {}))
        return path, f"{plainly}; it is empty." if value is None else f"{plainly}, not {value!r}."
    message = first["msg"].removeprefix("Value error, ").rstrip(".")
    return path, f"{message}." if first["type"] == "value_error" else f"{message}, not {value!r}."


def _accept_case_list(document: Document) -> Document:
    """Cases may be a mapping or a list of mappings with a name; here they become the mapping."""
    data = document.data
    if not isinstance(data, dict) or not isinstance(data.get("cases"), list):
        return document
    cases: dict[str, Any] = {}
    lines = dict(document.lines)
    for index, case in enumerate(data["cases"]):
        at = ("cases", index)
        if not isinstance(case, dict) or not isinstance(case.get("name"), str):
            raise document.error(at, "a case in a list needs a name: - {name: ..., ...}.")
        if case["name"] in cases:
            raise document.error(at, f"two cases are named '{case['name']}'; a name stands once.")
        cases[case["name"]] = {key: value for key, value in case.items() if key != "name"}
        for path, line in document.lines.items():
            if path[:2] == at:
                lines[("cases", case["name"], *path[2:])] = line
    return Document(document.file, {**data, "cases": cases}, lines)


def _rescale(document: Document, scale: str) -> Document:
    scales = document.data.get("scales") if isinstance(document.data, dict) else None
    if not isinstance(scales, dict) or scale not in scales:
        known = nearest(scale, scales) if isinstance(scales, dict) and scales else "The study has none."
        raise document.error(("scales",), f"no scale '{scale}' here. {known}")
    if not isinstance(scales[scale], dict):
        raise document.error(("scales", scale), f"a scale is a mapping of settings, not {scales[scale]!r}.")
    for key in sorted(scales[scale], key=lambda key: key.count(".")):  # a part before what is set inside it
        document = override(document, key, scales[scale][key], document.where(("scales", scale, key)))
    return document


def _refuse_unknown(document: Document, path: KeyPath, data: dict[str, Any], allowed: Any) -> None:
    for key in data:
        if key not in allowed:
            misplaced = not path and SYNONYMS.get(key, key).partition(".")[0] in FIELDS
            hint = f"It is a setting of a run: say it in base, as {SYNONYMS.get(key, key)}." if misplaced else ""
            raise document.error((*path, key), f"unknown key '{key}'. {hint or nearest(key, allowed)}")


def _check_axes(study: Study) -> None:
    document = study.document
    _check_keys(document, ("base",), study.base)
    _refuse_lists(document, ("base",), study.base)
    _check_keys(document, ("compare",), study.compare)
    _check_tune(document, ("tune",), study.tune)
    for key, values in study.compare.items():
        _check_values(document, ("compare", key), values)
    for name, case in study.cases.items():
        at: KeyPath = ("cases", name)
        if not name.strip():
            raise document.error(("cases",), "a case has no name.")
        _check_keys(document, at, {key: value for key, value in case.items() if key != "tune"})
        _refuse_lists(document, at, case)
        if not isinstance(case.get("tune", {}), dict):
            raise document.error((*at, "tune"), "tune is a mapping of axes to lists of values.")
        _check_tune(document, (*at, "tune"), case.get("tune", {}))
        for key in case.get("tune", {}):
            if key in case:
                raise document.error(
                    (*at, "tune", key), f"the case sets '{key}' and tunes it; it can do one of the two."
                )
        for key in (*study.compare, *study.tune):
            for place, settings in ((at, case), ((*at, "tune"), case.get("tune", {}))):
                if key in settings:
                    raise document.error((*place, key), f"'{key}' is an axis of the study; a case cannot set it too.")
    for key in study.compare:
        if key in study.tune:
            raise document.error(("tune", key), f"'{key}' is compared and tuned; it can be one of the two.")
    for name, settings in study.scales.items():
        if not settings:
            raise document.error(("scales", name), "an empty scale; say what it changes.")


def _check_keys(document: Document, path: KeyPath, settings: dict[str, Any]) -> None:
    for key in settings:
        head, dot, rest = key.partition(".")
        if key == "seed" and path[0] != "base":
            raise document.error((*path, key), "seeds are no axis; say repeat: N.")
        if head not in FIELDS:
            meant = SYNONYMS.get(head, head)
            hint = f"{meant} is said of the whole study: beside base, not in it." if meant in Study.model_fields else ""
            raise document.error((*path, key), f"unknown key '{key}'. {hint or nearest(head, FIELDS)}")
        if dot and (head not in _NESTED or not rest.isidentifier()):
            raise document.error((*path, key), f"'{head}' has no '{rest}'; dotted keys go into {', '.join(_NESTED)}.")


def _refuse_lists(document: Document, path: KeyPath, settings: dict[str, Any]) -> None:
    for key, value in settings.items():
        if isinstance(value, list) and "." not in key:
            raise document.error((*path, key), f"one value goes here, not a list; {key}: {_flow(value)} {_AXES}.")


def _flow(values: list[Any]) -> str:
    return f"[{', '.join(map(str, values))}]"


_AXES = "goes under compare, or under tune to take the best of them"


def _check_values(document: Document, path: KeyPath, values: Any) -> None:
    if isinstance(values, dict) and {"low", "high"} <= values.keys():
        raise document.error(path, "of a range points are drawn; say how many: sample: 20 in tune, beside it.")
    if not isinstance(values, list):
        raise document.error(path, f"an axis is a list of values, not {values!r}.")
    if not values:
        raise document.error(path, "an empty axis; give it at least one value.")
    seen = set()
    for index, value in enumerate(values):
        key = (isinstance(value, bool), value if isinstance(value, Hashable) else repr(value))
        if key in seen:
            raise document.error((*path, index), f"{value!r} stands twice on this axis.")
        seen.add(key)


def _check_tune(document: Document, path: KeyPath, tune: dict[str, Any]) -> None:
    axes = {key: value for key, value in tune.items() if key != "sample"}
    _check_keys(document, path, axes)
    if "sample" not in tune:
        for key, values in axes.items():
            _check_values(document, (*path, key), values)
        return
    count = tune["sample"]
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MAX_RUNS:
        raise document.error((*path, "sample"), f"{count!r} is not a number of samples; say a whole number from 1.")
    if not axes:
        raise document.error(path, "nothing to sample; give tune at least one axis.")
    for key, values in axes.items():
        _check_samples(document, (*path, key), values)


def _check_samples(document: Document, path: KeyPath, values: Any) -> None:
    if isinstance(values, list):
        return _check_values(document, path, values)
    if not isinstance(values, dict):
        raise document.error(path, "say a list, or {low: ..., high: ..., scale: linear or log}.")
    _refuse_unknown(document, path, values, Range.model_fields)
    try:
        axis = Range.model_validate(values)
    except ValidationError as error:
        place, message = said(error)
        raise document.error((*path, *place), message) from None
    if axis.low >= axis.high or (axis.scale == "log" and axis.low <= 0):
        raise document.error(path, "low must be below high, and above 0 on a log scale.")
    return None
