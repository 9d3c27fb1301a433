"""What a study's columns are called, and what a setting is called in words."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from paceline.report.results import shown
from paceline.spec import Study

SIZE = "This is the size '{}', not the full study."
_AXIS_AND_VALUE = re.compile(r"\S+ off|\S+ [-+.\d\[]\S*|\d+ \S+")
_NO_NAMES = ("none", "True", "False", "seed")
ALONE = "setting"  # the column that stands for the compared setting where a study compares nothing


class Columns(NamedTuple):
    """The columns of `runs` that make a compared setting, those that are tuned, and what is measured."""

    compare: list[str]
    tune: list[str]
    metric: str  # accuracy (higher is better) or loss (lower is better)

    @property
    def setting(self) -> list[str]:
        return [*self.compare, *self.tune]

    @property
    def higher(self) -> bool:
        return self.metric == "accuracy"


def columns(study: Study, runs: pl.DataFrame) -> Columns:
    """As the tables have them: an axis that shares its name with something measured is `axis.NAME`."""
    case_tunes = (case.get("tune", {}) for case in study.cases.values())
    tune = dict.fromkeys(key for axes in (study.tune, *case_tunes) for key in axes if key != "sample")
    named = {key: f"axis.{key}" if f"axis.{key}" in runs.columns else key for key in (*study.compare, *tune)}
    compare = [*(["case"] if study.cases else []), *(named[key] for key in study.compare)]
    metric = "accuracy" if runs["accuracy"].is_not_null().any() else "loss"
    return Columns(compare or [ALONE], [named[key] for key in tune], metric)


def size(study: Study) -> str:
    """A sentence where the study was run at one of its `scales`; else empty."""
    return SIZE.format(study.scale) if study.scale else ""


def titled(study: Study) -> str:
    """The question, as it stands above a table."""
    return " ".join(filter(None, (study.question, size(study))))


def plain(name: str) -> str:
    """A column as a reader would say it."""
    return name.removeprefix("axis.").replace("_", " ")


def words(row: Mapping[str, Any], names: Sequence[str], *, bare: bool) -> str:
    """`adam / batch 50`: values that are words stand bare where `bare`, all others behind their axis, of a dotted one
    its last part where that is enough."""
    axes = [name.removeprefix("axis.") for name in names]
    ends = [axis.rpartition(".")[2] for axis in axes]
    short = [end if ends.count(end) == 1 else axis for axis, end in zip(axes, ends, strict=True)]
    said = [_said(axis, row[name], bare=bare) for axis, name in zip(short, names, strict=True) if row[name] is not None]
    return (" / " if bare else ", ").join(said)


def _said(axis: str, value: Any, *, bare: bool) -> str:
    if isinstance(value, bool):
        return axis if value else f"{axis} off"
    return shown(value) if bare and _speaks(axis, value) else f"{axis} {shown(value)}"


def _speaks(axis: str, value: Any) -> bool:
    """Whether a value says without its axis what it is. A name does; what stands for a number or for none does not."""
    return isinstance(value, str) and (axis == "case" or (value[:1].isalpha() and value not in _NO_NAMES))


def with_labels(table: pl.DataFrame, of: Columns) -> pl.DataFrame:
    """The table with `label`, the compared setting in words, and `at`, the tuned values it has, in words."""
    tune = [name for name in of.tune if name in table.columns]
    table = _worded(table, of.compare, "label", bare=True)
    return _worded(table, tune, "at", bare=False) if tune else table.with_columns(at=pl.lit(""))


def _worded(table: pl.DataFrame, names: list[str], column: str, *, bare: bool) -> pl.DataFrame:
    distinct = table.select(names).unique(maintain_order=True)
    said = labels([*distinct.iter_rows(named=True)], "-", bare=bare)
    distinct = distinct.with_columns(pl.Series(column, said, pl.String))
    return table.drop(column, strict=False).join(
        distinct, on=names, how="left", nulls_equal=True, maintain_order="left"
    )


def labels(rows: Sequence[Mapping[str, Any]], alone: str, *, bare: bool = True) -> list[str]:
    """Every row in words, `alone` where it has none; in longer ones, then with all digits, where two that differ would
    have the same."""
    different = len({tuple((name, str(value)) for name, value in row.items()) for row in rows})
    for shorter in (True, False) if bare else (False,):
        said = [words(row, list(row), bare=shorter) or alone for row in rows]
        if len(set(said)) == different:
            return said
    full = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return [", ".join(f"{name.removeprefix('axis.')} {value}" for name, value in row.items()) or alone for row in full]


def quoted(label: str) -> str:
    """A setting in a sentence: in quotes where its words could be read as the sentence's own, as of a case."""
    apart = any("," in piece or (" " in piece and not _AXIS_AND_VALUE.fullmatch(piece)) for piece in label.split(" / "))
    return f"'{label}'" if apart else label


def listed(items: Iterable[str], most: int = 4) -> str:
    """`a, b and c`; beyond `most`, `a, b, c and 5 more`. Between items with commas, semicolons."""
    found = list(items)
    comma = "; " if any(", " in item for item in found) else ", "
    if len(found) > most + 1:
        found = [*found[:most], f"{len(found) - most} more"]
    return " and ".join(filter(None, [comma.join(found[:-1]), *found[-1:]]))


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
