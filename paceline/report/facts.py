"""Every analysis of a study, made once: what the sentences, the tables and the charts are written from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from paceline.analyse.best import best_of_tuned
from paceline.analyse.curves import best_step
from paceline.analyse.finals import finals
from paceline.analyse.held_out import curve
from paceline.analyse.intervals import summarise
from paceline.analyse.pairs import pairwise, ties
from paceline.analyse.sensitivity import sensitivity
from paceline.analyse.shape import FLOOR
from paceline.analyse.stable import epochs_to_stable
from paceline.analyse.target import to_target
from paceline.analyse.verdicts import verdicts
from paceline.plan.expand import expand
from paceline.record.layout import StudyFolder
from paceline.record.reader import read_machines
from paceline.record.writer import OVER
from paceline.report.names import ALONE, Columns, columns, with_labels
from paceline.report.results import shown
from paceline.report.timing.measured import Usage, measure
from paceline.report.wrong import Wrong, examine
from paceline.spec import Run, Study

MOST_PAIRED = 40  # compared settings that are held against each other; beyond, the best so many
ALIKE = 1e-9  # a spread over seeds below this share of the mean is rounding


class Recorded(Protocol):
    """What a study has recorded: paceline.api.Results is one."""

    @property
    def study(self) -> Study: ...
    @property
    def runs(self) -> pl.DataFrame: ...
    @property
    def rows(self) -> pl.DataFrame: ...


@dataclass(frozen=True)
class Facts:
    """`label` is a compared setting in words, `at` its tuned values in words."""

    study: Study
    columns: Columns
    runs: pl.DataFrame  # a line a run, with label, at, value (as reported), verdict and why
    rows: pl.DataFrame  # what was measured, a line a (run, step), without case and axes
    settings: pl.DataFrame  # every setting: mean and interval over seeds, how its runs ended
    best: pl.DataFrame  # each compared setting at its own best, best first
    pairs: pl.DataFrame  # the best settings against each other, paired by seed
    ties: pl.DataFrame  # label, rank, tied_with_best
    target: float | None
    reached: pl.DataFrame  # steps, epochs and seconds to the target, at the best settings
    stable: pl.DataFrame  # a line a run at the best settings: stable_epoch, best_step, sweet_spot
    sensitivity: dict[str, pl.DataFrame]  # by tuned axis
    chosen_on: str  # validation or test
    wrong: Wrong | None = None  # what the best setting got wrong, where its runs were examined
    known: Mapping[str, Run] = field(default_factory=dict)  # by id, what each run was told
    data_of: Mapping[str, str] = field(default_factory=dict)  # by label, the name of its data set
    devices: Mapping[str, str] = field(default_factory=dict)  # by pack, what it was trained on: cpu, cuda, mps
    cores: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # by pack on a CPU: of a device, of the machine
    usage: Usage | None = None  # where time, memory and power went, where that was measured

    @cached_property
    def by_data(self) -> dict[str, "Facts"]:
        """By the name of a data set, the settings trained on it, which are ranked and paired among themselves: a result
        on one data set does not compare with one on another."""
        names = list(dict.fromkeys(self.data_of.values()))
        return {name: self._on(name) for name in names} if len(names) > 1 else {"".join(names): self}

    def _on(self, data: str) -> "Facts":
        labels = [label for label, name in self.data_of.items() if name == data]
        mine = pl.col("label").is_in(labels)
        return replace(
            self,
            runs=self.runs.filter(mine),
            settings=self.settings.filter(mine),
            best=self.best.filter(mine),
            pairs=self.pairs.filter(pl.col("a").is_in(labels)),
            ties=self.ties.filter(mine),
            reached=self.reached.filter(mine) if self.reached.height else self.reached,
            stable=self.stable.filter(mine),
            sensitivity={axis: table.filter(mine) for axis, table in self.sensitivity.items()},
            data_of=dict.fromkeys(labels, data),
        )

    @property
    def finished(self) -> bool:
        """Whether any compared setting has a value to report."""
        return self.best["mean"].is_not_null().any()

    @property
    def exclusive(self) -> bool:
        """Whether seconds may be shown at all."""
        return _exclusive(self.runs)

    @property
    def at_best(self) -> pl.DataFrame:
        """The runs of each compared setting at its best, best setting first."""
        return at_best(self.runs, self.best)

    @property
    def alike(self) -> list[str]:
        """The compared settings whose seeds all gave the same value: nothing random is left in them."""
        same = (pl.col("n") > 1) & (pl.col("sd") <= ALIKE * pl.col("mean").abs())
        exact = self.at_best.filter(seeds_agree("label"))["label"].unique().implode()
        return self.best.filter(same & pl.col("label").is_in(exact))["label"].to_list()

    @property
    def exact(self) -> bool:
        """Whether that holds for all: then differences are exact, and no statistic says anything about them."""
        return bool(self.alike) and len(self.alike) == self.best["mean"].count()

    @cached_property
    def _start(self) -> float | None:
        """The loss before the first step, as its median over runs; None where the metric is an accuracy."""
        first = self.rows.filter(pl.col("step") == 0)["loss"].drop_nulls()
        return None if self.columns.higher or first.is_empty() else float(first.median())  # type: ignore[arg-type]

    def as_good_as_zero(self, value: float | None) -> bool:
        """Whether it is a loss below a millionth of its start: what is smaller than another there is rounding."""
        return value is not None and self._start is not None and 0 <= value < FLOOR * self._start

    @property
    def stop_target(self) -> float | None:
        """The value of the metric at which all runs stop by themselves, as the study says."""
        return _stop(self.known, self.columns)

    @property
    def stops_at_goal(self) -> bool:
        """Whether runs end as soon as they meet the target, so that their results do not rank them."""
        return self.stop_target is not None

    @property
    def ahead(self) -> pl.DataFrame:
        """Pairs in which a setting with missing seeds beats the first, which is complete."""
        return self.pairs.filter((pl.col("b") == self.best["label"].first()) & pl.col("separated"))

    @property
    def goal(self) -> str:
        """The target in words. Curves are of the validation images where a run has them, results of the test images."""
        metric = self.columns.metric
        held_out = f"validation_{metric}"
        validated = held_out in self.rows.columns and self.rows[held_out].is_not_null().any()
        return f"{held_out.replace('_', ' ') if validated else metric} {shown(self.target)}"

    def count(self, *statuses: str) -> int:
        return self.runs.unique("run").filter(pl.col("status").is_in(statuses)).height


def gather(recorded: Recorded, target: float | None = None, folder: Path | None = None) -> Facts:
    """`folder` is the study's record, for what its runs got wrong and where their time went."""
    study = recorded.study
    runs = recorded.runs.with_columns(pl.lit(study.name).alias(ALONE))
    known = {trial.id: trial.run for trial in expand(study, own_parts=False)}
    of = columns(study, runs)
    rows = _measured(recorded.rows)
    runs, chosen_on = _judged(with_labels(runs, of), rows, study, of)
    values = runs.select("run", "chosen", "value").unique("run")
    best = with_labels(best_of_tuned(runs.drop("chosen", "value"), values, of.compare, of.tune, metric=of.metric), of)
    data_of = _data_of(runs, known)
    best = _by_data(best, data_of)
    chosen = at_best(runs, best)
    pairs, tied = _paired(chosen, best, data_of, of)
    target = target if target is not None else _target(best, chosen, rows, known, data_of, of)
    reached = pl.DataFrame() if target is None else to_target(rows, chosen, ["label"], metric=of.metric, target=target)
    machines = _machines(folder)
    return Facts(
        study=study,
        columns=of,
        runs=runs,
        rows=rows,
        settings=_settings(runs, of),
        best=best,
        pairs=pairs,
        ties=tied,
        target=target,
        reached=reached,
        stable=_settled(rows, chosen, of),
        sensitivity=_sensitivities(runs, values, of),
        chosen_on=chosen_on,
        wrong=examine(folder, best, chosen),
        known=known,
        data_of=data_of,
        devices=_devices(machines),
        cores=_cores(machines),
        usage=measure(folder, study, known, data_of, of, runs, chosen, exclusive=_exclusive(runs)),
    )


def _machines(folder: Path | None) -> dict[str, dict[str, Any]]:
    """By pack, the machine that it was trained on last."""
    found = read_machines(StudyFolder(folder)) if folder else {}
    return {pack: machines[0] for pack, machines in found.items()}


def _devices(machines: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """A GPU is recorded by its name."""
    names = {pack: machine.get("device") for pack, machine in machines.items()}
    return {pack: name if name in ("cpu", "mps") else "cuda" for pack, name in names.items() if name}


def _cores(machines: Mapping[str, dict[str, Any]]) -> dict[str, tuple[int, int]]:
    here = {pack: machine for pack, machine in machines.items() if machine.get("device") == "cpu"}
    return {pack: (of["threads"], of["cores"]) for pack, of in here.items() if {"threads", "cores"} <= of.keys()}


def _exclusive(runs: pl.DataFrame) -> bool:
    timing = runs.filter(pl.col("status").is_in(OVER))["timing"]
    return timing.len() > 0 and (timing == "exclusive").fill_null(False).all()


def seeds_agree(by: str) -> pl.Expr:
    """Whether all seeds of a group end at the same loss: an accuracy may be the same by chance, for it is counted."""
    spread, size = pl.col("loss").max() - pl.col("loss").min(), pl.col("loss").abs().max()
    return (spread <= ALIKE * size).fill_null(True).over(by)


def at_best(runs: pl.DataFrame, best: pl.DataFrame) -> pl.DataFrame:
    return best.select("label", "at").join(runs, on=["label", "at"], how="inner", maintain_order="left_right")


def _measured(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows without case, axes and seed; a run that two cases share stands once."""
    labels = rows.columns[1 : rows.columns.index("step")]
    return rows.drop(labels).unique(["run", "step"], keep="first", maintain_order=True)


def _judged(runs: pl.DataFrame, rows: pl.DataFrame, study: Study, of: Columns) -> tuple[pl.DataFrame, str]:
    """The runs with the value each is chosen by, the one reported, and its verdict; what the choice was made on."""
    single = runs.unique("run", keep="first", maintain_order=True)
    ends = finals(rows, single, select=study.select, metric=of.metric)
    judged = verdicts(rows, single).select("run", "verdict", pl.col("reason").alias("why"))
    on = ends["chosen_on"].drop_nulls().unique().sort().to_list()
    added = ends.select("run", "chosen", "value").join(judged, on="run", how="left")
    return runs.join(added, on="run", how="left", maintain_order="left"), " and ".join(on) or "test"


def _settings(runs: pl.DataFrame, of: Columns) -> pl.DataFrame:
    by = [*of.setting, "label", "at"]
    means = summarise(runs.filter(pl.col("value").is_not_null()), by, "value", metric=of.metric)
    ended = [(pl.col("status") == status).sum().alias(status) for status in OVER]
    counts = runs.group_by(by, maintain_order=True).agg(pl.len().alias("runs"), *ended)
    table = counts.join(means, on=by, how="left", nulls_equal=True, maintain_order="left")
    return table.with_columns(pl.col("n").fill_null(0)).sort("mean", descending=of.higher, nulls_last=True)


def _data_of(runs: pl.DataFrame, known: Mapping[str, Run]) -> dict[str, str]:
    first = runs.group_by("label", maintain_order=True).agg(pl.col("run").first())
    return {label: known[run].data.name for label, run in first.iter_rows()}


def _by_data(best: pl.DataFrame, data_of: Mapping[str, str]) -> pl.DataFrame:
    """The settings of the first data set, best first, then those of the next."""
    place = {name: place for place, name in enumerate(dict.fromkeys(data_of.values()))}
    order = pl.Series([place[data_of[label]] for label in best["label"]], dtype=pl.Int64)
    return best.sort(order, maintain_order=True)


def _paired(
    at_best: pl.DataFrame, best: pl.DataFrame, data_of: Mapping[str, str], of: Columns
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Those of one data set against each other."""
    tables = []
    sets = pl.Series([data_of[label] for label in best["label"]], dtype=pl.String)
    for name in sets.unique(maintain_order=True):
        mine = best.filter(sets == name)
        labels = mine.filter(pl.col("mean").is_not_null())["label"].head(MOST_PAIRED)
        values = at_best.filter(pl.col("label").is_in(labels.implode()), pl.col("value").is_not_null())
        values = values.select("label", "seed", "value", seeds_agree("label").alias("exact"))
        pairs = pairwise(values, ["label"], metric=of.metric)
        tables.append((pairs, ties(pairs, mine.head(MOST_PAIRED))))
    return pl.concat([pairs for pairs, _ in tables]), pl.concat([tied for _, tied in tables])


def _target(
    best: pl.DataFrame,
    chosen: pl.DataFrame,
    rows: pl.DataFrame,
    known: Mapping[str, Run],
    data_of: Mapping[str, str],
    of: Columns,
) -> float | None:
    """The study's own early-stop target; else one of its results, unless a run meets that untrained, or there are
    several data sets, which have no goal in common."""
    if (goal := _stop(known, of)) is not None:
        return goal
    if len(set(data_of.values())) > 1:
        return None
    target = _near_the_best(best["mean"].drop_nulls(), of)
    start = curve(rows.join(chosen.select("run"), on="run", how="semi").filter(pl.col("step") == 0), of.metric)["value"]
    met = target is not None and bool(((start >= target) if of.higher else (start <= target)).any())
    return None if met else target


def _stop(known: Mapping[str, Run], of: Columns) -> float | None:
    """The one value of the metric at which all runs stop by themselves."""
    stops = {run.early_stop for run in known.values()}
    stop = stops.pop() if len(stops) == 1 else None
    return stop.target if stop is not None and stop.metric == of.metric else None


def _near_the_best(means: pl.Series, of: Columns) -> float | None:
    """An accuracy one point below the best, or the median of the losses.

    Rounded to what one would say: hundredths downwards for an accuracy, one digit upwards for a loss.
    """
    if means.is_empty():
        return None
    if of.higher:
        return math.floor(means.max() * 100 - 1 + 1e-9) / 100  # type: ignore[operator]
    middle = float(means.median())  # type: ignore[arg-type]
    if middle <= 0:
        return None
    unit = 10.0 ** math.floor(math.log10(middle))
    return float(f"{math.ceil(middle / unit - 1e-9) * unit:.1g}")


def _settled(rows: pl.DataFrame, at_best: pl.DataFrame, of: Columns) -> pl.DataFrame:
    mine = rows.join(at_best.select("run"), on="run", how="semi", maintain_order="left")
    stable = epochs_to_stable(mine, metric=of.metric).select("run", "stable_epoch")
    best = best_step(mine, metric=of.metric).select("run", "best_step", "best_value", "sweet_spot")
    named = at_best.select("label", "run", "seed")
    return named.join(stable, on="run", how="left").join(best, on="run", how="left", maintain_order="left")


def _sensitivities(runs: pl.DataFrame, values: pl.DataFrame, of: Columns) -> dict[str, pl.DataFrame]:
    plain = runs.drop("chosen", "value")
    several = [axis for axis in of.tune if runs[axis].drop_nulls().n_unique() > 1]
    return {
        axis: with_labels(sensitivity(plain, values, of.compare, axis, of.tune, metric=of.metric), of)
        for axis in several
    }
