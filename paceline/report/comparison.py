"""Two records compared like for like: who is faster and by how much, whether results differ, what was refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from paceline.analyse.likeforlike import FASTER_A, FASTER_B, REFUSED, SAME, by_setting, overall, overall_difference
from paceline.report.formats import render
from paceline.report.joined import Joined, join
from paceline.report.names import counted, listed
from paceline.report.sheet import Sheet

if TYPE_CHECKING:
    from paceline.report.charts import Figure

MB = 2**20
METHODS = (
    "A run of A is joined with the run of B that has the same configuration, seed included and the device apart, the "
    "same checksum of the data and the same sources of own parts; no other is. Times are seconds of training without "
    "evaluation, of pairs in which both runs had the machine to themselves and ended after the same step. The ratio of "
    "a setting is the median over its pairs of A's seconds divided by B's, with the 95 % t interval of the log "
    "ratios. Over settings it is their geometric mean, with the 95 % t interval over settings: how far other settings "
    "like these would agree. Nothing is claimed from one pair, nor where the noise probe (a fixed piece of work, timed "
    "before and after each run) moved by more than the times differ. Differences are A less B, pair by pair, with 95 % "
    "t intervals, which are not corrected for the number of settings."
)
SHOWN = 30  # lines of a table on a terminal
REASONS = 4  # that are noted


@dataclass(frozen=True, repr=False)
class Comparison:
    """What two records say of each other. `settings` and `pairs` are for further work, `sheets` for reading."""

    a: Path
    b: Path
    joined: Joined  # which runs were joined
    settings: pl.DataFrame  # a line a setting: see paceline.analyse.likeforlike.by_setting
    overall: pl.DataFrame  # one line: ratio of times over all settings
    differences: pl.DataFrame  # a line a metric: A less B over all settings

    @property
    def pairs(self) -> pl.DataFrame:
        """A line a run that both trained."""
        return self.joined.pairs

    @property
    def refused(self) -> pl.DataFrame:
        """setting, seeds, runs, reason: what was not joined."""
        return self.joined.refused

    @property
    def machines(self) -> pl.DataFrame:
        """what, A, B: what differs in the machines, and only that."""
        return self.joined.machines

    @property
    def title(self) -> str:
        return f"A: {self.a}, B: {self.b}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which is faster, how results differ, what was joined, how the machines differ."""
        times = (_speed(self.overall.row(0, named=True)), *_one_by_one(self.settings))
        return (*times, *map(_result, self.differences.iter_rows(named=True)), self.join, _machines(self))

    @property
    def join(self) -> str:
        """How much was joined, and how much refused."""
        return _joined(self)

    @property
    def text(self) -> str:
        """The same as one text."""
        return "\n".join(self.sentences)

    @cached_property
    def table(self) -> pl.DataFrame:
        """The settings as a reader wants them."""
        return table(self.settings)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know, refusals among them."""
        return tuple(_notes(self))

    @cached_property
    def sheets(self) -> tuple[Sheet, ...]:
        """times, results, machines and refused, as they stand on the page; those that have lines."""
        full = self.table
        times = [name for name in _TIMES if name in full.columns]
        results = [name for name in full.columns if name not in _TIMES[2:]]
        found = (
            Sheet("times", "Times", _OF_TIMES, full.select(times)),
            Sheet("results", "Results and memory", _OF_RESULTS, full.select(results)),
            Sheet("machines", "What differs in the machines", "Of the joined runs, as recorded.", self.machines),
            Sheet("refused", "Refused", "Not the same run on both sides: not compared.", self.refused),
        )
        return tuple(sheet for sheet in found if sheet.table.height)

    @cached_property
    def figures(self) -> tuple["Figure", ...]:
        """The chart, drawn when first asked for: Altair is imported here."""
        from paceline.report.charts.ratios import ratio_figure

        return ratio_figure(self.settings)

    def _repr_html_(self) -> str:
        from paceline.report.comparison_page import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return f"{self.title}\n{self.text}"


_TIMES = (
    "setting",
    "n",
    "timed",
    "ratio",
    "ratio low",
    "ratio high",
    "faster",
    "A seconds",
    "B seconds",
    "A samples/s",
    "B samples/s",
    "why",
)
_OF_TIMES = (
    "ratio: A's seconds of training over B's, above 1 where B is faster, with its 95 % interval over pairs. Seconds "
    "and samples/s are medians."
)
_OF_RESULTS = "difference: A less B, with its 95 % paired interval. Memory is the median of the peaks."


def compare(a: Path, b: Path) -> Comparison:
    """RecordError where nothing can be joined, with the reasons."""
    joined = join(a, b)
    settings = by_setting(joined.pairs)
    return Comparison(a, b, joined, settings, overall(settings), overall_difference(settings))


def table(settings: pl.DataFrame) -> pl.DataFrame:
    """The settings for a reader: numbers rounded, no column that says nothing."""
    metrics = settings["metric"].unique().to_list()
    measured = metrics[0] if len(metrics) == 1 else "result"
    digits = [pl.col(name).round_sig_figs(6) for name in settings.columns if settings[name].dtype.is_float()]
    whole = [name for name in ("samples_a", "samples_b") if (settings[name].min() or 0) >= 100]  # type: ignore[operator]
    settings = settings.with_columns(*digits).with_columns(pl.col(whole).round(0).cast(pl.Int64))
    sides = [
        pl.col(f"{name}_{side}").alias(f"{side.upper()} {said}")
        for name, said in (("value", measured), ("seconds", "seconds"), ("samples", "samples/s"))
        for side in "ab"
    ]
    memory = [(pl.col(f"memory_{side}") / MB).round(1).alias(f"{side.upper()} MB") for side in "ab"]
    shown = settings.select(
        "setting",
        *(["metric"] if len(metrics) > 1 else []),
        "n",
        *(["timed"] if (settings["timed"] < settings["n"]).any() else []),
        "ratio",
        pl.col("ratio_low").alias("ratio low"),
        pl.col("ratio_high").alias("ratio high"),
        "faster",
        "why",
        *sides[:2],
        "difference",
        "low",
        "high",
        *sides[2:],
        *memory,
    )
    return shown.drop([name for name in shown.columns if shown[name].null_count() == shown.height])


def brief(settings: pl.DataFrame) -> pl.DataFrame:
    """The same for a terminal: intervals beside what they are of."""
    full = table(settings)
    kept = [name for name in full.columns if name in ("setting", "metric", "n", "timed")]
    later = [name for name in full.columns if name.startswith(("A ", "B "))]
    rows = list(settings.iter_rows(named=True))
    ratios = [_with_interval(row["ratio"], row["ratio_low"], row["ratio_high"]) for row in rows]
    gaps = [_with_interval(row["difference"], row["low"], row["high"]) for row in rows]
    made = full.select(*kept).with_columns(
        pl.Series("time A/B", ratios, pl.String),
        full["faster"],
        pl.Series("A less B", gaps, pl.String),
        *(full[name] for name in later),
    )
    return made.select(*kept, "time A/B", "faster", *later[:2], "A less B", *later[2:])


def printed(comparison: Comparison) -> str:
    """The whole of it for a terminal: long tables are cut, the page has them all."""
    behind = [sheet for sheet in comparison.sheets if sheet.key in ("machines", "refused")]
    tables = [(f"{comparison.title}\n", brief(comparison.settings))]
    tables += [(f"{sheet.title}:", sheet.table) for sheet in behind]
    parts = []
    for title, found in tables:
        more = found.height - SHOWN
        cut = f"\n... and {counted(more, 'more line')}: on the page." if more > 0 else ""
        parts.append(render(found.head(SHOWN), "text", title) + cut)
    notes = "".join(f"Note: {note}\n" for note in comparison.notes)
    return "\n\n".join([*parts, notes + comparison.text])


def _speed(found: dict[str, Any]) -> str:
    over = f"over {counted(found['settings'], 'setting')}"
    if found["ratio"] is None:
        return f"No claim about speed: {found['why'] or 'nothing was timed'}."
    behind = found["ratio"] < 1
    turned = [found[name] for name in ("ratio", "ratio_low", "ratio_high")]
    if behind:
        turned = [None if value is None else 1 / value for value in (turned[0], turned[2], turned[1])]
    between = f" ({_number(turned[1])} to {_number(turned[2])})" if turned[1] is not None else ""
    said = f"{'A' if behind else 'B'} is {_number(turned[0])} times as fast{between} {over}"
    if found["faster"] in (FASTER_A, FASTER_B):
        return f"{said}."
    if found["faster"] == SAME:
        return f"No difference in speed is shown: {said if found['ratio'] != 1 else f'the times are the same {over}'}."
    return f"No claim about speed: {found['why']}. As measured, {said}."


def _one_by_one(settings: pl.DataFrame) -> Iterator[str]:
    """Who is faster in how many settings, where there are several and they do not all say the same."""
    found = dict(settings["faster"].value_counts(sort=True).iter_rows())
    said = {
        FASTER_A: "A is faster in {}",
        FASTER_B: "B is faster in {}",
        SAME: "no difference is shown in {}",
        REFUSED: "no claim is made in {}",
    }
    if len(found) > 1:
        yield f"Setting by setting: {listed(said[who].format(count) for who, count in found.items())}."


def _result(found: dict[str, Any]) -> str:
    metric, gap, low, high = found["metric"], found["difference"], found["low"], found["high"]
    settings = counted(found["settings"], "setting")
    if gap == 0 and low == high == 0:
        return f"{metric.capitalize()} is the same in every setting."
    if metric == "loss" and found["settings"] > 1:
        return f"The loss differs in {found['apart']} of {settings}: there its 95 % interval leaves out 0."
    if low is None:
        return f"{metric.capitalize()} of A less that of B is {_number(gap)}, from one pair: no claim."
    ends = sorted((abs(low), abs(high)))
    apart = f", and differs in {found['apart']} of them" if found["settings"] > 1 else ""
    if low > 0 or high < 0:
        higher = f"{metric.capitalize()} is higher in {'A' if gap > 0 else 'B'}"
        return f"{higher} by {_with_interval(abs(gap), *ends)} over {settings}{apart}."
    return f"No difference in {metric} is shown: A less B is {_with_interval(gap, low, high)} over {settings}{apart}."


def _joined(comparison: Comparison) -> str:
    joined = comparison.joined
    pairs = counted(joined.pairs.height, "pair")
    said = f"{pairs} of the same run in {counted(comparison.settings.height, 'setting')}"
    if not joined.refusals:
        return f"{said}; no run was refused."
    runs = counted(joined.refusals, "run")
    return f"{said}; {runs} refused: {listed(_reasons(joined.refused), 3)}."


def _reasons(refused: pl.DataFrame) -> list[str]:
    """What was refused by its kind, the commonest first: `4 only in A`."""
    kinds = refused.with_columns(pl.col("reason").str.split(":").list.first())
    counts = kinds.group_by("reason", maintain_order=True).agg(pl.col("runs").sum())
    counts = counts.filter(pl.col("runs") > 0).sort("runs", descending=True, maintain_order=True)
    return [f"{runs:,} {reason}" for reason, runs in counts.iter_rows()]


def _machines(comparison: Comparison) -> str:
    what = comparison.machines["what"].to_list()
    return f"The machines differ in {listed(what, 6)}." if what else "The machines are the same, as far as recorded."


def _notes(comparison: Comparison) -> Iterator[str]:
    joined, settings = comparison.joined, comparison.settings
    if comparison.a.resolve() == comparison.b.resolve():
        yield "A and B are the same folder."
    yield from _unclaimed(settings)
    part = settings.filter((pl.col("timed") > 0) & (pl.col("timed") < pl.col("n")))
    if part.height:
        yield f"Times of {listed(part['setting'])} are of some pairs only: {part['untimed'][0]} in the others."
    if settings["ratio"].is_not_null().any() and settings["noise"].is_null().all():
        yield "No noise probe was recorded beside these runs; `measure: time` in a study records one."
    if joined.neither:
        yield f"{counted(joined.neither, 'run')} of the studies have ended on neither side."
    whole = joined.refused.filter(pl.col("runs") == 0)
    for study, reason in whole.select("setting", "reason").iter_rows():
        yield f"{study.removesuffix(': all')}: {reason}."
    if "mixed" in joined.selects:
        yield "One side reports its best epoch, the other its last row: here both are compared at their last row."
    if "best_epoch" in joined.selects:
        yield "Results are those of each run's best epoch on test, as the study says: such figures flatter."
    kinds = comparison.machines.filter(pl.col("what") == "device")
    if kinds.height and settings["memory_a"].is_not_null().any():
        yield "Memory of a GPU is what torch allocated on it, of a CPU what the process held: not the same measure."


def _unclaimed(settings: pl.DataFrame) -> Iterator[str]:
    """Why nothing is claimed of the speed of some settings, the commonest reasons first."""
    noisy = pl.col("why").str.starts_with("the noise probe")
    general = pl.when(noisy).then(pl.lit("the noise probe moved by more than their times differ")).otherwise("why")
    reasons = settings.select(general.alias("why")).drop_nulls()["why"].value_counts(sort=True)
    for why, count in reasons.head(REASONS).iter_rows():
        yield f"No claim about the speed of {counted(count, 'setting')}: {why}."
    if reasons.height > REASONS:
        rest = int(reasons["count"][REASONS:].sum())
        yield f"Nor about that of {counted(rest, 'other')}, for reasons that the page's table says."


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    return _number(value) if low is None or high is None else f"{_number(value)} ({_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    return f"{value:.3g}"
