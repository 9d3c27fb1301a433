"""What was published beside what was measured here.

A study file says it so; the keys of a row that are cases or axes say which measured setting it stands beside:

    published:
      source: Report 000, exercise 2
      findings: [adadelta is worst]          # claims in words; optional
      unlike: other data than the report's   # why no figure of the rows can be reproduced; optional
      rows:
        - {optimizer: adam, lr: [0.005, 0.01], accuracy: 0.92, loss: "0.30"}
        - {optimizer: gd, accuracy_percent: 91}

Which setting a row names is told by `selection`; where it names several, it stands beside the best of them.
`accuracy_percent` is an accuracy in per cent. A figure is held to the digits it was published with; one that ends in 0
keeps it in quotes. Keys that are neither axes nor measured are shown as they are. Beside times (a key with `seconds`
or `minutes`) stand the seconds of training here, where the study has `measure: time`, and beside `epochs to stable`
those here, both at full size; neither is judged.
`published` may also be the list of rows alone. Findings that can be judged: see `claims`.
"""

import math
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from paceline.analyse.intervals import summarise
from paceline.analyse.quantiles import t_quantile
from paceline.analyse.stable import epochs_to_stable
from paceline.report.claims import Claim, claims
from paceline.report.claims.values import CONTRADICTED, OPEN, REPRODUCED, UNTESTABLE
from paceline.report.facts import Facts
from paceline.report.names import counted, words
from paceline.report.results import shown
from paceline.report.selection import MEASURED, axes_of, fixed_of, settings
from paceline.spec import Run
from paceline.spec.published import STABLE

EXACT = 0.01  # of the figure
WIDE, WIDE_SHARE = {"accuracy": 0.02}, 0.1  # of a prediction interval, to each side: absolute, or of the figure
MEASURED_AS = (*MEASURED, "accuracy_percent")
POINT = 0.005  # half a point of accuracy: 0.9 may have been published as 0.90


class Published(NamedTuple):
    source: str
    findings: tuple[Claim, ...]
    table: pl.DataFrame  # a line a published row
    unmatched: int  # rows that name no setting of this study, at any size


def published(facts: Facts) -> Published | None:
    said = facts.study.published
    if not said:
        return None
    said = {"rows": said} if isinstance(said, list) else said
    if not isinstance(said, dict):
        return Published("", (Claim(str(said), False, "", ""),), pl.DataFrame(), 0)
    rows = said.get("rows") or []
    rows = [row for row in (rows if isinstance(rows, list) else [rows]) if isinstance(row, dict)]
    beside = [_beside(facts, row) for row in rows]
    others = [_untrained(facts, row) for row, line in zip(rows, beside, strict=True) if not line]
    table = pl.DataFrame([line for line in (*beside, *others) if line], infer_schema_length=None, strict=False)
    return Published(str(said.get("source") or ""), claims(facts), table, others.count({}))


def _beside(facts: Facts, row: dict[str, Any]) -> dict[str, Any]:
    """One published row and the setting it stands beside; empty if the study has no such setting."""
    of = facts.columns
    row, digits = _in_units(row)
    found = settings(facts, row)
    if found.is_empty():
        return {}
    match = found.row(0, named=True)
    keys = axes_of(facts, row)
    line: dict[str, Any] = {"setting": match["label"]}
    if of.tune:
        line["published at"] = (
            ", ".join(f"{n.removeprefix('axis.')} {_words(keys[n])}" for n in of.tune if n in keys) or None
        )
        line["measured at"] = match["at"]
    for metric in MEASURED:
        if metric in digits:
            line |= _both(facts, match, metric, float(row[metric]), digits[metric])
    known = {*MEASURED, *fixed_of(facts, row), *of.setting, *(name.removeprefix("axis.") for name in of.setting)}
    line |= {f"published {key}": _words(value) for key, value in row.items() if key not in known}
    line |= _seconds(facts, match) if any("seconds" in key or "minutes" in key for key in row) else {}
    return line | (_stable(facts, match) if STABLE in row else {})


def _seconds(facts: Facts, match: dict[str, Any]) -> dict[str, Any]:
    """Of training to its end, evaluation apart, where the work is the published one and every run was timed alone."""
    runs = _done(facts, match)
    alone = (runs["timing"] == "exclusive").fill_null(False).all() and facts.study.measure == "time"
    if runs.is_empty() or not alone or not facts.study.part or _stops_early(facts, runs):
        return {}
    here = summarise(runs, ["label"], "seconds").row(0, named=True)
    return {"measured seconds": here["mean"], "seconds low": here["low"], "seconds high": here["high"], "n": here["n"]}


def _stops_early(facts: Facts, runs: pl.DataFrame) -> bool:
    return any(facts.known[run].early_stop is not None for run in runs["run"] if run in facts.known)


def _stable(facts: Facts, match: dict[str, Any]) -> dict[str, Any]:
    """The epoch by which half of the runs were stable."""
    runs = _done(facts, match)["run"]
    rows = facts.rows.filter(pl.col("run").is_in(runs.implode()))
    found = epochs_to_stable(rows, metric=facts.columns.metric)["stable_epoch"]
    if found.is_empty() or not facts.study.part:
        return {}
    sure, half = found.count(), -(-len(found) // 2)
    epoch = shown(found.sort(nulls_last=True)[half - 1]) if sure >= half else "none"
    return {f"measured {STABLE}": f"{epoch} ({sure} of {counted(len(found), 'run')} stable)"}


def _done(facts: Facts, match: dict[str, Any]) -> pl.DataFrame:
    mine = (pl.col("label") == match["label"]) & (pl.col("at") == match["at"])
    return facts.runs.filter(mine, pl.col("status") == "done")


def _untrained(facts: Facts, row: dict[str, Any]) -> dict[str, Any]:
    """A published row of a setting that only a larger size of the study has."""
    if not facts.study.scale:
        return {}
    row, digits = _in_units(row)
    said = {key: value for key, value in row.items() if key not in digits}
    names = {key: value for key, value in said.items() if _names_setting(key)}
    line: dict[str, Any] = {"setting": words({key: _plain(value) for key, value in names.items()}, [*names], bare=True)}
    for metric in digits:
        if metric in MEASURED:
            line |= {f"published {metric}": row[metric], f"{metric} verdict": f"{UNTESTABLE}: not trained at this size"}
    return line | {f"published {key}": _words(value) for key, value in said.items() if key not in names}


def _names_setting(key: str) -> bool:
    """Whether a row's key is a case or an axis that a study may have."""
    return key == "case" or key.partition(".")[0] in Run.model_fields


def _plain(value: Any) -> Any:
    return _words(value) if isinstance(value, dict | list) else value


def _in_units(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, float]]:
    """The row with accuracies as shares, and half a unit of the last digit that each figure was published with."""
    written = {key: number for key in MEASURED_AS if (number := _number(row.get(key))) is not None}
    half = {key: 0.5 * 10.0 ** int(number.as_tuple().exponent) for key, number in written.items()}
    row = {**row, **{key: float(number) for key, number in written.items()}}
    if "accuracy_percent" in half:
        half["accuracy"] = half["accuracy_percent"] / 100
        rest = {key: value for key, value in row.items() if key != "accuracy_percent"}
        row = {**rest, "accuracy": round(row["accuracy_percent"] / 100, 6)}
    if "accuracy" in half:
        half["accuracy"] = min(half["accuracy"], POINT)
    return row, half


def _number(value: Any) -> Decimal | None:
    """A figure with the digits it is written with; None for what is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _both(facts: Facts, match: dict[str, Any], metric: str, value: float, half: float) -> dict[str, Any]:
    runs = _done(facts, match)
    column = "value" if metric == facts.columns.metric else metric
    here = summarise(runs, ["label"], column, metric=metric).to_dicts()
    got = here[0] if here else {"mean": None, "low": None, "high": None, "sd": None, "n": 0}
    return {
        f"published {metric}": value,
        f"measured {metric}": got["mean"],
        f"{metric} low": got["low"],
        f"{metric} high": got["high"],
        "n": got["n"],
        f"{metric} difference": None if got["mean"] is None else got["mean"] - value,
        f"{metric} verdict": _verdict(facts, got, value, half, WIDE.get(metric, WIDE_SHARE * abs(value))),
    }


def _verdict(facts: Facts, got: dict[str, Any], value: float, half: float, wide: float) -> str:
    """Reproduced where the figure, within its rounding, is one that a run more would give: inside the 95 % prediction
    interval, mean +- t sd sqrt(1 + 1/n); within EXACT of it where nothing is random. Inside an interval that reaches
    further than `wide` says nothing."""
    if unlike := facts.study.published.get("unlike") if isinstance(facts.study.published, dict) else None:
        return f"{UNTESTABLE}: {unlike}"
    if not facts.study.part:
        return f"{UNTESTABLE}: not the full study"
    if got["n"] < 2:
        return f"{UNTESTABLE}: {'one seed' if got['n'] else 'no result'}"
    reach = float(t_quantile(np.array([got["n"]], dtype=np.float64))[0]) * got["sd"] * math.sqrt(1 + 1 / got["n"])
    exact = EXACT * abs(value) if got["sd"] == 0 else 0.0
    if abs(got["mean"] - value) > max(reach, exact) + half:
        return CONTRADICTED
    return REPRODUCED if reach <= wide else f"{OPEN}: the interval reaches {shown(reach)} to each side"


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_words(inner)}" for key, inner in value.items())
    return ", ".join(map(_words, value)) if isinstance(value, list) else shown(value)
