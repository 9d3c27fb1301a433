"""A better result, and what need not be trained any more because it is worse and no sooner."""

from collections.abc import Iterator
from itertools import islice

import polars as pl

from paceline.analyse.scaling import WORTH
from paceline.report.advice.faster import STEPS, TO_GOAL, WHOLE
from paceline.report.advice.kinds import ACCURACY, LIKELY, RESOURCES, SHOWN, Advice, Gain, by_seeds, interval
from paceline.report.advice.prices import joined, memory
from paceline.report.advice.seen import Seen
from paceline.report.names import counted, listed
from paceline.report.results import shown
from paceline.report.sentences import HOW, Row


def better(seen: Seen) -> Iterator[Advice]:
    """The best of the settings that are separated from the study's first; or the first, if it is the best of all."""
    if seen.facts.stops_at_goal:
        return
    best = next(iter(seen.best))
    if seen.first == best:
        others = [label for label in seen.best if label != best]
        if others and not seen.facts.ties["tied_with_best"].any() and not seen.as_good_as_zero(others[0]):
            yield from _above(seen, best, others[0], "keep")
    elif not seen.as_good_as_zero(seen.first):
        found = (advice for label in seen.best for advice in _above(seen, label, seen.first, "use"))
        yield from islice(found, 1)


def _above(seen: Seen, label: str, other: str, verb: str) -> Iterator[Advice]:
    """Where the result of the one is separated from that of the other, and better."""
    change = seen.change(label, other)
    if change is None or not change.separated or change.value <= 0 or change.n < 2:
        return
    metric, edge = seen.facts.columns.metric, seen.best[other]["edge"]
    word = "higher" if seen.facts.columns.higher else "lower"
    means = [f"{shown(seen.best[name]['mean'])} ({seen.named(name)})" for name in (label, other)]
    at_edge = f"; the best values of {seen.short(other)} lie at the edge of what was tried" if edge else ""
    yield Advice(
        ACCURACY,
        f"{verb}{seen.instead(label, other).removeprefix('use')}",
        Gain(change.value, change.low, change.high, change.n, f"{word} {metric}", ratio=False),
        by_seeds(change.n, most=LIKELY if edge else SHOWN),
        f"mean {metric} {means[0]} against {means[1]}, {HOW}{at_edge}",
        _price(seen, label, other),
    )


def _price(seen: Seen, label: str, other: str) -> str:
    row = seen.sooner(WHOLE, other).get(label)
    time = _slower(row) or "time unknown, for the runs were not timed alone"
    return joined(time, memory(seen, label, other))


def _slower(row: Row | None) -> str:
    if row is None or row["ratio"] is None:
        return ""
    times, ends = 1 / row["ratio"], [1 / row[name] if row[name] else None for name in ("ratio_high", "ratio_low")]
    seconds = f"{shown(times)} times the seconds of the whole training ({interval(ends[0], ends[1], row['pairs'])})"
    low, high = ends
    unshown = low is not None and high is not None and low < 1 < high
    return f"no time is shown to be lost: {seconds}" if unshown else seconds


def dominated(seen: Seen) -> Iterator[Advice]:
    """Settings that are separated from the best, are no sooner by time or by equal work, and have no best at an edge;
    the first has its own advice."""
    best = next(iter(seen.best))
    tables = [seen.sooner(column, best) for column in (TO_GOAL, WHOLE, STEPS)]
    worse = [label for label in seen.best if label not in (best, seen.first) and _worse(seen, label, best, tables)]
    if not worse:
        return
    changes = {label: change for label in worse if (change := seen.change(best, label))}
    name, near = min(changes.items(), key=lambda each: each[1].value)
    ends = interval(near.low, near.high, near.n)
    evidence = f"the nearest, {seen.short(name)}, is {shown(near.value)} behind ({ends}), {HOW}"
    sure = by_seeds(min(change.n for change in changes.values()))
    these = listed(map(seen.short, worse), 6)
    yield Advice(
        RESOURCES,
        f"drop {these} from the study: {seen.short(best)} is better and no later",
        *_saved(seen, worse, sure, evidence),
    )


def _worse(seen: Seen, label: str, best: str, tables: list[dict[str, Row]]) -> bool:
    change = seen.change(label, best)
    if seen.as_good_as_zero(label) or seen.best[label]["edge"]:
        return False
    if change is None or not change.separated or change.value >= 0 or seen.run(label).devices != seen.run(best).devices:
        return False
    goal, whole, steps = (table.get(label) for table in tables)
    if _maybe_sooner(goal) or (seen.same_step(label, best) and _maybe_sooner(steps)):
        return False
    timed = whole is not None and whole["ratio"] is not None
    return not _maybe_sooner(whole) if timed else seen.same_work(label, best)


def _maybe_sooner(row: Row | None) -> bool:
    """Whether it is, or may be, faster by more than a tenth."""
    if row is None or row["ratio"] is None:
        return False
    high = row["ratio_high"] if row["ratio_high"] is not None else row["ratio"]
    return bool(high > WORTH)


def _saved(seen: Seen, labels: list[str], sure: str, evidence: str) -> tuple[Gain, str, str, str]:
    """Their share of the study's runs."""
    runs = seen.facts.runs.unique("run")
    mine = runs.filter(pl.col("label").is_in(labels)).height
    left = runs.height - mine
    ratio = runs.height / left
    gain = Gain(ratio, ratio, ratio, None, f"{counted(left, 'run')} instead of {runs.height:,}")
    return gain, sure, evidence, "none"
