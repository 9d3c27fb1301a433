"""Which settings of a study a row of keys names: `{optimizer: adam, lr: [0.005, 0.01]}`.

Keys are cases and axes. One that names tuned values means those settings, one that names none the compared setting at
its own best. It may also name a model, a data set, an optimizer, a schedule or weights that the study sets by its cases
or its base: it means the settings that have them.
"""

import math
from typing import Any

import polars as pl

from paceline.report.facts import Facts
from paceline.report.results import shown

MEASURED = ("accuracy", "loss")
SET = ("data", "model", "optimizer", "schedule", "weights")  # what a row may name though it is no axis


def axes_of(facts: Facts, row: dict[str, Any]) -> dict[str, Any]:
    """The row's keys that are cases or axes, by the column that has them."""
    return {name: row[key] for name in facts.columns.setting if (key := _key(row, name)) is not None}


def fixed_of(facts: Facts, row: dict[str, Any]) -> dict[str, Any]:
    """The row's keys that name a part which is no axis."""
    axes = {name.removeprefix("axis.") for name in facts.columns.setting}
    return {name: row[name] for name in SET if name in row and name not in axes}


def unknown(facts: Facts, row: dict[str, Any]) -> list[str]:
    """The row's keys that are neither cases nor axes nor such parts."""
    known = {*SET, *facts.columns.setting, *(name.removeprefix("axis.") for name in facts.columns.setting)}
    return [key for key in row if key not in known]


def settings(facts: Facts, row: dict[str, Any]) -> pl.DataFrame:
    """The measured settings that agree with the row, best first; none where it names nothing that is known."""
    keys, fixed = axes_of(facts, row), fixed_of(facts, row)
    tuned = any(name in keys for name in facts.columns.tune)
    table = facts.settings if tuned else facts.best
    if not keys and not fixed:
        return table.clear()
    for name, value in keys.items():
        values = value if isinstance(value, list) else [value]
        named = [any(_same(measured, said) for said in values) for measured in table[name]]
        table = table.filter(pl.Series(named, dtype=pl.Boolean))
    for name, value in fixed.items():
        cases = table["case"] if "case" in table.columns else [None] * table.height
        table = table.filter(pl.Series([_has(facts, case, name, value) for case in cases], dtype=pl.Boolean))
    return table


def _same(measured: Any, said: Any) -> bool:
    """Whether a value of an axis is the one that a row says; an axis of mixed kinds has words."""
    if isinstance(measured, float | int) and isinstance(said, float | int) and bool not in (type(measured), type(said)):
        return math.isclose(measured, said, rel_tol=1e-9)
    return shown(measured) in (shown(said), str(said))


def _key(row: dict[str, Any], column: str) -> str | None:
    """The row's key for a column; `loss` is the measured one unless the study varies it, as axis.loss."""
    return next((key for key in (column, column.removeprefix("axis.")) if key in row), None)


def _has(facts: Facts, case: str | None, name: str, value: Any) -> bool:
    """Whether the runs of a case have this part, by its name."""
    said = facts.study.cases.get(case or "", {}).get(name, facts.study.base.get(name))
    return shown(said.get("name") if isinstance(said, dict) else said) == shown(value)
