"""What was published beside what was measured here.

A study file says it so; the keys of a row that are cases or axes say which measured setting it stands beside:

    published:
      source: Report 000, exercise 2
      findings: [adadelta is worst]          # claims in words; optional
      rows:
        - {optimizer: adam, lr: [0.005, 0.01], accuracy: 0.92, loss: 0.30}
        - {optimizer: gd, accuracy_percent: 91}

A row that names tuned values stands beside that setting, beside the best of them where it lists several; one that names
none stands beside the compared setting at its own best. `accuracy_percent` is an accuracy in per cent. A row may also
name a model, a data set, an optimizer, a schedule or weights that the study sets by its cases or its base: it stands
beside a setting that has them. Keys that are neither of these nor measured are shown as they are. `published` may also
be the list of rows alone.
"""

from typing import Any, NamedTuple

import polars as pl

from paceline.analyse.intervals import summarise
from paceline.report.facts import Facts
from paceline.report.results import shown

MEASURED = ("accuracy", "loss")
SET = ("data", "model", "optimizer", "schedule", "weights")  # what a row may name though it is no axis


class Published(NamedTuple):
    source: str
    findings: tuple[str, ...]
    table: pl.DataFrame  # a line a published row
    unmatched: int  # rows that name no setting of this study


def published(facts: Facts) -> Published | None:
    said = facts.study.published
    if not said:
        return None
    said = {"rows": said} if isinstance(said, list) else said
    if not isinstance(said, dict):
        return Published("", (str(said),), pl.DataFrame(), 0)
    found = said.get("findings") or ()
    findings = (found,) if isinstance(found, str) else tuple(map(_words, found))
    rows = [row for row in said.get("rows") or () if isinstance(row, dict)]
    lines = [_beside(facts, row) for row in rows]
    table = pl.DataFrame([line for line in lines if line], infer_schema_length=None, strict=False)
    return Published(str(said.get("source") or ""), findings, table, lines.count(None))


def _beside(facts: Facts, row: dict[str, Any]) -> dict[str, Any] | None:
    """One published row and the setting it stands beside; None if the study has no such setting."""
    of = facts.columns
    row = _in_units(row)
    keys = {name: _key(row, name) for name in of.setting if _key(row, name) is not None}
    fixed = {name: row[name] for name in SET if name in row and not _is_axis(facts, name)}
    match = _match(facts, keys, fixed)
    if match is None:
        return None
    line: dict[str, Any] = {"setting": match["label"]}
    if of.tune:
        line["published at"] = (
            ", ".join(f"{n.removeprefix('axis.')} {_words(keys[n])}" for n in of.tune if n in keys) or None
        )
        line["measured at"] = match["at"]
    for metric in MEASURED:
        if isinstance(row.get(metric), (int, float)):
            line |= _both(facts, match, metric, float(row[metric]))
    known = {*MEASURED, *fixed, *of.setting, *(name.removeprefix("axis.") for name in of.setting)}
    return line | {f"published {key}": _words(value) for key, value in row.items() if key not in known}


def _in_units(row: dict[str, Any]) -> dict[str, Any]:
    percent = row.get("accuracy_percent")
    if not isinstance(percent, (int, float)):
        return row
    return {**{k: v for k, v in row.items() if k != "accuracy_percent"}, "accuracy": round(percent / 100, 6)}


def _key(row: dict[str, Any], column: str) -> Any:
    """The row's value for a column; `loss` is the measured one unless the study varies it."""
    return row.get(column, row.get(column.removeprefix("axis.")) if column not in MEASURED else None)


def _is_axis(facts: Facts, name: str) -> bool:
    return name in facts.columns.setting or f"axis.{name}" in facts.columns.setting


def _has(facts: Facts, case: str | None, name: str, value: Any) -> bool:
    """Whether the runs of a case have this part, by its name."""
    said = facts.study.cases.get(case or "", {}).get(name, facts.study.base.get(name))
    return shown(said.get("name") if isinstance(said, dict) else said) == shown(value)


def _match(facts: Facts, keys: dict[str, Any], fixed: dict[str, Any]) -> dict[str, Any] | None:
    """The best measured setting that agrees with all the keys, and has what is fixed."""
    tuned = any(name in keys for name in facts.columns.tune)
    table = facts.settings if tuned else facts.best
    for name, value in keys.items():
        wanted = [shown(v) for v in (value if isinstance(value, list) else [value])]
        held = pl.Series([shown(v) in wanted for v in table[name]], dtype=pl.Boolean)
        table = table.filter(held)
    for name, value in fixed.items():
        cases = table["case"] if "case" in table.columns else [None] * table.height
        table = table.filter(pl.Series([_has(facts, case, name, value) for case in cases], dtype=pl.Boolean))
    return table.row(0, named=True) if table.height and (keys or fixed) else None


def _both(facts: Facts, match: dict[str, Any], metric: str, value: float) -> dict[str, Any]:
    runs = facts.runs.filter(
        (pl.col("label") == match["label"]) & (pl.col("at") == match["at"]), pl.col("status") == "done"
    )
    column = "value" if metric == facts.columns.metric else metric
    here = summarise(runs, ["label"], column).to_dicts()
    got = here[0] if here else {"mean": None, "low": None, "high": None, "n": 0}
    return {
        f"published {metric}": value,
        f"measured {metric}": got["mean"],
        f"{metric} low": got["low"],
        f"{metric} high": got["high"],
        "n": got["n"],
        f"{metric} difference": None if got["mean"] is None else got["mean"] - value,
    }


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_words(inner)}" for key, inner in value.items())
    return ", ".join(map(_words, value)) if isinstance(value, list) else shown(value)
