"""What is needed to know more: runs that are missing, seeds, values beyond an edge, another batch."""

import math
from collections.abc import Iterator

import polars as pl

from paceline.record.writer import OVER
from paceline.report.advice.allowed import beyond
from paceline.report.advice.kinds import ENOUGH, HINT, KNOW, LIKELY, Advice
from paceline.report.advice.prices import asked, each, spent
from paceline.report.advice.seen import Seen
from paceline.report.names import counted, listed, plain
from paceline.report.noise import STRETCHES, noise_table
from paceline.report.results import shown
from paceline.report.sentences import HOW
from paceline.report.timing.measured import PIPELINE
from paceline.spec import Run

VALUES = 3  # of a compared axis, from which its edge says something
EDGES = 3  # lines of edges, those of the most settings
TINY = 0.1  # of the margin: a smaller difference is not worth a run
FAR = 20  # more seeds than this are not proposed


def on_gpu(run: Run) -> bool:
    return run.device == "cuda" or run.precision in ("fp16", "tf32") or bool(run.loader and run.loader.pin_memory)


def unfinished(seen: Seen) -> Iterator[Advice]:
    """The runs that the study still lacks."""
    table = seen.facts.runs.unique("run")
    left = table.filter(pl.col("status").is_in(["queued", "interrupted"]))
    ended = seen.facts.count(*OVER)
    if left.is_empty() or not ended:
        return
    gpu = 0 if seen.had_gpu else sum(on_gpu(seen.known[run]) for run in left["run"])
    where = "" if not gpu else " on a GPU" if gpu == left.height else f", {gpu} of them on a GPU"
    seconds = each(seen, table) * left.height
    price = "" if gpu == left.height else f"about {spent(seconds)} if they take what the others took"
    yield Advice(
        KNOW,
        f"train the {counted(left.height, 'missing run')} of {table.height}{where}",
        None,
        LIKELY,
        f"{ended} of {counted(table.height, 'run')} have ended; `paceline run` continues",
        price or "unknown: no run on a GPU is recorded",
        None if gpu == left.height else seconds / 60,
    )


def repetitions(seen: Seen) -> Iterator[Advice]:
    """Once all runs have ended, where seeds change anything."""
    repeat = seen.facts.study.repeat
    if repeat >= ENOUGH or seen.facts.exact or not seen.best or seen.facts.count("queued", "running", "interrupted"):
        return
    price, minutes = asked(seen, list(seen.best), ENOUGH - repeat, every=True)
    yield Advice(
        KNOW,
        f"train {counted(ENOUGH - repeat, 'more seed')} of every setting (--seeds {ENOUGH})",
        None,
        LIKELY,
        f"{counted(repeat, 'seed')} a setting: {'no interval' if repeat == 1 else 'intervals are very wide'}",
        price,
        minutes,
    )


def seeds(seen: Seen) -> Iterator[Advice]:
    """The tied setting that is separated from the best with the fewest more seeds."""
    facts = seen.facts
    if facts.study.repeat < ENOUGH or len(seen.best) < 2 or facts.exact or facts.stops_at_goal:
        return
    best = next(iter(seen.best))
    mine = (pl.col("a") == best) | (pl.col("b") == best)
    tied = facts.pairs.filter(mine, ~pl.col("separated"), pl.col("more_seeds") <= FAR).sort("more_seeds")
    tied = tied.filter(pl.col("difference") >= TINY * seen.margin(best))
    alike = [other for other in seen.best if _alike(seen, best, other)]
    tied = tied.filter(~pl.col("a").is_in(alike) | ~pl.col("b").is_in(alike))
    if tied.is_empty():
        return
    row = tied.row(0, named=True)
    other, more = row["b"] if row["a"] == best else row["a"], row["more_seeds"]
    price, minutes = asked(seen, [best, other], more)
    rest = [
        f"{r['more_seeds']} from {seen.short(r['b'] if r['a'] == best else r['a'])}"
        for r in tied[1:4].iter_rows(named=True)
    ]
    others = f"; it takes {listed(rest)}" if rest else ""
    yield Advice(
        KNOW,
        f"train {counted(more, 'more seed')} to separate {seen.short(best)} from {seen.short(other)}",
        None,
        LIKELY,
        f"difference {shown(row['difference'])} (95 % interval {shown(row['low'])} to {shown(row['high'])}, "
        f"n = {row['n']} seeds, {HOW}): 80 % power if it stays as seen{others}",
        price,
        minutes,
    )


def _alike(seen: Seen, one: str, two: str) -> bool:
    """Whether two settings differ only in how the same training is carried out, so that no difference is expected."""
    rows = seen.best[one], seen.best[two]
    differ = [name for name in seen.facts.columns.compare if rows[0][name] != rows[1][name]]
    heads = {name.removeprefix("axis.").partition(".")[0] for name in differ}
    return heads <= set(PIPELINE) - {"batch", "precision", "accumulate", "batch_mode", "sync_batch_norm"}


def edges(seen: Seen) -> Iterator[Advice]:
    """Tuned axes whose best value is the smallest or largest tried, by axis and side."""
    found: list[tuple[str, bool, dict[str, float]]] = []
    for axis in seen.facts.columns.tune:
        sides: dict[bool, dict[str, float]] = {}
        for label, row in seen.best.items():
            tried = seen.facts.runs.filter(pl.col("label") == label)[axis].drop_nulls()
            if (
                not row["edge"]
                or seen.as_good_as_zero(label)
                or not tried.dtype.is_numeric()
                or tried.n_unique() < 2
                or row[axis] is None
            ):
                continue
            above = row[axis] == tried.max()
            if (above or row[axis] == tried.min()) and beyond(seen.run(label), axis, row[axis], above=above):
                sides.setdefault(above, {})[label] = row[axis]
        found += [(axis, above, values) for above, values in sorted(sides.items(), reverse=True)]
    yield from (_beyond(seen, *each) for each in sorted(found, key=lambda each: -len(each[2]))[:EDGES])


def _beyond(seen: Seen, axis: str, above: bool, values: dict[str, float], *, every: bool = False) -> Advice:
    """`every`: at all tuned values, as another value of a compared axis is trained."""
    end = max(values.values()) if above else min(values.values())
    who = listed([f"{seen.short(label)} ({shown(value)})" for label, value in values.items()])
    price, minutes = asked(seen, list(values), seen.facts.study.repeat, every=every)
    place = "largest" if above else "smallest"
    one = len(values) == 1
    return Advice(
        KNOW,
        f"try {plain(axis)} {'above' if above else 'below'} {shown(end)}: the best lies at the edge",
        None,
        HINT,
        f"the best {'value' if one else 'values'} of {who} {'is' if one else 'are'} the {place} tried",
        f"{price}, for one more value{'' if one else ' each'}",
        minutes,
    )


def compared_edges(seen: Seen) -> Iterator[Advice]:
    """A compared axis of numbers of which the best setting has the smallest or largest, where the best is known: no
    other is tied with it, and none with missing seeds is ahead of it."""
    unknown = seen.facts.ties["tied_with_best"].any() or not seen.facts.ahead.is_empty()
    if not seen.best or seen.facts.study.repeat < 2 or unknown:
        return
    best = next(iter(seen.best))
    for axis in seen.facts.columns.compare:
        tried = seen.facts.best[axis]
        if axis == "devices" or not tried.dtype.is_numeric() or tried.drop_nulls().n_unique() < VALUES:
            continue
        value = seen.best[best][axis]
        above = value == tried.max()
        if not (above or value == tried.min()) or seen.as_good_as_zero(best):
            continue
        if beyond(seen.run(best), axis, value, above=above):
            yield _beyond(seen, axis, above, {best: value}, every=True)


def useful_batch(seen: Seen) -> Iterator[Advice]:
    """Where the batch of the best setting lies outside the interval of its useful batch in the last third of
    training; earlier thirds say nothing of a later one."""
    table = noise_table(seen.facts) if seen.best else pl.DataFrame()
    if table.is_empty():
        return
    best = next(iter(seen.best))
    mine = table.filter(pl.col("setting") == best, pl.col("of training") == STRETCHES[-1])
    if mine.is_empty() or mine["low"][0] is None or mine["useful batch"][0] < 1:
        return
    row = mine.row(0, named=True)
    batch, useful, low, high = row["batch"], row["useful batch"], row["low"], row["high"]
    near = 2 ** round(math.log2(useful))  # as batches are said
    size = f"useful batch {shown(useful)} (95 % interval {shown(low)} to {'no end' if high is None else shown(high)})"
    evidence = (
        f"{size} in the {row['of training']}, by the noise of gradients over {row['rows']} rows of {seen.short(best)}"
    )
    price, minutes = asked(seen, [best], seen.facts.study.repeat)
    if high is not None and batch > high and near < batch:
        what = f"batch {near:,} instead of {batch}: above the useful batch a larger one buys few steps"
        evidence += f"; at {batch} an example counts for {row['examples count for']:.2g}"
    elif batch < low and near > batch:
        what = f"a batch up to {near:,} instead of {batch}: it would need fewer steps"
        evidence += f"; at {batch} a step counts for {row['steps count for']:.2g}"
    else:
        return
    yield Advice(KNOW, f"try {what}", None, HINT, evidence, price, minutes)
