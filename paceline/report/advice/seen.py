"""What advice is drawn from: the facts of a study, its runs, and what a change from one setting to another costs."""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import polars as pl

from paceline.analyse.speed import speeds
from paceline.analyse.target import to_target
from paceline.analyse.tradeoff import MARGIN
from paceline.record.writer import OVER
from paceline.report.advice.kinds import HINT, LIKELY, SHOWN
from paceline.report.facts import Facts
from paceline.report.names import quoted, words
from paceline.report.results import shown
from paceline.report.scaling.runs import Scaled
from paceline.report.sentences import Row, at
from paceline.spec import Run

NOTHING = 1e-15  # a difference that rounding makes of none
KEPT, OPEN, LOST = "kept", "open", "lost"
LEARNING = {"optimizer", "lr", "schedule", "warmup", "weights", "base_lr", "lr_scale", "order", "normalize", "loss",
            "clip_norm", "clip_value", "seed"}  # fmt: skip
LENGTH = {"epochs", "steps", "subset", "early_stop", "evaluate_every", "noise_every"}


class Change(NamedTuple):
    """How much better the result of one setting is than that of another: paired by seed, below 0 worse."""

    value: float
    low: float | None
    high: float | None
    n: int
    separated: bool


class Seen:
    """The facts with what all advice asks of them."""

    def __init__(self, facts: Facts, scaled: Scaled | None, price: float | None) -> None:
        self.facts, self.scaled, self.price = facts, scaled, price

    @property
    def known(self) -> Mapping[str, Run]:
        return self.facts.known

    @property
    def had_gpu(self) -> bool:
        """Whether runs were trained on one: then those that wait for a GPU only wait their turn."""
        return "cuda" in self.facts.devices.values()

    @cached_property
    def best(self) -> dict[str, Row]:
        """The compared settings that have a result, by label, best first."""
        have = self.facts.best.filter(pl.col("mean").is_not_null())
        return {row["label"]: row for row in have.iter_rows(named=True)}

    @cached_property
    def first(self) -> str:
        """The study's first compared setting that has a result: what a change is held against. Empty if none has."""
        order = self.facts.runs["label"].unique(maintain_order=True)
        return next((label for label in order if label in self.best), "")

    @cached_property
    def done(self) -> pl.DataFrame:
        """The finished runs of the compared settings at their best."""
        runs = self.facts.at_best.filter(pl.col("status") == "done")
        return runs.unique(["run", "label"], maintain_order=True)

    def run(self, label: str) -> Run:
        """One run of the setting at its best."""
        return self.known[self.facts.at_best.filter(pl.col("label") == label)["run"][0]]

    def same_step(self, label: str, other: str) -> bool:
        """Whether they differ only in how they learn and for how long, so that an update is about the same work."""
        return self._differ(label, other) <= LEARNING | LENGTH

    def same_work(self, label: str, other: str) -> bool:
        """Whether a whole training is."""
        return self._differ(label, other) <= LEARNING

    def _differ(self, label: str, other: str) -> set[str]:
        one, two = self.run(label), self.run(other)
        return {name for name in Run.model_fields if getattr(one, name) != getattr(two, name)}

    def comparable(self, label: str) -> bool:
        """Whether the setting has the data of the first and as many devices; what more of them do is told apart."""
        if self.facts.data_of[label] != self.facts.data_of[self.first]:
            return False
        return self.scaled is None or self.run(label).devices == self.run(self.first).devices

    def instead(self, label: str, other: str) -> str:
        """`use batch 512 instead of 8`: what differs between two settings."""
        names, rows = self.facts.columns.compare, (self.best[label], self.best[other])
        differ = [name for name in names if rows[0][name] != rows[1][name]]
        tuned = f" at {rows[0]['at']}" if rows[0]["at"] not in ("", "-") else ""
        if len(differ) == 1 and type(rows[1][differ[0]]) in (int, float):
            return f"use {words(rows[0], differ, bare=False)}{tuned} instead of {shown(rows[1][differ[0]])}"
        said = [quoted(words(row, differ, bare=True)) for row in rows]
        return f"use {said[0]}{tuned} instead of {said[1]}"

    @cached_property
    def _short(self) -> dict[str, str]:
        rows, names = self.best.values(), self.facts.columns.compare
        varied = [name for name in names if len({row[name] for row in rows}) > 1] or names
        short = {row["label"]: words(row, varied, bare=True) for row in rows}
        return short if len(set(short.values())) == len(short) else {label: label for label in short}

    def short(self, label: str) -> str:
        """A compared setting by the axes in which those with a result differ."""
        return quoted(self._short.get(label, label))

    def named(self, label: str) -> str:
        return at(self.best[label] | {"label": self._short.get(label, label)})

    def change(self, label: str, other: str) -> Change | None:
        """None where they share no seed."""
        pairs, one, two = self.facts.pairs, pl.col("a"), pl.col("b")
        mine = pairs.filter(((one == label) & (two == other)) | ((one == other) & (two == label)))
        if mine.is_empty() or mine["difference"][0] is None:
            return None
        return of_pair(mine.row(0, named=True), label)

    def margin(self, label: str) -> float:
        """By how much a result may be worse than that of this setting and still count as the same."""
        return MARGIN if self.facts.columns.higher else MARGIN * abs(self.best[label]["mean"])

    def kept(self, label: str, other: str) -> tuple[str, str]:
        return judged(self.change(label, other), self.margin(other))

    def as_good_as_zero(self, label: str) -> bool:
        """Whether its loss is below a millionth of its start."""
        return self.facts.as_good_as_zero(self.best[label]["mean"])

    @cached_property
    def hits(self) -> pl.DataFrame:
        """The runs that ended with `goal_steps` and `goal_seconds`, null for a setting of which any run misses it, and
        with `seconds` of the whole training, null for a run that broke off."""
        facts = self.facts
        ended = facts.at_best.filter(pl.col("status").is_in(OVER)).unique(["run", "label"], maintain_order=True)
        if facts.target is None:
            none = [pl.lit(None, pl.Float64).alias(name) for name in ("goal_steps", "goal_seconds")]
            return self.done.with_columns(none)
        alone = pl.lit("exclusive").alias("timing")  # whose seconds may be compared is `speeds`'s to say
        each = ended.unique("run").select("run", "status", pl.col("run").alias("_run"), alone)
        met = to_target(facts.rows, each, ["_run"], metric=facts.columns.metric, target=facts.target)
        met = met.select(
            pl.col("_run").alias("run"), pl.col("steps").alias("goal_steps"), pl.col("seconds").alias("goal_seconds")
        )
        table = ended.join(met, on="run", how="left", maintain_order="left")
        every = (pl.col("goal_steps") > 0).fill_null(False).all().over("label")
        return table.with_columns(
            pl.when(every).then(pl.col("goal_steps", "goal_seconds").cast(pl.Float64)),
            pl.when(pl.col("status") == "done").then("seconds").alias("seconds"),
        )

    def sooner(self, column: str, reference: str) -> dict[str, Row]:
        """How many times as fast each setting is as the reference, by label, by `speeds`: seconds or steps."""
        steps = column.endswith("steps")
        alone = pl.lit("exclusive").alias("timing") if steps else pl.col("timing")
        rate = (1 / pl.when(pl.col(column) > 0).then(column)).alias("samples_per_second")
        quiet = pl.lit(None, pl.Float64)
        probes = [quiet.alias(name) for name in ("probe_before", "probe_after")] if steps else []
        table = self.hits.with_columns(alone, rate, *probes)
        found = speeds(table, reference)
        middle = self.hits.group_by("label").agg(pl.col(column).median().alias("median"))
        return {row["label"]: row for row in found.join(middle, on="label", how="left").iter_rows(named=True)}


def of_pair(row: Row, label: str) -> Change:
    """A line of `pairwise` as the change to this label from the other."""
    sign = 1 if row["a"] == label else -1
    ends = sorted(sign * row[name] for name in ("low", "high") if row[name] is not None)
    low, high = ends if len(ends) == 2 else (None, None)
    value = sign * row["difference"] if row["difference"] > NOTHING else 0.0
    return Change(value, low, high, row["n"], row["separated"])


def judged(change: Change | None, margin: float) -> tuple[str, str]:
    """Whether the result is as good as the other's but for the margin (kept), worse by its interval (lost), or may be
    worse (open); and how sure a gain in time may be called at most."""
    if change is None:
        return OPEN, HINT
    if change.value < -margin:
        return (LOST, SHOWN) if change.high is not None and change.high < 0 else (OPEN, HINT)
    if change.low is None:
        return KEPT, HINT
    return KEPT, SHOWN if change.low >= -margin else LIKELY
