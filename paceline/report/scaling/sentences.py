"""What more devices bought, in sentences."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from paceline.analyse.scaling import GAIN, NO_GAIN, REFERENCE, REFUSED, UNSHOWN, gains, speedups
from paceline.report.names import counted, listed, quoted
from paceline.report.scaling.runs import Scaled
from paceline.report.scaling.tables import GOAL, SPEED, soonest

SAID = 3  # of one kind; the tables have all


def sentences(found: Scaled) -> Iterator[str]:
    """In sentences: what was gained, or that nothing was; the quickest count to the goal; what was refused."""
    table = speedups(found.runs, found.keys, of=SPEED)
    judged = gains(table, found.keys)
    said = [_gain(found, row, table) for row in judged.iter_rows(named=True)]
    yield from _several(said)
    if any(said) and found.of_cores:
        yield f"{found.of_cores[0].upper()}{found.of_cores[1:]}."
    if found.goal is not None:
        yield from _several([_reaching(found, row) for row in soonest(found, GOAL).iter_rows(named=True)])
    elif found.missed and found.missed.asked:
        yield f"No run reached {found.missed.said}, so that no time to it can be compared."
    refused = table.filter(pl.col("stands") == REFUSED)
    crowded = found.runs.filter("oversubscribed")["devices"]
    for (why,), rows in refused.group_by("refusal", maintain_order=True):
        counts = listed(dict.fromkeys(_counted(found, row) for row in rows.iter_rows(named=True)))
        rest = " Their accuracy and epochs count." if rows["devices"].is_in(crowded.implode()).all() else ""
        yield f"The time of {counts} is refused: {why}.{rest}"


def _counted(found: Scaled, row: dict[str, Any]) -> str:
    name = found.named(row)
    return f"{counted(row['devices'], 'device')}{f' of {quoted(name)}' if name else ''}"


def _several(said: list[str]) -> Iterator[str]:
    """The first few; the tables have all."""
    lines = [line for line in said if line]
    yield from lines[:SAID]
    if len(lines) > SAID:
        yield f"The tables have {len(lines) - SAID} more."


def _gain(found: Scaled, judged: dict[str, Any], table: pl.DataFrame) -> str:
    groups = [*found.keys, "scaling"]
    mine = pl.all_horizontal(pl.col(name).eq_missing(pl.lit(judged[name])) for name in groups)
    more = table.filter(mine, ~pl.col("stands").is_in([REFERENCE, REFUSED]))
    if more.is_empty():
        return ""
    best = more.sort("speedup", descending=True, maintain_order=True).row(0, named=True)
    sure = "one repetition, so no interval"
    if best["speedup_low"] is not None:
        sure = f"95 % interval {best['speedup_low']:.3g} to {best['speedup_high']:.3g}, n = {best['pairs']} seeds"
    what = (
        f"{counted(best['devices'], 'device')} train {best['speedup']:.3g} times the examples a second of "
        f"{counted(best['reference'], 'device')} ({sure}; efficiency {100 * best['efficiency']:.3g} %)"
    )
    name = found.named(judged)
    of = f"{judged['scaling'].capitalize()} scaling{f' of {quoted(name)}' if name else ''}"
    words = {GAIN: "gains", NO_GAIN: "gains nothing"}
    drowned = judged["verdict"] == UNSHOWN and (best["noise"] or 0.0) >= best["speedup"] > 1
    noise = f", and the machine's own speed changed by as much, {best['noise']:.3g} times" if drowned else ""
    return f"{of} {words.get(judged['verdict'], 'is not shown to gain')}: {what}{noise}."


def _reaching(found: Scaled, row: dict[str, Any]) -> str:
    name = found.named(row)
    of = f"{row['scaling']} scaling{f' of {quoted(name)}' if name else ''}"
    sure = "" if row["low"] is None else f" (95 % interval {row['low']:.3g} to {row['high']:.3g})"
    tied = f"; not shown to be slower: {listed(map(str, row['tied']))}" if row["tied"] else ""
    goal = found.goal.said if found.goal else ""
    return (
        f"Soonest at {goal} by {of}: {counted(row['devices'], 'device')}, with a median of {row['seconds']:.3g} s of "
        f"training{sure}{tied}."
    )
