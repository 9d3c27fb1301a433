"""Time to the same result: which compared setting gets there sooner than the study's first one."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.loading import SATURATION
from paceline.analyse.scaling import WORTH
from paceline.analyse.speed import SINGLE
from paceline.report.advice.kinds import (
    HINT,
    LIKELY,
    RESOURCES,
    SHOWN,
    SURE,
    TIME,
    TRADE,
    Advice,
    Gain,
    by_seeds,
    interval,
    ranked,
)
from paceline.report.advice.prices import joined, loses, memory, paid, result
from paceline.report.advice.seen import KEPT, LOST, OPEN, Seen
from paceline.report.names import counted, listed, plain
from paceline.report.results import shown
from paceline.report.sentences import Row

TO_GOAL, WHOLE, STEPS = "goal_seconds", "seconds", "goal_steps"
DEAR = {"accuracy": 0.05, "loss": 0.5}  # what no time is worth: so much of an accuracy, such a share of a loss


def quicker(seen: Seen) -> Iterator[Advice]:
    """The surest gain at the same result, a larger one that is less sure, and a still larger one for a worse result."""
    made = [(ratio, one) for ratio, one in _candidates(seen) if not loose(one)]
    ratios = {one.change: ratio for ratio, one in made}
    of = ranked([one for _, one in made])
    least = WORTH
    for kind in (TIME, TIME, TRADE):
        found = [one for one in of if one.kind == kind and ratios[one.change] > least][:1]
        yield from found
        least = max([least, *(WORTH * ratios[one.change] for one in found)])


def loose(one: Advice) -> bool:
    """A trade of which one seed is all that is known."""
    return one.kind == TRADE and one.gain is not None and one.gain.n == 1


def _candidates(seen: Seen) -> Iterator[tuple[float, Advice]]:
    """Every setting that may be faster than the first, with its ratio."""
    by = {column: seen.sooner(column, seen.first) for column in (TO_GOAL, WHOLE, STEPS)} if seen.first else {}
    for label in seen.best:
        if label == seen.first or not seen.comparable(label) or _dear(seen, label):
            continue
        for column, table in by.items():
            row = table.get(label)
            if row is None or row["ratio"] is None:
                continue
            if row["ratio"] > WORTH and _may_say(seen, row, column):
                yield row["ratio"], _advice(seen, row, table[seen.first], column)
            break


def _dear(seen: Seen, label: str) -> bool:
    """Whether its result is so much worse than that of the first that no time is worth it."""
    change, metric = seen.change(label, seen.first), seen.facts.columns.metric
    whole = 1.0 if metric == "accuracy" else abs(seen.best[seen.first]["mean"] or 0.0)
    return change is not None and -change.value > DEAR[metric] * whole


def _may_say(seen: Seen, row: Row, column: str) -> bool:
    """Whether the analysis calls it faster, or had one repetition only, which is a hint. Steps say something where each
    of them is the same work."""
    if column == STEPS and not seen.same_step(row["label"], seen.first):
        return False
    return bool(row["claim"] == "faster" or row["why"] == SINGLE)


def _advice(seen: Seen, row: Row, first: Row, column: str) -> Advice:
    label, gain = row["label"], Gain(row["ratio"], row["ratio_low"], row["ratio_high"], row["pairs"], _of(seen, column))
    kept, most = _kept(seen, label) if column == WHOLE else _met(seen, row, column)
    return Advice(
        TIME if kept == KEPT else TRADE,
        f"{seen.instead(label, seen.first)}{loses(seen, seen.change(label, seen.first), kept)}",
        gain,
        by_seeds(row["pairs"], most=most),
        _evidence(seen, row, first, column),
        _price(seen, row, first, column),
    )


def _kept(seen: Seen, label: str) -> tuple[str, str]:
    """As `Seen.kept`; but what misses the goal that the first reaches has not the same result."""
    kept, most = seen.kept(label, seen.first)
    met = seen.hits.filter(pl.col("label") == seen.first)["goal_steps"].is_not_null().all()
    return (OPEN, max(most, LIKELY, key=SURE.index)) if kept == KEPT and met else (kept, most)


def _met(seen: Seen, row: Row, column: str) -> tuple[str, str]:
    """What meets the goal has the same result, unless it goes on and is shown to end worse."""
    kept, _ = seen.kept(row["label"], seen.first)
    worse = kept == LOST and not seen.facts.stops_at_goal
    return LOST if worse else KEPT, _by_grid(seen, row, column)


def _by_grid(seen: Seen, row: Row, column: str) -> str:
    """The goal is seen at evaluations alone: the first may have met it up to one of them sooner than it was seen to."""
    steps = seen.hits.filter(pl.col("label") == seen.first)["goal_steps"].median()
    early = 1 - _grid(seen, seen.first) / float(steps or 1)  # type: ignore[arg-type]
    if row["ratio"] * early <= 1 + 1e-6:
        return HINT
    return LIKELY if column == STEPS or (row["ratio_low"] or 0) * early <= 1 else SHOWN


def _of(seen: Seen, column: str) -> str:
    return {
        TO_GOAL: f"times as fast to {seen.facts.goal}",
        WHOLE: "times as fast through the whole training",
        STEPS: f"times fewer steps to {seen.facts.goal}",
    }[column]


def _evidence(seen: Seen, row: Row, first: Row, column: str) -> str:
    unit = "steps" if column == STEPS else "s"
    size = f"median {shown(row['median'])} {unit} against {shown(first['median'])} {unit}"
    noise = f"; noise of the machine {shown(row['noise'])}" if row["noise"] is not None and column != STEPS else ""
    what = {
        TO_GOAL: "seconds of training to the goal; the gain is the median of the seeds' ratios",
        WHOLE: "seconds of the whole training; the gain is the median of the seeds' ratios",
        STEPS: "steps to the goal, for the runs were not timed alone; the gain is the median of the seeds' ratios",
    }[column]
    grid = f"; seen every {shown(_grid(seen, row['label']))} steps" if column != WHOLE else ""
    return f"{size} ({what}{grid}{noise})"


def _grid(seen: Seen, label: str) -> int:
    """Steps from one evaluation to the next."""
    run = seen.done.filter(pl.col("label") == label)["run"][0]
    return int(seen.facts.rows.filter(pl.col("run") == run)["step"].sort().diff().median() or 0)  # type: ignore[arg-type]


def _price(seen: Seen, row: Row, first: Row, column: str) -> str:
    label = row["label"]
    money = "" if column == STEPS else paid(seen, row["median"], first["median"], seen.run(seen.first).devices)
    return joined(result(seen, label, seen.first), _behind(seen, label), memory(seen, label, seen.first), money)


def _behind(seen: Seen, label: str) -> str:
    """How far it is behind the best, where that is another."""
    best = next(iter(seen.best))
    if best in (label, seen.first):
        return ""
    return f"against the best, {seen.short(best)}, {result(seen, label, best)}"


def workers(seen: Seen) -> Iterator[Advice]:
    """From how many loader workers on there is no gain, where that is shown; groups that agree in one line."""
    usage = seen.facts.usage
    if usage is None or usage.saturation.is_empty():
        return
    for _, rows in usage.saturation.filter("no_gain").group_by("saturated_at", maintain_order=True):
        yield _enough(rows.sort("ratio_high", descending=True).row(0, named=True), rows)


def _enough(row: Row, rows: pl.DataFrame) -> Advice:
    """By the group in which more workers gain the most."""
    few, many = row["saturated_at"], row["against"]
    of = listed([said for each in rows.iter_rows(named=True) if (said := where(each))])
    least = f"use {'no DataLoader workers' if few == 0 else counted(few, 'DataLoader worker')}"
    ends = interval(1 / row["ratio_high"], 1 / row["ratio_low"], row["pairs"])
    speed = f"{shown(1 / row['ratio'])} times the samples a second of {counted(many, 'worker')}"
    saved = many - few
    return Advice(
        RESOURCES,
        f"{least}{f' ({of})' if of else ''}: {'they' if few == 0 else 'more'} gain nothing",
        Gain(saved, saved, saved, None, f"{saved} worker process{'' if saved == 1 else 'es'} saved", ratio=False),
        by_seeds(row["pairs"]),
        f"{counted(few, 'worker')} train {speed} ({ends}, paired by seed)",
        "none in the result: the same batches",
    )


def where(row: Row) -> str:
    return ", ".join(f"{plain(name)} {shown(row[name])}" for name in row if name not in SATURATION)
