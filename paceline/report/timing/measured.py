"""Where the time goes: phases, bottlenecks, speed, loaders, the trade-off with the result, memory and power."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from paceline.analyse.bottleneck import bottlenecks
from paceline.analyse.loading import loading, saturation
from paceline.analyse.phases import phases, splits
from paceline.analyse.resources import by_setting, resources
from paceline.analyse.speed import speeds
from paceline.analyse.tradeoff import tradeoff
from paceline.record.layout import StudyFolder
from paceline.record.telemetry import TELEMETRY, read_telemetry
from paceline.report.names import ALONE, Columns
from paceline.spec import Run, Study

PIPELINE = ("loader", "batch", "precision", "accumulate", "channels_last", "compile", "fused", "threads", "device",
            "devices", "strategy", "batch_mode", "sync_batch_norm")  # fmt: skip
_LOADER = {"pin_memory": pl.Boolean, "prefetch": pl.Int64, "persistent": pl.Boolean}
_WORK = ("work_flops", "work_bytes", "work_calls", "probe_flops", "probe_bytes", "probe_call_seconds")


class Usage(NamedTuple):
    """Of the compared settings at their best, by `label`; a table of which nothing is known is empty."""

    telemetry: pl.DataFrame  # every line of their runs
    asked: bool  # whether the study is about time or about how training is carried out
    phases: pl.DataFrame
    bottlenecks: pl.DataFrame
    speeds: pl.DataFrame  # with `reference`: the setting each is held against
    loading: pl.DataFrame  # of all settings, the tuned ones too
    saturation: pl.DataFrame
    tradeoff: pl.DataFrame
    resources: pl.DataFrame
    cost: float | None  # the most that telemetry took of a run's step time, as a share


def measure(
    folder: Path | None,
    study: Study,
    known: Mapping[str, Run],
    data_of: Mapping[str, str],
    of: Columns,
    runs: pl.DataFrame,
    at_best: pl.DataFrame,
    *,
    exclusive: bool,
) -> Usage | None:
    """None where no run has telemetry. `exclusive`: whether every run was timed alone, so that seconds may be said."""
    done = at_best.filter(pl.col("status") == "done", pl.col("pack").is_not_null())
    done = done.unique(["run", "label"], maintain_order=True)
    telemetry = _telemetry(folder, done)
    if telemetry.is_empty():
        return None
    asked = study.measure == "time" or any(_head(name) in PIPELINE for name in of.compare)
    named = done.select("run", "label", *(name for name in _WORK if name in done.columns))
    timed = named.join(splits(telemetry), on="run", how="inner", maintain_order="left")
    used = named.join(resources(telemetry), on="run", how="inner", maintain_order="left")
    compared = done["label"].n_unique() > 1
    fast = asked and exclusive and "samples_per_second" in done.columns
    loaders = _loaders(known, of, runs) if fast else None
    return Usage(
        telemetry=telemetry,
        asked=asked,
        phases=_phases(timed, exclusive=exclusive),
        bottlenecks=bottlenecks(timed, ["label"]) if asked and exclusive else pl.DataFrame(),
        speeds=_speeds(of, runs, done) if fast and compared else pl.DataFrame(),
        loading=loading(loaders.runs, loaders.keys, loaders.within) if loaders else pl.DataFrame(),
        saturation=saturation(loaders.runs, loaders.groups) if loaders else pl.DataFrame(),
        tradeoff=_tradeoff(done, data_of, of.metric) if asked and exclusive and compared else pl.DataFrame(),
        resources=_resources(used, exclusive=exclusive),
        cost=_most(done, "telemetry_share"),
    )


def _telemetry(folder: Path | None, known: pl.DataFrame) -> pl.DataFrame:
    if folder is None:
        return pl.DataFrame(schema=TELEMETRY)
    return read_telemetry(StudyFolder(folder), known.select("run", "pack").iter_rows())


def _head(axis: str) -> str:
    return axis.removeprefix("axis.").partition(".")[0]


def _speeds(of: Columns, runs: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Each against the first of the study that has ended and differs only in how training is carried out: not one
    model against another."""
    order = {label: place for place, label in enumerate(runs["label"].unique(maintain_order=True))}
    others = [name for name in of.compare if _head(name) not in PIPELINE and name not in ("case", ALONE)]
    tables = []
    for _, group in known.with_columns(_all=pl.lit(0)).group_by(others or ["_all"], maintain_order=True):
        first = min(group["label"], key=lambda label: order[label])
        tables.append(speeds(group, first).with_columns(reference=pl.lit(first)))
    return pl.concat(tables)


def _tradeoff(done: pl.DataFrame, data_of: Mapping[str, str], metric: str) -> pl.DataFrame:
    """Of each data set by itself."""
    sets = pl.Series("_data", [data_of[label] for label in done["label"]], pl.String)
    groups = done.with_columns(sets).group_by("_data", maintain_order=True)
    return pl.concat([tradeoff(mine, metric=metric) for _, mine in groups])


def _phases(timed: pl.DataFrame, *, exclusive: bool) -> pl.DataFrame:
    table = phases(timed, ["label"])
    return table if exclusive else table.drop("seconds", "whole")


def _resources(used: pl.DataFrame, *, exclusive: bool) -> pl.DataFrame:
    """Power and utilisation are the whole machine's, so they are a run's only where it was alone."""
    table = by_setting(used, ["label"])
    own = table if exclusive else table.drop("utilisation", "power_watts", "energy_joules", "joules_per_example")
    return own.select(name for name in own.columns if own[name].null_count() < own.height)


def _most(runs: pl.DataFrame, name: str) -> float | None:
    found = runs[name].max() if name in runs.columns else None
    return float(found) if isinstance(found, (int, float)) else None


class _Loaders(NamedTuple):
    runs: pl.DataFrame
    keys: list[str]  # a loader's setting
    within: list[str]  # other axes
    groups: list[str]  # all but the workers


def _loaders(known: Mapping[str, Run], of: Columns, runs: pl.DataFrame) -> _Loaders | None:
    """The runs with what their loader was; None where the study has no axis of it."""
    if not any(_head(name) == "loader" for name in of.setting):
        return None
    done = runs.filter(pl.col("status") == "done")
    each = [known[run] for run in done["run"]]
    kinds = {"workers": pl.Int64, **_LOADER}
    batches = [run.batch for run in each]
    table = done.with_columns(
        pl.Series("loader", ["memory" if run.loader is None else "DataLoader" for run in each], pl.String),
        *(pl.Series(name, [getattr(run.loader, name, None) for run in each], kind) for name, kind in kinds.items()),
        pl.Series("batch", batches if all(isinstance(b, int) for b in batches) else list(map(str, batches))),
    )
    varied = [name for name in _LOADER if table[name].drop_nulls().n_unique() > 1]
    batch = ["batch"] if table["batch"].n_unique() > 1 else []
    within = [name for name in of.setting if _head(name) not in ("loader", "batch") and table[name].n_unique() > 1]
    return _Loaders(table, ["loader", "workers", *varied, *batch], within, [*within, *varied, *batch])
