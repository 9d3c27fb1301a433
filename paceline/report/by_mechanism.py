"""What `paceline predict` says by the mechanism of a step, under the fits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import polars as pl

from paceline.errors import StudyError
from paceline.execute.anatomy import Anatomy
from paceline.report.formats import render
from paceline.report.mechanism import (
    NONE,
    Algorithm,
    Forecast,
    Links,
    Measure,
    forecast,
    link,
    settings,
    share,
    speeds_of,
)
from paceline.report.predicted import Short
from paceline.spec import Run, Study

HOW = (
    "By the mechanism of a step: its layers and its exchanges measured on this machine, the rest computed. exposed: "
    "share of a step in which devices wait for each other; speedup: against one device here."
)

DISTURBED = "Note: another process trained here while this was measured. Ask again when it has ended."


def stated(between: str | None, within: str | None, per_node: int, algorithm: str) -> Links:
    """What the user says of the machines asked about."""
    if within is None and per_node > 1 and between is not None:
        raise StudyError("say the link between devices of a node too, as --within '12 GB/s, 5 us'.", where="--per-node")
    return Links(
        link(between) if between else NONE,
        link(within) if within else None,
        per_node,
        cast(Algorithm, algorithm),
    )


def by_mechanism(
    study: Study, counts: Sequence[int], measure: Measure, links: Links, recorded: pl.DataFrame | None = None
) -> Iterator[str]:
    """A block for each compared setting. `measure`: what a step is made of here; `recorded`: runs to check it by."""
    yield HOW
    speeds = speeds_of(recorded)
    for setting, runs in settings(study):
        yield "\n".join(_block(setting, runs, counts, measure, links, speeds))


def _block(
    setting: str,
    runs: list[tuple[str, Run]],
    counts: Sequence[int],
    measure: Measure,
    links: Links,
    speeds: Mapping[str, float],
) -> Iterator[str]:
    run = runs[0][1]
    full = [count for count in counts if share(run, count) >= 1]
    title = ", ".join(filter(None, (setting, "a batch for each" if run.batch_mode == "per_device" else "")))
    if title:
        yield f"{title[:1].upper()}{title[1:]}"
    yield from Short(tuple(count for count in counts if count not in full), run.batch).said()
    if not full:
        return
    measured: list[Anatomy] = []

    def noted(*asked: Any) -> Anatomy:
        measured.append(measure(*asked))
        return measured[-1]

    try:
        made = forecast(setting, runs, full, noted, links, speeds)
    except StudyError as error:
        yield f"Refused: {error}"
        return
    yield render(_shown(made), "text")
    yield _checked(made)
    if any(found.disturbed for found in measured):
        yield DISTURBED


def _shown(made: Forecast) -> pl.DataFrame:
    return made.table.select(
        "devices",
        pl.col("batch").round(1).alias("batch of each"),
        (pl.col("step_seconds") * 1000).alias("step, ms"),
        pl.col("samples_per_second").round(0).cast(pl.Int64).alias("examples a second"),
        (pl.col("exposed_seconds") / pl.col("step_seconds")).alias("exposed"),
        "speedup",
        (pl.col("speedup") / pl.col("devices")).alias("efficiency"),
    )


def _checked(made: Forecast) -> str:
    """Its own check: against what was recorded on several devices here, none of which it was fitted to."""
    several = made.checks.filter(pl.col("devices") > 1)
    if several.is_empty():
        return "Check: none, for no run on several devices was timed here."
    misses = (
        f"with {row['devices']} devices {abs(row['miss_percent']):.1f} % too "
        f"{'many' if row['miss_percent'] > 0 else 'few'} examples a second"
        for row in several.iter_rows(named=True)
    )
    return f"Check by runs recorded here, which it was not fitted to: {'; '.join(misses)}."
