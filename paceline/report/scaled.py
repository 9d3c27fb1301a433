"""What more devices bought, and what still more would: a study's runs by their number of devices."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from paceline.analyse.fits import predict
from paceline.analyse.scaling import epoch_differences, gains, quickest, speedups, stable_epochs, usable
from paceline.plan.expand import expand
from paceline.report.facts import Facts

Table = tuple[str, str, str, pl.DataFrame]  # key, title, note, table
_OWN = ("devices", "batch_mode")  # axes that scaling itself is about


class Scaled(NamedTuple):
    runs: pl.DataFrame  # a line a finished run: keys, devices, batch_mode, seed, speed, how it was timed
    keys: list[str]  # what else the study compares


def scaled(facts: Facts) -> Scaled | None:
    """None where all runs have the same number of devices."""
    known = {trial.id: trial.run for trial in expand(facts.study, own_parts=False)}
    if len({run.devices for run in known.values()}) < 2:
        return None
    done = facts.at_best.filter(pl.col("status") == "done").unique(["run", "label"], maintain_order=True)
    each = [known[run] for run in done["run"]]
    keys = [name for name in facts.columns.compare if name.removeprefix("axis.") not in _OWN]
    table = done.with_columns(
        pl.Series("devices", [run.devices for run in each], pl.Int64),
        pl.Series("batch_mode", [run.batch_mode for run in each], pl.String),
        (pl.col("timing") == "oversubscribed").alias("oversubscribed"),
        *_missing(done),
    )
    if facts.stable.height:
        stable = facts.stable.select("run", "stable_epoch").unique("run")
        table = table.join(stable, on="run", how="left", maintain_order="left")
    return Scaled(table.rename({"turnaround_seconds": "turnaround"}), keys)


def _missing(done: pl.DataFrame) -> list[pl.Expr]:
    names = ("samples_per_second", "turnaround_seconds")
    return [pl.lit(None, pl.Float64).alias(name) for name in names if name not in done.columns]


def tables(facts: Facts) -> Iterator[Table]:
    found = scaled(facts)
    if found is None or found.runs.is_empty():
        return
    yield _speedup(found)
    if found.runs["turnaround"].is_not_null().any():
        yield _turnaround(found)
    if "stable_epoch" in found.runs.columns and found.runs["stable_epoch"].is_not_null().any():
        yield _stable(found)
    yield from _differences(facts, found)


def _speedup(found: Scaled) -> Table:
    table = speedups(found.runs, found.keys, of="samples_per_second").drop("reference", "pairs")
    note = (
        "Examples a second, median over seeds with its 95 % interval; speedup against the fewest devices, by seed; "
        "efficiency is the speedup for each device added; serial fraction by Karp and Flatt. strong: the batch of all "
        "devices stays; weak: that of each does. A gain is more than 10 %."
    )
    return "speedup", "What more devices buy", note, table.rename({"median": "examples a second"})


def _turnaround(found: Scaled) -> Table:
    table = quickest(found.runs, found.keys, of="turnaround").with_columns(
        pl.col("tied").list.eval(pl.element().cast(pl.String)).list.join(", ")
    )
    note = "From the start of a run's processes to their end, starting up included."
    return "turnaround", "The quickest number of devices", note, table


def _stable(found: Scaled) -> Table:
    table = stable_epochs(found.runs, found.keys)
    return "stable-devices", "Epochs to a stable accuracy, by devices", "Oversubscribed runs count here.", table


def _differences(facts: Facts, found: Scaled) -> Iterator[Table]:
    """Seconds of each epoch, by how much more devices shorten it."""
    if not facts.exclusive:
        return
    wanted = found.runs.select("run", *found.keys, "devices", "batch_mode", "seed", "oversubscribed", "timing")
    ends = facts.rows.sort("run", "step").group_by("run", "epoch", maintain_order=True).agg(pl.col("seconds").last())
    spent = pl.col("seconds") - pl.col("seconds").shift(1).over("run").fill_null(0.0)
    epochs = wanted.join(ends.with_columns(spent.alias("seconds")), on="run", how="inner", maintain_order="left")
    if epochs["epoch"].n_unique() < 2:
        return
    note = "Seconds by which b devices train an epoch quicker than a: mean over seeds with its 95 % interval."
    yield (
        "epochs-devices",
        "Seconds of each epoch, devices against devices",
        note,
        epoch_differences(epochs, found.keys),
    )


def statements(facts: Facts) -> Iterator[str]:
    """In sentences: what was gained, or that nothing was."""
    found = scaled(facts)
    if found is None or found.runs.is_empty():
        return
    table = gains(speedups(found.runs, found.keys, of="samples_per_second"), found.keys)
    for row in table.iter_rows(named=True):
        which = ", ".join(str(row[name]) for name in found.keys if row[name] is not None)
        yield f"{which}: {row['statement']}" if which else row["statement"]


def predicted(facts: Facts, at: Sequence[int]) -> pl.DataFrame:
    """setting, scaling, devices, predicted examples a second with its interval, the law, and its held-out check."""
    found = scaled(facts)
    if found is None:
        return pl.DataFrame()
    usable_runs, _ = usable(found.runs, found.keys, of="samples_per_second")
    lines = []
    for key, group in usable_runs.group_by([*found.keys, "scaling"], maintain_order=True):
        table = predict(group, at, of="samples_per_second", scaling=str(key[-1]))
        names = [*found.keys, "scaling"]
        lines.append(table.select(*(pl.lit(value).alias(name) for name, value in zip(names, key, strict=True)), "*"))
    return pl.concat(lines) if lines else pl.DataFrame()
