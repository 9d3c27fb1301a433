"""How long to train: until the curve is stable, or longer, because it still improves."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.pairs import pairwise
from paceline.report.advice.kinds import HINT, KNOW, LIKELY, SURE, TIME, Advice, Gain, by_seeds
from paceline.report.advice.prices import asked, changed, loses
from paceline.report.advice.seen import KEPT, Change, Seen, judged, of_pair
from paceline.report.names import counted

CONSTANT = "constant"
LESS = 1.25  # times less training, from which a stop is advised


def epochs(seen: Seen) -> Iterator[Advice]:
    """Of the best setting."""
    if not seen.best:
        return
    label = next(iter(seen.best))
    made = list(_stop(seen, label))
    yield from made or _longer(seen, label)


def _stop(seen: Seen, label: str) -> Iterator[Advice]:
    """After the epoch from which every seed is stable; not where runs stop by themselves, nor at a worse result."""
    stable = seen.facts.stable.filter(pl.col("label") == label).unique("run")
    runs = [seen.known[run] for run in stable["run"]]
    if stable.is_empty() or stable["stable_epoch"].has_nulls() or any(run.early_stop for run in runs):
        return
    last = int(stable["stable_epoch"].max())  # type: ignore[arg-type]
    whole = 1 + int(seen.facts.rows.join(stable, on="run", how="semi")["epoch"].max())  # type: ignore[arg-type]
    if whole < LESS * last:
        return
    n, ratio = stable.height, whole / last
    earliest = int(stable["stable_epoch"].min())  # type: ignore[arg-type]
    each = f"epoch {last}" if earliest == last else f"epochs {earliest} to {last}"
    scheduled = any(run.schedule.name != CONSTANT for run in runs)
    change = _change(seen, stable, last)
    kept, most = judged(change, seen.margin(label))
    if change is None or kept != KEPT:
        return
    changes = (
        "; its rate is scheduled over all epochs, so that a shorter schedule may end elsewhere" if scheduled else ""
    )
    yield Advice(
        TIME,
        f"stop {seen.short(label)} after {last} of {whole} epochs{loses(seen, change, kept)}",
        Gain(ratio, ratio, ratio, None, f"{counted(last, 'epoch')} instead of {whole}"),
        by_seeds(n, most=max(most, LIKELY, key=SURE.index) if scheduled else most),
        f"the held-out curve is stable from {each} on ({counted(n, 'seed')}, the latest counts)",
        f"{changed(seen, change)}{changes}",
    )


def _change(seen: Seen, stable: pl.DataFrame, last: int) -> Change | None:
    """Of the result on test by stopping there, paired by seed; None where it was not measured until then."""
    metric = seen.facts.columns.metric
    rows = seen.facts.rows.join(stable.select("run", "seed"), on="run", how="inner").drop_nulls(metric)
    until = {"stopped": rows.filter(pl.col("epoch") < last), "whole": rows}
    ends = [
        table.sort("step").group_by("seed").agg(pl.lit(name).alias("label"), pl.col(metric).last().alias("value"))
        for name, table in until.items()
    ]
    pairs = pairwise(pl.concat(ends), metric=metric).drop_nulls("difference")
    return of_pair(pairs.row(0, named=True), "stopped") if pairs.height else None


def _longer(seen: Seen, label: str) -> Iterator[Advice]:
    """Where most of its runs still improve at the end; not where runs stop by themselves."""
    mine = seen.done.filter(pl.col("label") == label)
    still = mine.filter(pl.col("verdict") == "still improving")
    stops = any(seen.known[run].early_stop for run in mine["run"])
    if stops or 2 * still.height <= mine.height:
        return
    count = f"{still.height} of {counted(mine.height, 'seed')}"
    price, minutes = asked(seen, [label], mine.height, times=2)
    yield Advice(
        KNOW,
        f"train {seen.short(label)} longer: it still improves at the end",
        None,
        HINT if mine.height == 1 else LIKELY,
        f"verdict 'still improving' in {count}: {still['why'][0]}",
        f"twice as long: {price}",
        minutes,
    )
