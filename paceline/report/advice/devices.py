"""How many devices: the most that still gain, and those that gain nothing."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from paceline.analyse.scaling import GAIN, NO_GAIN, REFERENCE, REFUSED, WORTH, costs, speedups
from paceline.report.advice.faster import loose
from paceline.report.advice.kinds import RESOURCES, SHOWN, TIME, TRADE, Advice, Gain, by_seeds, interval, ranked
from paceline.report.advice.prices import joined, loses, result
from paceline.report.advice.seen import KEPT, LOST, Seen
from paceline.report.names import counted
from paceline.report.results import shown
from paceline.report.scaling.runs import Scaled
from paceline.report.scaling.tables import GOAL, SPEED, TURNAROUND
from paceline.report.sentences import Row

SAID = 2  # settings of which devices are advised


class Step(NamedTuple):
    """A number of devices against a smaller one, as `speedups` has it."""

    row: Row
    few: int
    many: int
    labels: tuple[str, str]  # of the many, of the few
    of: str  # GOAL or SPEED
    name: str  # what else was compared, in words
    runs: pl.DataFrame


def devices(seen: Seen) -> Iterator[Advice]:
    found = seen.scaled
    if found is not None:
        groups = [runs for _, runs in found.runs.group_by([*found.keys, "batch_mode"], maintain_order=True)]
        good = [runs for runs in groups if not _poor(seen, runs)]
        made = [advice for runs in good or groups for advice in _of_setting(seen, found, runs)]
        yield from ranked([advice for advice in made if not loose(advice)])[:SAID]


def _poor(seen: Seen, runs: pl.DataFrame) -> bool:
    """Whether each of its settings has a worse result than the best."""
    best = next(iter(seen.best))
    labels = [label for label in runs["label"].unique() if label in seen.best]
    return all(label != best and seen.kept(label, best)[0] == LOST for label in labels)


def _of_setting(seen: Seen, found: Scaled, runs: pl.DataFrame) -> Iterator[Advice]:
    """From the fewest on, each count against the last that gained; what it gains is said against the fewest that it is
    shown to beat."""
    counts = sorted(set(runs["devices"]))
    chosen, wasted = counts[0], None
    for many in counts[1:]:
        step = _step(found, runs, chosen, many)
        if _gains(step.row):
            chosen = many
        elif step.row["stands"] == NO_GAIN:
            wasted = step
    fewer = (_step(found, runs, few, chosen) for few in counts if few < chosen)
    more = next((step for step in fewer if _gains(step.row)), None)
    if more is not None:
        yield _more(seen, found, more)
    if wasted is not None and wasted.few == chosen:
        yield _fewer(seen, found, wasted)


def _step(found: Scaled, runs: pl.DataFrame, few: int, many: int) -> Step:
    """By time to the goal that was asked for, where both counts may be compared by it; else by examples a second."""
    both = runs.filter(pl.col("devices").is_in([few, many]))
    rows = {of: _last(both, of) for of in ((GOAL, SPEED) if found.goal and found.goal.asked else (SPEED,))}
    of = next((of for of, row in rows.items() if row["stands"] != REFUSED), SPEED)
    labels = [str(runs.filter(pl.col("devices") == count)["label"][0]) for count in (many, few)]
    name = found.named(runs.row(0, named=True))
    return Step(rows[of], few, many, (labels[0], labels[1]), of, name, both)


def _last(both: pl.DataFrame, of: str) -> Row:
    return speedups(both, [], of=of).row(-1, named=True)


def _gains(row: Row) -> bool:
    """As the analysis says; of one pair of runs, which it leaves open, by the speedup itself."""
    single = row["stands"] not in (REFUSED, REFERENCE) and row["speedup"] is not None and row["speedup_low"] is None
    return bool(row["stands"] == GAIN or (single and row["speedup"] > WORTH))


def _more(seen: Seen, found: Scaled, step: Step) -> Advice:
    row = step.row
    gain = Gain(row["speedup"], row["speedup_low"], row["speedup_high"], row["pairs"], _what(found, step))
    evidence = (
        f"{row['scaling']} scaling, paired by seed; efficiency {100 * row['efficiency']:.3g} %, of 100 % where every "
        f"device counts in full{f'; {found.of_cores}' if found.of_cores else ''}"
    )
    hours = f"{shown(step.many / step.few / row['speedup'])} times the device-hours"
    price = joined(hours, _result(seen, *step.labels), _paid(seen, step, step.many, step.few))
    known = all(label in seen.best for label in step.labels)
    kept, most = seen.kept(*step.labels) if known and step.of != GOAL else (KEPT, SHOWN)
    kind, change = (
        TIME if kept == KEPT else TRADE,
        f"{_named(step, step.many, step.few)}{loses(seen, seen.change(*step.labels), kept)}",
    )
    return Advice(kind, change, gain, by_seeds(row["pairs"], most=most), evidence, price)


def _fewer(seen: Seen, found: Scaled, step: Step) -> Advice:
    row, ratio = step.row, step.many / step.few
    saved = [None if row[name] is None else ratio / row[name] for name in ("speedup_high", "speedup_low")]
    gain = Gain(ratio / row["speedup"], saved[0], saved[1], row["pairs"], "times fewer device-hours")
    ends = interval(row["speedup_low"], row["speedup_high"], row["pairs"])
    evidence = (
        f"{row['scaling']} scaling, paired by seed: {counted(step.many, 'device')} are {shown(row['speedup'])} "
        f"{_what(found, step)} ({ends}); at most {WORTH:g} is no gain"
    )
    change = f"{_named(step, step.few, step.many)}: the others gain nothing"
    price = joined(_result(seen, *reversed(step.labels)), _paid(seen, step, step.few, step.many))
    return Advice(RESOURCES, change, gain, by_seeds(row["pairs"]), evidence, price)


def _what(found: Scaled, step: Step) -> str:
    return f"times as fast to {found.goal.said}" if step.of == GOAL and found.goal else "times the examples a second"


def _named(step: Step, now: int, before: int) -> str:
    return f"use {counted(now, 'device')} instead of {before}{f' ({step.name})' if step.name else ''}"


def _result(seen: Seen, one: str, two: str) -> str:
    return result(seen, one, two) if one in seen.best and two in seen.best else ""


def _paid(seen: Seen, step: Step, now: int, before: int) -> str:
    """A run from start to end, which is what a cluster bills."""
    if seen.price is None:
        return ""
    cost = dict(costs(step.runs, [], price=seen.price, of=TURNAROUND).select("devices", "cost").iter_rows())
    if cost.get(now) is None or cost.get(before) is None:
        return ""
    return f"a run costs {shown(cost[now])} instead of {shown(cost[before])}"
