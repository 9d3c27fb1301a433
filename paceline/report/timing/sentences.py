"""Where the time goes, in sentences."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.loading import SATURATION
from paceline.report.facts import Facts
from paceline.report.names import listed, plain, quoted
from paceline.report.results import shown
from paceline.report.timing.measured import Usage

SAID = 3  # of one kind; the tables have all


def sentences(facts: Facts) -> Iterator[str]:
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
    if usage.speeds.is_empty() or facts.columns.compare == ["devices"]:  # which scaling tells
        return
    for (first,), table in list(usage.speeds.group_by("reference", maintain_order=True))[:SAID]:
        faster = table.filter(pl.col("claim") == "faster").sort("ratio", descending=True)
        if faster.height:
            row = faster.row(0, named=True)
            yield (
                f"The largest gain in speed that is shown: {quoted(row['label'])} trains {shown(row['ratio'])} times "
                f"the samples a second of {quoted(first)} (95 % interval {shown(row['ratio_low'])} to "
                f"{shown(row['ratio_high'])}, n = {row['pairs']} seeds)."
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
    metric = facts.columns.metric
    for row in usage.tradeoff.filter("choice").iter_rows(named=True):
        on = f" on {facts.data_of[row['label']]}" if len(facts.by_data) > 1 else ""
        interval = f"95 % interval {shown(row['behind_low'])} to {shown(row['behind_high'])}"
        how = "the best itself" if row["behind"] is None else f"{shown(row['behind'])} behind the best, {interval}"
        yield (
            f"Best trade-off{on} is {quoted(row['label'])}: {metric} {shown(row['value'])} ({how}) in a median of "
            f"{row['seconds']:.3g} s, the least of those within the margin of it and not separated."
        )
