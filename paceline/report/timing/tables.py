"""Where the time goes, in tables."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.phases import PHASES
from paceline.report.columns import GB, spoken, whole, without_empty
from paceline.report.facts import Facts
from paceline.report.names import plain
from paceline.report.sheet import Sheet
from paceline.report.timing.measured import Usage

WITHIN = "Within noise of the best: the interval of the ratio to it holds 1, or the ratio is within the machine noise."


def tables(facts: Facts) -> Iterator[Sheet]:
    """Those that the study's telemetry allows, the answer to a study of time first."""
    if facts.usage:
        for make in (_speed, _loader, _workers, _tradeoff, _phases, _bottleneck, _resources):
            yield from make(facts, facts.usage)


def _phases(facts: Facts, usage: Usage) -> Iterator[Sheet]:
    table = usage.phases
    there = [name for name in PHASES if float(table[name].max() or 0) > 0]  # type: ignore[arg-type]
    seconds = [name for name in ("seconds", "whole") if name in table.columns]
    shares = [(100 * pl.col(name)).round(1).alias(f"{name} %") for name in there]
    said = table.select(pl.col("label").alias("setting"), *seconds, *shares, "n")
    said = said.rename({"whole": "in all"}, strict=False)
    clock = "seconds: of training; in all: with evaluation and checkpoints. " if seconds else ""
    cost = (
        f" The marks between phases, timed by themselves, took at most {_percent(usage.cost)} of a step."
        if usage.cost is not None
        else ""
    )
    note = f"{clock}Shares of all a run's seconds, means over seeds; other: Python between the phases.{cost}"
    yield Sheet("phases", "Where the time goes", note, said)


def _bottleneck(facts: Facts, usage: Usage) -> Iterator[Sheet]:
    if usage.bottlenecks.is_empty():
        return
    shares = {"loader": "loader %", "copy": "copy %", "compute": "of peak %", "memory": "of bandwidth %",
              "launch": "launching %"}  # fmt: skip
    table = usage.bottlenecks.select(
        pl.col("label").alias("setting"),
        "verdict",
        pl.col("reason").alias("why"),
        (1000 * pl.col("step_seconds")).alias("step ms"),
        *((100 * pl.col(name)).round(1).alias(title) for name, title in shares.items()),
        "n",
    )
    note = (
        "loader, copy: share of the training seconds. The others: what the arithmetic of a step would take at the "
        "machine's measured peak, its reads and writes at the measured bandwidth, and the calling of its operations, "
        "as shares of a step. Reads and writes count as if no cache held anything, so they may pass 100 %."
    )
    yield Sheet("bottleneck", "What limits each setting", note, without_empty(table))


def _speed(facts: Facts, usage: Usage) -> Iterator[Sheet]:
    if usage.speeds.is_empty():
        return
    table = usage.speeds.sort("samples_per_second", descending=True, nulls_last=True, maintain_order=True)
    several = table["reference"].n_unique() > 1
    first = "the setting named under `reference`" if several else table["reference"][0]
    table = table if several else table.drop("reference")
    probed = table["noise"].is_not_null().any()
    noise = (
        "machine noise: the slowest over the fastest of the noise probes beside the runs compared; a ratio no larger "
        "than that is refused."
        if probed
        else "The machine noise was not probed: `measure: time` in the study does so."
    )
    what = "Samples a second after the warm-up: median over seeds, 95 % interval."
    note = f"{what} ratio: to {first}, seed by seed; no difference is shown where its interval holds 1. {noise}"
    table = table.with_columns(pl.col("claim").replace("no difference", "no difference shown"))
    said = spoken(whole(table, "samples_per_second", "low", "high"))
    yield Sheet("speed", "Speed", note, without_empty(said.rename({"label": "setting", "noise": "machine noise"})))


def _loader(facts: Facts, usage: Usage) -> Iterator[Sheet]:
    if usage.loading.is_empty():
        return
    note = (
        "Samples a second: median over seeds, 95 % interval; ratio: to the best, seed by seed. memory: tensors in "
        f"memory; DataLoader: torch's, with so many worker processes. {WITHIN}"
    )
    said = spoken(whole(usage.loading, "samples_per_second", "low", "high"))
    said = said.rename({"stands": "against the best", "noise": "machine noise"})
    yield Sheet("loader", "Loaders", note, without_empty(said))


def _workers(facts: Facts, usage: Usage) -> Iterator[Sheet]:
    if usage.saturation.is_empty():
        return
    note = (
        "saturated at: the fewest workers within noise of the best. ratio: the speed of `against` workers to that at "
        f"saturation, with its 95 % interval. {WITHIN}"
    )
    said = spoken(whole(usage.saturation.drop("no_gain"), "samples_per_second"))
    yield Sheet("workers", "From how many workers on there is no gain", note, without_empty(said))


def _tradeoff(facts: Facts, usage: Usage) -> Iterator[Sheet]:
    if usage.tradeoff.is_empty():
        return
    metric = facts.columns.metric
    front = pl.when("front").then(pl.lit("on the front")).otherwise(pl.lit(""))
    kind = pl.when("choice").then(pl.lit("best trade-off")).otherwise(front)
    table = usage.tradeoff.select(
        pl.col("label").alias("setting"),
        pl.col("value").alias(metric),
        "seconds",
        "low",
        "high",
        "behind",
        "behind_low",
        "behind_high",
        "n",
        kind.alias("trade-off"),
    )
    note = (
        f"{metric}: mean over seeds; seconds of training: median, 95 % interval (low, high). behind: how much worse "
        "than the best, seed by seed. On the front: no other is as good in both and better in one. Best trade-off: the "
        "fastest whose interval of `behind` holds 0 and whose mean is at most "
        f"{'0.01' if facts.columns.higher else '1 %'} behind."
    )
    yield Sheet("tradeoff", f"{_axis(facts)} against {metric} and time", note, without_empty(spoken(table)))


def _resources(facts: Facts, usage: Usage) -> Iterator[Sheet]:
    names = {"resident_bytes": "resident GB", "allocated_bytes": "allocated GB", "reserved_bytes": "reserved GB",
             "device_used_bytes": "device GB"}  # fmt: skip
    shares = {"device_share": "device %", "utilisation": "utilisation %"}
    plain_ = {"power_watts": "watts", "energy_joules": "joules", "joules_per_example": "joules per example"}
    have = usage.resources.columns
    table = usage.resources.select(
        pl.col("label").alias("setting"),
        *((pl.col(name) / GB).alias(title) for name, title in names.items() if name in have),
        *((100 * pl.col(name)).round(1).alias(title) for name, title in shares.items() if name in have),
        *(pl.col(name).alias(title) for name, title in plain_.items() if name in have),
        "n",
    )
    if table.width > 2:
        note = (
            "Memory: the most that any seed held at a row; utilisation of the GPU, or of the cores the run may use, "
            "and power: means over training and seeds."
        )
        yield Sheet("resources", "Memory, utilisation and power", note, table)


def _axis(facts: Facts) -> str:
    names = facts.columns.compare
    said = {"batch": "Batch size", "loader.workers": "Workers"}.get(names[0], plain(names[0]).capitalize())
    return said if len(names) == 1 else "Each setting"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2g} %"
