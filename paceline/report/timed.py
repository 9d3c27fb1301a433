"""Where the time goes, in tables and in sentences: what `usage` measured, for a reader."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.loading import SATURATION
from paceline.analyse.phases import PHASES
from paceline.report.columns import GB, spoken, whole, without_empty
from paceline.report.facts import Facts
from paceline.report.names import listed, plain, quoted
from paceline.report.results import shown
from paceline.report.usage import Usage

SAID = 3  # sentences of one kind; the tables have all
WITHIN = "Within noise of the best: the interval of the ratio to it holds 1, or the ratio is within the machine noise."
Table = tuple[str, str, str, pl.DataFrame]  # key, title, note, table


def tables(facts: Facts) -> Iterator[Table]:
    """Those that the study's telemetry allows, the answer to a study of time first."""
    if facts.usage:
        for make in (_speed, _loader, _workers, _tradeoff, _phases, _bottleneck, _resources):
            yield from make(facts, facts.usage)


def _phases(facts: Facts, usage: Usage) -> Iterator[Table]:
    table = usage.phases
    there = [name for name in PHASES if float(table[name].max() or 0) > 0]  # type: ignore[arg-type]
    seconds = [name for name in ("seconds", "whole") if name in table.columns]
    shares = [(100 * pl.col(name)).round(1).alias(f"{name} %") for name in there]
    said = table.select(pl.col("label").alias("setting"), *seconds, *shares, "n")
    said = said.rename({"whole": "in all"}, strict=False)
    clock = "seconds: of training; in all: with evaluation and checkpoints. " if seconds else ""
    cost = f" Telemetry itself took at most {_percent(usage.cost)} of a step." if usage.cost is not None else ""
    note = f"{clock}Shares of all a run's seconds, means over seeds; other: Python between the phases.{cost}"
    yield "phases", "Where the time goes", note, said


def _bottleneck(facts: Facts, usage: Usage) -> Iterator[Table]:
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
    yield "bottleneck", "What limits each setting", note, without_empty(table)


def _speed(facts: Facts, usage: Usage) -> Iterator[Table]:
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
    yield "speed", "Speed", note, without_empty(said.rename({"label": "setting", "noise": "machine noise"}))


def _loader(facts: Facts, usage: Usage) -> Iterator[Table]:
    if usage.loading.is_empty():
        return
    note = (
        "Samples a second: median over seeds, 95 % interval; ratio: to the best, seed by seed. memory: tensors in "
        f"memory; DataLoader: torch's, with so many worker processes. {WITHIN}"
    )
    said = spoken(whole(usage.loading, "samples_per_second", "low", "high"))
    said = said.rename({"stands": "against the best", "noise": "machine noise"})
    yield "loader", "Loaders", note, without_empty(said)


def _workers(facts: Facts, usage: Usage) -> Iterator[Table]:
    if usage.saturation.is_empty():
        return
    note = (
        "saturated at: the fewest workers within noise of the best. ratio: the speed of `against` workers to that at "
        f"saturation, with its 95 % interval. {WITHIN}"
    )
    said = spoken(whole(usage.saturation.drop("no_gain"), "samples_per_second"))
    yield "workers", "From how many workers on there is no gain", note, without_empty(said)


def _tradeoff(facts: Facts, usage: Usage) -> Iterator[Table]:
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
        "fastest whose interval of `behind` holds 0."
    )
    yield "tradeoff", f"{_axis(facts)} against {metric} and time", note, without_empty(spoken(table))


def _resources(facts: Facts, usage: Usage) -> Iterator[Table]:
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
        yield "resources", "Memory, utilisation and power", note, table


def _axis(facts: Facts) -> str:
    names = facts.columns.compare
    said = {"batch": "Batch size", "loader.workers": "Workers"}.get(names[0], plain(names[0]).capitalize())
    return said if len(names) == 1 else "Each setting"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2g} %"


def notes(facts: Facts) -> Iterator[str]:
    """What a study of time found, a sentence each; other studies have none."""
    usage = facts.usage
    if usage and usage.asked:
        for make in (_saturated, _fastest, _chosen, _limits):
            yield from make(facts, usage)


def _limits(facts: Facts, usage: Usage) -> Iterator[str]:
    if usage.bottlenecks.is_empty():
        return
    for (verdict,), rows in usage.bottlenecks.group_by("verdict", maintain_order=True):
        if verdict == "unknown":
            why = listed(rows["reason"].unique(maintain_order=True))
            yield f"What limits {listed(map(quoted, rows['label']))} is unknown: {why}."
        else:
            each = rows.select("label", "reason").head(SAID).iter_rows()
            said = [f"{quoted(label)}, where {why}" for label, why in each]
            yield f"{str(verdict).capitalize()}: {'; '.join(said)}{_rest(rows)}."


def _rest(rows: pl.DataFrame) -> str:
    return f"; and {rows.height - SAID} more" if rows.height > SAID else ""


def _fastest(facts: Facts, usage: Usage) -> Iterator[str]:
    if usage.speeds.is_empty():
        return
    for (first,), table in list(usage.speeds.group_by("reference", maintain_order=True))[:SAID]:
        faster = table.filter(pl.col("claim") == "faster").sort("ratio", descending=True)
        if faster.height:
            row = faster.row(0, named=True)
            yield (
                f"Faster than {quoted(first)} by the most is {quoted(row['label'])}: {shown(row['ratio'])} times the "
                f"samples a second (95 % interval {shown(row['ratio_low'])} to {shown(row['ratio_high'])}, "
                f"n = {row['pairs']} seeds)."
            )
        elif table.filter(pl.col("claim").is_in(["slower", "no difference"])).height:
            own = table.filter(pl.col("label") == first)["samples_per_second"].first()
            speed = f", which trains {shown(round(own))} samples a second" if isinstance(own, float) else ""
            yield f"No setting is shown to be faster than {quoted(first)}{speed}."
    for (why,), rows in usage.speeds.filter(pl.col("claim") == "refused").group_by("why", maintain_order=True):
        yield f"Of {listed(map(quoted, rows['label']))} no speed is compared: {why}."


def _saturated(facts: Facts, usage: Usage) -> Iterator[str]:
    for row in usage.saturation.head(SAID).iter_rows(named=True):
        where = [f"{plain(name)} {shown(row[name])}" for name in row if name not in SATURATION]
        at = f" at {listed(where)}" if where else ""
        yield f"Loader workers{at}: {row['statement']}."


def _chosen(facts: Facts, usage: Usage) -> Iterator[str]:
    if usage.tradeoff.is_empty() or not usage.tradeoff["choice"].any():
        return
    refused = [row["label"] for row in usage.speeds.iter_rows(named=True) if row["claim"] == "refused"]
    if usage.tradeoff.filter(pl.col("good").fill_null(False), pl.col("label").is_in(refused)).height:
        return
    row = usage.tradeoff.filter("choice").row(0, named=True)
    metric = facts.columns.metric
    interval = f"95 % interval {shown(row['behind_low'])} to {shown(row['behind_high'])}"
    how = "the best itself" if row["behind"] is None else f"{shown(row['behind'])} behind the best, {interval}"
    yield (
        f"Best trade-off is {quoted(row['label'])}: {metric} {shown(row['value'])} ({how}) in a median of "
        f"{row['seconds']:.3g} s, the least of those not separated from the best."
    )
