"""A study's runs by their number of devices: how fast each was, where its time went, when it reached the goal."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from paceline.analyse.phases import splits
from paceline.analyse.target import to_target
from paceline.record.writer import OVER
from paceline.report.facts import Facts
from paceline.report.models import epochs_trained
from paceline.report.names import counted, words
from paceline.report.results import shown
from paceline.spec import Run
from paceline.spec.identity import repeat_id, setting_hash
from paceline.spec.run import by_epoch, construct

SPLIT = ("compute", "exposed", "loader", "copy", "other")  # shares of the training seconds
_OWN = ("devices", "batch_mode")  # axes that scaling itself is about
_SHARING = ("devices", "batch_mode", "strategy", "lr_scale", "sync_batch_norm")  # mean nothing on one device
_MEASURED = {
    "samples_per_second": pl.Float64,
    "turnaround": pl.Float64,
    "sent_bytes": pl.Int64,
    "imbalance": pl.Float64,
}


class Goal(NamedTuple):
    """What is timed to: a value that the study or the user names, else a stable curve."""

    said: str
    meaning: str
    asked: bool  # by the study or the user


class Scaled(NamedTuple):
    runs: pl.DataFrame  # a line an ended run: keys, devices, batch_mode, seed, status, timing, speed, split, goal
    epochs: pl.DataFrame  # a line an epoch of a finished run, with its seconds; empty where rows end within epochs
    keys: list[str]  # what else the study compares
    goal: Goal | None
    missed: Goal | None  # the goal that no run reached
    cores: int | None  # of each device, where all are the same part of a CPU

    @property
    def of_cores(self) -> str:
        """What a device is on a CPU: a speedup there is one over part of the machine."""
        if self.cores is None:
            return ""
        return f"a device is {counted(self.cores, 'core')} here, alone too; one process on all cores was not timed"

    def named(self, row: dict[str, object]) -> str:
        """The compared setting of a line in words, without devices; empty where there is but one."""
        return words(row, self.keys, bare=True)


def scaled(facts: Facts, target: float | None = None) -> Scaled | None:
    """None where no setting was trained by different numbers of devices. `target`: a value to time, said by the user.

    A setting with one number of devices alone (a case, as a rule) is held against the run on one device that differs
    from it only in how devices share the work.
    """
    if not _asked(facts):
        return None
    known = facts.known
    ended = facts.at_best.filter(pl.col("status").is_in(OVER)).unique(["run", "label"], maintain_order=True)
    keys = [name for name in facts.columns.compare if name.removeprefix("axis.") not in _OWN]
    place = {run: place for place, run in enumerate(facts.runs["run"].unique(maintain_order=True))}
    ended = ended.sort(pl.col("run").replace_strict(place), maintain_order=True)
    runs = _with_several(_sized(ended, known), known, keys)
    if runs.is_empty():
        return None
    runs = _timed(runs, facts, known)
    runs, goal = _reaching(runs, facts, target)
    reached = runs["stable_epoch"].is_not_null().any()
    by_epoch = _by_epoch(runs, facts, known, keys)
    return Scaled(runs, by_epoch, keys, goal if reached else None, None if reached else goal, _cores(runs, facts))


def _cores(runs: pl.DataFrame, facts: Facts) -> int | None:
    if "pack" not in runs.columns:
        return None
    each = {_part(facts, run, pack) for run, pack in runs.select("run", "pack").iter_rows()}
    return each.pop() if len(each) == 1 else None


def _part(facts: Facts, run: str, pack: str) -> int | None:
    """The cores that a device of a run had, where they were not all of the machine's."""
    given, all_ = facts.cores.get(pack, (0, 0))
    used = (facts.known[run].threads if run in facts.known else None) or given
    return used if 0 < used < all_ else None


def _asked(facts: Facts) -> bool:
    return "devices" in facts.study.compare or any("devices" in case for case in facts.study.cases.values())


def _sized(ended: pl.DataFrame, known: Mapping[str, Run]) -> pl.DataFrame:
    each = [known[run] for run in ended["run"]]
    batches = [run.global_batch if isinstance(run.global_batch, int) else None for run in each]
    table = ended.rename({"turnaround_seconds": "turnaround"}, strict=False)
    missing = [pl.lit(None, kind).alias(name) for name, kind in _MEASURED.items() if name not in table.columns]
    done = pl.col("status") == "done"
    return table.with_columns(
        pl.Series("devices", [run.devices for run in each], pl.Int64),
        pl.Series("batch_mode", [run.batch_mode for run in each], pl.String),
        pl.Series("global_batch", batches, pl.Int64),
        (pl.col("timing") == "oversubscribed").fill_null(False).alias("oversubscribed"),
        *missing,
    ).with_columns(pl.when(done).then(pl.col(*_MEASURED)))


def _with_several(runs: pl.DataFrame, known: Mapping[str, Run], keys: list[str]) -> pl.DataFrame:
    """The settings of which there are two numbers of devices, their own or one device that another setting lends."""
    groups = [*keys, "batch_mode"]
    several = pl.col("devices").n_unique().over(groups) > 1 if groups else pl.col("devices").n_unique() > 1
    own, single = runs.filter(several), runs.filter(~several)
    rest = pl.Series("_rest", [_rest(known[run]) for run in single["run"]], pl.String)
    single = single.with_columns(rest)
    lenders = pl.concat([own, single.drop("_rest")]).unique("run", maintain_order=True)
    lenders = lenders.with_columns(pl.Series("_rest", [_rest(known[run]) for run in lenders["run"]], pl.String))
    alone = lenders.filter(pl.col("devices") == 1).drop(groups)
    asking = single.select(*groups, "_rest", pl.col("devices").alias("_more")).unique(maintain_order=True)
    lent = asking.join(alone, on="_rest", how="inner", maintain_order="left").filter(
        pl.col("devices") < pl.col("_more")
    )
    served = single.join(lent.select(groups).unique(), on=groups, how="semi", nulls_equal=True, maintain_order="left")
    return pl.concat([own, served.drop("_rest"), lent.select(own.columns)])


def _rest(run: Run) -> str:
    """What a run would be on one device."""
    plain = {name: Run.model_fields[name].default for name in _SHARING}
    return repeat_id(setting_hash(construct({**run.__dict__, **plain})), 0)


def _timed(runs: pl.DataFrame, facts: Facts, known: Mapping[str, Run]) -> pl.DataFrame:
    """Adds seconds_per_epoch and the shares of SPLIT."""
    last = facts.rows.group_by("run").agg(pl.col("seconds", "examples").max())
    table = runs.join(
        last.rename({"seconds": "_trained", "examples": "_seen"}), on="run", how="left", maintain_order="left"
    )
    epochs = [epochs_trained(known[run], seen) for run, seen in table.select("run", "_seen").iter_rows()]
    spent = pl.when(pl.col("status") == "done").then(pl.col("_trained") / pl.Series(epochs, dtype=pl.Float64))
    table = table.with_columns(spent.alias("seconds_per_epoch")).drop("_trained", "_seen")
    if facts.usage is None:
        return table.with_columns(pl.lit(None, pl.Float64).alias(name) for name in SPLIT)
    compute = pl.sum_horizontal("forward", "backward", "optimizer").alias("compute")
    parts = splits(facts.usage.telemetry).with_columns(compute, pl.col("exchange").alias("exposed"))
    shares = parts.select("run", *(pl.col(name) / pl.col("seconds") for name in SPLIT))
    table = table.join(shares, on="run", how="left", maintain_order="left")
    inside = [run for run in table["run"] if known[run].devices > 1 and not _waits(known[run])]
    return table.with_columns(pl.when(~pl.col("run").is_in(inside)).then("exposed").alias("exposed"))


def _waits(run: Run) -> bool:
    """Whether its strategy tells waiting apart from computing."""
    return run.strategy.entry is not None and run.strategy.entry.waits


def _reaching(runs: pl.DataFrame, facts: Facts, target: float | None) -> tuple[pl.DataFrame, Goal]:
    """Adds stable_epoch, seconds_to_target and examples: at the goal, null where a run never reached it."""
    value = target if target is not None else facts.stop_target
    metric = facts.columns.metric
    if value is not None:
        each = runs.unique("run").select(
            "run", "status", pl.col("run").alias("_run"), pl.lit("exclusive").alias("timing")
        )
        hits = to_target(facts.rows, each, ["_run"], metric=metric, target=value)  # counts are refused one by one later
        hits = hits.select(pl.col("_run").alias("run"), pl.col("epochs").alias("stable_epoch"), "seconds", "examples")
        goal = Goal(f"{metric} {shown(value)}", "the first row that meets it", True)
    else:
        stable = facts.stable.select("run", "stable_epoch").unique("run").drop_nulls()
        ends = facts.rows.sort("step").group_by("run", (pl.col("epoch") + 1).alias("stable_epoch"))
        at = ends.agg(pl.col("seconds", "examples").last())
        hits = stable.join(at, on=["run", "stable_epoch"], how="inner")
        goal = Goal(f"a stable {metric}", "the epoch from which a run stays near its own best", False)
    hits = hits.rename({"seconds": "seconds_to_target"})
    return runs.join(hits, on="run", how="left", maintain_order="left"), goal


def _by_epoch(runs: pl.DataFrame, facts: Facts, known: Mapping[str, Run], keys: Iterable[str]) -> pl.DataFrame:
    names = (*keys, "batch_mode", "devices", "seed", "oversubscribed", "timing")
    done = runs.filter(pl.col("status") == "done").select("run", *names)
    if not all(by_epoch(known[run]) for run in done["run"]):
        return done.clear()
    ends = facts.rows.sort("run", "step").group_by("run", "epoch", maintain_order=True).agg(pl.col("seconds").last())
    spent = pl.col("seconds") - pl.col("seconds").shift(1).over("run").fill_null(0.0)
    counted = ends.select("run", (pl.col("epoch") + 1).alias("epoch"), spent.alias("seconds"))
    return done.join(counted, on="run", how="inner", maintain_order="left")
