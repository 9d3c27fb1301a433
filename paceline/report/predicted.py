"""What more devices would do, by laws fitted to the counts measured: `paceline predict`."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars as pl

from paceline.analyse.fits import compare, examples_at, predict, time_to_target
from paceline.analyse.scaling import STRONG, WEAK, WORTH, usable
from paceline.errors import RecordError, StudyError
from paceline.report.answer import Answer
from paceline.report.columns import whole
from paceline.report.formats import render
from paceline.report.names import counted, titled
from paceline.report.scaling.runs import Scaled
from paceline.report.scaling.tables import GOAL, SPEED

MOST_DEVICES = 100_000  # as a study may say
MOST_COUNTS = 50
HOW = (
    "By the runs recorded. low, high: 95 % interval of a new measurement, the mean over as many seeds; "
    "stands: against the fastest count measured."
)
NAMES = {"amdahl": "Amdahl", "usl": "Universal Scalability Law", "gustafson": "Gustafson"}
_SHARED = {STRONG: "one batch for all devices", WEAK: "a batch for each device"}


class Asked(NamedTuple):
    """What `paceline predict` was asked: of these results, for these counts."""

    answer: Answer
    found: Scaled
    counts: tuple[int, ...]


class Forecast(NamedTuple):
    """Of one compared setting and one way of scaling."""

    keys: dict[str, Any]
    scaling: str
    title: str
    laws: pl.DataFrame  # law, parameters, held-out miss, leave-one-out miss, chosen; or why it cannot be fitted
    speed: pl.DataFrame  # devices, examples_per_second, low, high, law, held_out_miss_percent, ..., stands, refusal
    times: pl.DataFrame  # devices, global_batch, seconds, low, high, refusal; empty where there is no goal
    said: tuple[str, ...]  # the checks, and what was left out


def asked(answer: Answer, devices: str) -> Asked:
    """Checks what the user typed, StudyError, and that runs are there to fit, RecordError."""
    counts = read_counts(devices)
    name = answer.study.name
    if not answer.facts.count("done"):
        raise RecordError(f"no run of '{name}' has finished yet; `paceline run` trains them.")
    if answer.scaled is None:
        why = "no setting of it was trained by two numbers of devices; say e.g. compare: {devices: [1, 2, 4]}."
        raise RecordError(f"{name}: {why}")
    return Asked(answer, answer.scaled, counts)


def read_counts(devices: str) -> tuple[int, ...]:
    words = [word.strip() for word in devices.split(",")]
    if wrong := [word for word in words if not (word.isascii() and word.isdigit())]:
        raise StudyError(f"'{wrong[0]}' is no number of devices; say e.g. 16,32,1024.", where="--devices")
    counts = tuple(dict.fromkeys(map(int, words)))
    if wrong := [str(count) for count in counts if not 1 <= count <= MOST_DEVICES]:
        raise StudyError(f"{wrong[0]} devices; say counts from 1 to {MOST_DEVICES:,}.", where="--devices")
    if len(counts) > MOST_COUNTS:
        raise StudyError(f"{len(counts)} counts; say at most {MOST_COUNTS}.", where="--devices")
    return counts


def forecasts(of: Asked) -> Iterator[Forecast]:
    """One for each compared setting and way of scaling, in the study's order."""
    groups = [*of.found.keys, "batch_mode"]
    for key, runs in of.found.runs.group_by(groups, maintain_order=True):
        yield _forecast(of, dict(zip(of.found.keys, key, strict=False)), runs)


def _forecast(of: Asked, keys: dict[str, Any], runs: pl.DataFrame) -> Forecast:
    scaling = STRONG if runs["batch_mode"][0] == "global" else WEAK
    timed, refused = usable(runs, [], of=SPEED)
    laws = compare(timed, scaling=scaling)
    speed = predict(timed, of.counts, scaling=scaling).rename({"predicted": "examples_per_second", "model": "law"})
    speed = _finite(speed.with_columns(pl.col("law").replace(NAMES)), "low", "high")
    counts = sorted(set(timed["devices"]))
    name = of.found.named(keys)
    title = f"{name + ', ' if name else ''}{scaling} scaling ({_SHARED[scaling]})"
    why = speed["refusal"][0]
    short = _short(runs, of.counts, scaling)
    times, about = _times(of, timed, runs, scaling, why)
    misfit = _misfit(timed, counts, scaling)
    left = [f"Left out: {each}." for each in refused]
    checks = (_check(laws, "too few counts were measured" if misfit else why, counts), misfit, *about, *left)
    said = tuple(filter(None, (*short.said(), *checks)))
    speed, times = (_without(table, short) for table in (speed, times))
    return Forecast(keys, scaling, title, laws, _priced_speed(speed, of.answer.price), times, said)


class Short(NamedTuple):
    """Counts of devices for which a batch has too few examples: no study may say them."""

    counts: tuple[int, ...]
    batch: object

    @property
    def why(self) -> str:
        return f"a batch of {self.batch} has no example for each"

    def said(self) -> Iterator[str]:
        if self.counts:
            yield f"Refused for {', '.join(map(str, self.counts))} devices: {self.why}."


def _short(runs: pl.DataFrame, counts: Sequence[int], scaling: str) -> Short:
    """Where devices share a batch. Of one that changes with the epoch nothing is known here."""
    batch = runs["global_batch"].max() if scaling == STRONG else None
    if not isinstance(batch, int):
        return Short((), batch)
    return Short(tuple(count for count in counts if count > batch), batch)


def _without(table: pl.DataFrame, short: Short) -> pl.DataFrame:
    """Of the counts refused nothing but the reason."""
    if not short.counts or table.is_empty():
        return table
    there = pl.col("devices").is_in(short.counts)
    values = [name for name in table.columns if name not in ("devices", "global_batch", "refusal")]
    reason = pl.when(there).then(pl.lit(short.why)).otherwise("refusal").alias("refusal")
    return table.with_columns(*(pl.when(~there).then(name).alias(name) for name in values), reason)


def _check(laws: pl.DataFrame, why: str | None, counts: Sequence[int]) -> str:
    """The held-out check of the chosen law in words, or why there is none."""
    chosen = laws.filter("chosen")
    if chosen.is_empty():
        return f"Nothing is predicted: {_named(why)}."
    name, miss = NAMES[chosen["law"][0]], chosen["held_out_miss_percent"][0]
    if miss is None:
        return f"Held-out check: none, for {_named(why).removeprefix('unchecked: ')}."
    return f"Held-out check: fitted without {counted(counts[-1], 'device')}, {name} said {_off(miss, 'much')} there."


def _named(why: str | None) -> str:
    """A reason with the laws by their names."""
    return re.sub("|".join(rf"\b{name}\b" for name in NAMES), lambda found: NAMES[found[0]], why or "")


def _misfit(timed: pl.DataFrame, counts: Sequence[int], scaling: str) -> str:
    """Where the chosen law is far from what it was fitted to: no parameter within its bounds says what was measured."""
    if len(counts) < 2:
        return ""
    fitted = predict(timed, counts, scaling=scaling).select("devices", pl.col("predicted").alias("fitted"))
    measured = timed.group_by("devices").agg(pl.col(SPEED).log().mean().exp().alias("measured"))
    off = fitted.join(measured, on="devices").with_columns((pl.col("fitted") / pl.col("measured")).alias("ratio"))
    worst = off.drop_nulls("ratio").sort(pl.col("ratio").log().abs().round(6), "devices", descending=True).head(1)
    if worst.is_empty() or abs(math.log(worst["ratio"][0])) <= math.log(WORTH):
        return ""
    row = worst.row(0, named=True)
    return (
        f"The law does not fit: with {counted(row['devices'], 'device')} it says {row['fitted']:,.0f} examples a "
        f"second, measured were {row['measured']:,.0f}. Do not go by it."
    )


def _off(miss: float, what: str) -> str:
    size = f"{abs(miss):.1f}" if abs(miss) < 100 else f"{abs(miss):,.0f}"
    return f"{size} % too {what if miss > 0 else {'much': 'little', 'long': 'short', 'many': 'few'}[what]}"


def _times(
    of: Asked, timed: pl.DataFrame, runs: pl.DataFrame, scaling: str, known: str | None
) -> tuple[pl.DataFrame, list[str]]:
    """Seconds to the goal at each count, with their cost, and what must be said of them beyond what is `known`."""
    goal = of.found.goal
    if goal is None:
        return pl.DataFrame(), [
            f"No time is predicted: no run reached {of.found.missed.said}."
        ] if of.found.missed else []
    batch = _batch(runs, scaling)
    if batch is None:
        return pl.DataFrame(), [f"Time to {goal.said}: refused, for the batch changes with the epoch."]
    points = runs.select("global_batch", "examples")
    table = _finite(time_to_target(timed, points, of.counts, batch=batch, scaling=scaling), "low", "high")
    if of.answer.price is not None:
        rate = pl.col("devices") / 3600 * of.answer.price
        ends = {"seconds": "cost", "low": "cost_low", "high": "cost_high"}
        table = table.with_columns((pl.col(name) * rate).alias(cost) for name, cost in ends.items())
    said = [_time_check(of.found, timed, runs, scaling, batch)]
    if scaling != STRONG:
        said.append(_critical(points))
    whys = [str(why).replace(known or "", "").strip("; ") for why in table["refusal"].drop_nulls().unique()]
    return table, [line for line in (*said, *(f"Time to {goal.said}: {_named(why)}." for why in whys if why)) if line]


def _batch(runs: pl.DataFrame, scaling: str) -> int | None:
    each = runs["global_batch"] if scaling == STRONG else runs["global_batch"] // runs["devices"]
    found = each.unique().to_list()
    return int(found[0]) if len(found) == 1 and found[0] is not None else None


def _time_check(found: Scaled, timed: pl.DataFrame, runs: pl.DataFrame, scaling: str, batch: int) -> str:
    """Fitted without the largest count, how far the time to the goal is off there; empty where too few are left."""
    reached, _ = usable(runs, [], of=GOAL)
    if reached.is_empty() or found.goal is None:
        return ""
    most = int(reached["devices"].max())  # type: ignore[arg-type]
    less, rest = (table.filter(pl.col("devices") < most) for table in (timed, runs))
    guess = time_to_target(less, rest.select("global_batch", "examples"), [most], batch=batch, scaling=scaling)
    seconds = guess["seconds"][0]
    if seconds is None:
        return ""
    measured = float(reached.filter(pl.col("devices") == most)[GOAL].median())  # type: ignore[arg-type]
    miss = 100 * (seconds / measured - 1)
    return f"Held-out check of the time: fitted without {counted(most, 'device')}, it was {_off(miss, 'long')} there."


def _critical(points: pl.DataFrame) -> str:
    """The batch at which twice the least examples are needed, in words."""
    row = examples_at(points, [1]).row(0, named=True)
    if row["predicted"] is None:
        return ""
    miss = row["held_out_miss_percent"]
    check = "" if miss is None else f" Fitted without the largest batch, it said {_off(miss, 'many')} examples there."
    if row["critical_batch"] is None:
        return f"Examples needed do not grow with the batch, as far as was measured.{check}"
    low, high = (
        end if end is not None and math.isfinite(end) else None for end in (row["critical_low"], row["critical_high"])
    )
    ends = (
        "no interval"
        if low is None
        else f"95 % interval from {low:,.0f} on"
        if high is None
        else f"95 % interval {low:,.0f} to {high:,.0f}"
    )
    return f"Critical batch: {row['critical_batch']:,.0f} examples ({ends}).{check}"


def _priced_speed(speed: pl.DataFrame, price: float | None) -> pl.DataFrame:
    if price is None:
        return speed
    million = pl.col("devices") * price * 1e6 / 3600
    ends = {"examples_per_second": "million_cost", "high": "million_cost_low", "low": "million_cost_high"}
    return speed.with_columns((million / pl.col(name)).alias(cost) for name, cost in ends.items())


def _finite(table: pl.DataFrame, *names: str) -> pl.DataFrame:
    """An end that no number says is missing."""
    return table.with_columns(pl.when(pl.col(name).is_finite()).then(name).alias(name) for name in names)


def flat(made: Sequence[Forecast]) -> pl.DataFrame:
    """Everything as one table, a line a count: for JSON, CSV, Markdown and LaTeX."""
    names = {"seconds": "seconds_to_goal", "low": "seconds_low", "high": "seconds_high", "refusal": "time_refusal"}
    lines = []
    for each in made:
        given = {**each.keys, "scaling": each.scaling}
        table = each.speed.select(*(pl.lit(value).alias(name) for name, value in given.items()), "*")
        if each.times.height:
            times = each.times.drop("model").rename(names)
            table = table.join(times, on="devices", how="left", maintain_order="left")
        lines.append(table)
    return pl.concat(lines, how="diagonal_relaxed")


def notes(made: Sequence[Forecast]) -> Iterator[str]:
    """What stands beside the flat table: every check and refusal."""
    for each in made:
        yield from (f"{each.title}: {line}" for line in each.said)


def by_fits(of: Asked) -> Iterator[str]:
    """A block of text for each compared setting and way of scaling."""
    for made in forecasts(of):
        yield "\n".join(_block(of, made))


def _block(of: Asked, made: Forecast) -> Iterator[str]:
    yield f"{made.title[:1].upper()}{made.title[1:]}"
    yield render(_laws(made), "text")
    if made.speed["law"].is_not_null().any():
        yield f"\n{render(_speed(made), 'text')}"
    if made.times.height and made.times["seconds"].is_not_null().any() and of.found.goal:
        yield f"\nTime to {of.found.goal.said}\n{render(_seconds(made), 'text')}"
    yield from made.said


def _laws(made: Forecast) -> pl.DataFrame:
    return made.laws.select(
        pl.col("law").replace(NAMES),
        "parameters",
        pl.col("points").alias("counts"),
        pl.col("held_out_miss_percent").round(1).alias("held-out miss %"),
        pl.col("leave_one_out_percent").round(1).alias("leave-one-out miss %"),
        pl.when("chosen").then(pl.lit("chosen")).otherwise(pl.lit("")).alias("choice"),
    )


def _speed(made: Forecast) -> pl.DataFrame:
    names = {"examples_per_second": "examples a second", "million_cost": "cost of 1M examples",
             "million_cost_low": "cost low", "million_cost_high": "cost high"}  # fmt: skip
    wanted = ("devices", "examples_per_second", "low", "high", "stands", *(n for n in names if n.startswith("million")))
    table = made.speed.drop_nulls("law")
    shown_ = table.select(name for name in wanted if name in table.columns)
    return whole(shown_, "examples_per_second", "low", "high").rename(names, strict=False)


def _seconds(made: Forecast) -> pl.DataFrame:
    names = {"global_batch": "batch of all", "cost_low": "cost low", "cost_high": "cost high"}
    return made.times.drop_nulls("seconds").drop("model", "refusal").rename(names, strict=False)


def printed(of: Asked) -> str:
    """As `paceline predict` writes it: the question, then a block for every setting."""
    return "\n\n".join((f"{titled(of.answer.study)}\n{HOW}".lstrip(), *by_fits(of)))
