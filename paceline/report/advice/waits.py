"""What the step of the best setting waits for, and what may help that no run of the study has tried."""

from collections.abc import Iterator

import polars as pl

from paceline.report.advice.kinds import HINT, KNOW, Advice
from paceline.report.advice.prices import asked
from paceline.report.advice.seen import Seen
from paceline.spec import Run

WAITS = {
    "loader-bound": "the loader waits",
    "copy-bound": "copies wait",
    "communication-bound": "devices wait for each other",
    "launch-bound": "calls bound the step",
}


def waiting(seen: Seen) -> Iterator[Advice]:
    """What to try, but for settings that the study varies."""
    usage = seen.facts.usage
    if usage is None or usage.bottlenecks.is_empty() or not seen.best:
        return
    best = next(iter(seen.best))
    mine = usage.bottlenecks.filter(pl.col("label") == best, pl.col("verdict").is_in(list(WAITS)))
    if mine.is_empty():
        return
    row = mine.row(0, named=True)
    tried = [what for field, what in _options(row["verdict"], seen.run(best)) if not _varied(seen, field)]
    if tried:
        price, minutes = asked(seen, [best], seen.facts.study.repeat)
        evidence = f"{row['verdict']}: {row['reason']} (n = {row['n']} seeds)"
        change = f"{WAITS[row['verdict']]}: try {', or '.join(tried)}"
        yield Advice(KNOW, change, None, HINT, evidence, price, minutes)


def _options(verdict: str, run: Run) -> Iterator[tuple[str, str]]:
    """What a run has not that may help, each with the setting it is of."""
    if verdict == "loader-bound" and run.loader is None:
        yield "loader", "a DataLoader with workers"
    elif verdict == "loader-bound":
        yield "loader", "the memory loader"
        yield "loader", "another number of workers"
    elif verdict == "copy-bound" and run.loader is not None:
        if not run.loader.pin_memory:
            yield "loader", "pinned memory"
        yield "loader", "data that stays on the device"
    elif verdict in ("communication-bound", "launch-bound"):
        yield "batch", "a larger batch"
        if verdict == "communication-bound" and run.strategy.complete.get("compress") == "none":
            yield "strategy", "compressed gradients"
        if verdict == "launch-bound" and not run.compile and run.devices == 1 and not run.noise_every:
            yield "compile", "compile"


def _varied(seen: Seen, field: str) -> bool:
    return len({getattr(run, field) for run in seen.known.values()}) > 1
