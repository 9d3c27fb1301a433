"""The same training on 1, 2, 4 ... devices: what they gain, what they waste, which count is quickest, what it costs."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from paceline.analyse.intervals import with_interval
from paceline.analyse.quantiles import median_place
from paceline.analyse.ratios import medians, ratios
from paceline.analyse.speed import spread
from paceline.analyse.target import ALONE

RATES = ("samples_per_second",)
TIMES = ("seconds_per_epoch", "seconds_to_target", "turnaround")
_WORDS = {
    "samples_per_second": "speed",
    "seconds_per_epoch": "time of an epoch",
    "seconds_to_target": "time to the goal",
    "turnaround": "turnaround",
}
STRONG, WEAK = "strong", "weak"
REFERENCE, GAIN, NO_GAIN, UNSHOWN, REFUSED = "reference", "gain", "no gain", "not shown", "refused"
WORTH = 1.1  # a speedup of at most this is no gain
_SPEEDUP = ("speedup", "speedup_low", "speedup_high")
_QUICKEST: dict[str, Any] = {
    "devices": pl.Int64,
    "seconds": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "tied": pl.List(pl.Int64),
    "refusal": pl.String,
}


def speedups(runs: pl.DataFrame, keys: Sequence[str], *, of: str) -> pl.DataFrame:
    """keys..., scaling, devices, reference, n, median, low, high, pairs, speedup, efficiency, serial_fraction, noise,
    stands, refusal: a line a device count, fewest first; speedup, efficiency and serial_fraction have _low and _high.

    `runs` has a line a run: keys..., batch_mode (global: strong scaling, per_device: weak), devices, seed, the column
    `of` (of RATES or TIMES), oversubscribed, timing and, where measured, probes as for `speeds`. The speedup is to the
    smallest count (`reference`), seed by seed; efficiency divides it by devices / reference. serial_fraction: Karp and
    Flatt's for strong scaling, Gustafson's for weak. noise: of the machine, as in `speeds`. stands: reference, gain, no
    gain, not shown, or refused, with the reason in `refusal`.
    """
    groups = [*keys, "scaling"]
    tables = [_against_smallest(group, of) for _, group in _each(runs, keys, of)]
    measured = ("devices", "reference", "n", "median", "low", "high", "pairs", *_SPEEDUP)
    derived = [f"{name}{end}" for name in ("efficiency", "serial_fraction") for end in ("", "_low", "_high")]
    return pl.concat(tables).select(*groups, *measured, *derived, "noise", "stands", "refusal")


def gains(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """keys..., scaling, verdict, devices, speedup: a line a setting of `speedups`.

    verdict: gain if some count gains, no gain if none does, else not shown. devices, speedup: of the fastest count.
    """
    groups = [*keys, "scaling"]
    lines = []
    for _, group in table.group_by(groups, maintain_order=True):
        more = group.filter(pl.col("stands") != REFERENCE)
        known = group.filter(pl.col("speedup").is_not_null() & (pl.col("stands") != REFUSED))
        best = known.sort("speedup", descending=True, maintain_order=True).row(0, named=True) if known.height else {}
        found = {
            "verdict": _verdict(more["stands"].to_list()),
            "devices": best.get("devices"),
            "speedup": best.get("speedup"),
        }
        lines.append(group.select(groups).row(0, named=True) | found)
    kinds: dict[str, Any] = {"verdict": pl.String, "devices": pl.Int64, "speedup": pl.Float64}
    given: dict[str, Any] = {name: table.schema[name] for name in groups}
    return pl.DataFrame(lines, schema=given | kinds)


def epoch_differences(epochs: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """keys..., scaling, epoch, a, b, n, difference, low, high, refusal: every two device counts, a < b.

    `epochs` has a line an epoch of a run: keys..., batch_mode, devices, seed, epoch, seconds, oversubscribed, timing.
    difference: by how many seconds b is quicker, mean over shared seeds with its 95 % paired interval.
    """
    groups = [*keys, "scaling"]
    each = _with_refusal(_with_scaling(epochs), [*groups, "devices"], "seconds", censored=False)
    each = each.select(*groups, "epoch", "seed", "devices", "refusal", "seconds")
    pairs = each.join(each, on=[*groups, "epoch", "seed"], how="inner", nulls_equal=True, suffix="_b")
    pairs = pairs.filter(pl.col("devices") < pl.col("devices_b"))
    gap = pl.when(pl.coalesce("refusal", "refusal_b").is_null()).then(pl.col("seconds") - pl.col("seconds_b"))
    found = (
        pairs.rename({"devices": "a", "devices_b": "b"})
        .group_by(*groups, "epoch", "a", "b")
        .agg(
            gap.count().cast(pl.Int64).alias("n"),
            gap.mean().alias("mean"),
            gap.std().alias("sd"),
            pl.coalesce("refusal", "refusal_b").first().alias("refusal"),
        )
        .sort(*groups, "epoch", "a", "b")
    )
    found = with_interval(found).rename({"mean": "difference"})
    return found.select(*groups, "epoch", "a", "b", "n", "difference", "low", "high", "refusal")


def stable_epochs(runs: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """keys..., scaling, devices, n, reached, epochs, low, high: epochs to the stable accuracy against devices.

    `runs` has stable_epoch, null where the accuracy never became stable; oversubscribed runs count, for epochs are no
    time. epochs: by which half of the runs were stable, null if fewer were; low, high: the 95 % interval of that
    median by order statistics from six runs on, the range below; null where censored.
    """
    by = [*keys, "scaling", "devices"]
    table = _with_scaling(runs).sort("devices", maintain_order=True)
    epoch, n = pl.col("stable_epoch"), pl.len().cast(pl.Int64)
    sizes = table.group_by(by, maintain_order=True).agg(n.alias("n"), epoch.count().cast(pl.Int64).alias("reached"))
    count = sizes["n"].to_numpy()
    lower = median_place(count)
    places = {"_middle": (count + 1) // 2 - 1, "_lower": lower, "_upper": count - 1 - lower}
    sizes = sizes.with_columns(pl.Series(name, place) for name, place in places.items())
    each = table.join(sizes, on=by, how="left", nulls_equal=True, maintain_order="left")
    names = {"epochs": "_middle", "low": "_lower", "high": "_upper"}
    return each.group_by(by, maintain_order=True).agg(
        pl.col("n", "reached").first(),
        *(epoch.sort(nulls_last=True).get(pl.col(place).first()).alias(name) for name, place in names.items()),
    )


def quickest(runs: pl.DataFrame, keys: Sequence[str], *, of: str = "seconds_to_target") -> pl.DataFrame:
    """keys..., scaling, devices, seconds, low, high, tied, refusal: the count with the least median.

    tied: the counts that are not shown to be slower, seed by seed. Counts whose time is refused take no part, and
    `refusal` says which and why.
    """
    if of not in TIMES:
        raise ValueError(f"of is '{of}'; allowed: {', '.join(TIMES)}.")
    groups = [*keys, "scaling"]
    lines = []
    for _, group in _each(runs, keys, of):
        lines.append(group.select(groups).row(0, named=True) | _quickest(group))
    kinds: dict[str, Any] = {name: runs.schema[name] for name in keys} | {"scaling": pl.String}
    return pl.DataFrame(lines, schema=kinds | _QUICKEST)


def costs(runs: pl.DataFrame, keys: Sequence[str], *, price: float, of: str = "turnaround") -> pl.DataFrame:
    """keys..., scaling, devices, n, device_hours, cost, low, high, cheapest, refusal: at a price per device-hour.

    Medians over seeds with the 95 % interval of the logs, of devices x seconds / 3600 x price.
    """
    if not price > 0:
        raise ValueError(f"the price per device-hour is {price}; it must be above 0.")
    if of not in TIMES:
        raise ValueError(f"of is '{of}'; allowed: {', '.join(TIMES)}.")
    by = [*keys, "scaling", "devices"]
    table = _usable(runs, keys, of).with_columns((pl.col("_value") * pl.col("devices") / 3600).alias("_hours"))
    hours = medians(table, by, "_hours")
    refusal = table.group_by(by).agg(pl.col("refusal").first())
    found = hours.join(refusal, on=by, how="left", nulls_equal=True, maintain_order="left")
    cheapest = pl.col("median") == pl.col("median").min().over([*keys, "scaling"])
    return found.select(
        *by,
        "n",
        pl.col("median").alias("device_hours"),
        (pl.col("median") * price).alias("cost"),
        pl.col("low", "high") * price,
        cheapest.fill_null(False).alias("cheapest"),
        "refusal",
    )


def usable(runs: pl.DataFrame, keys: Sequence[str], *, of: str) -> tuple[pl.DataFrame, list[str]]:
    """The runs of the device counts whose `of` may be compared, with `scaling`, and why others may not."""
    table = _usable(runs, keys, of)
    by = [*keys, "scaling", "devices"]
    refused = table.filter(pl.col("refusal").is_not_null()).unique(by, keep="first", maintain_order=True)
    said = [f"{_count(row['devices'])}: {row['refusal']}" for row in refused.iter_rows(named=True)]
    return table.filter(pl.col("refusal").is_null()).drop("_value", "_rate", "refusal"), said


def _with_scaling(runs: pl.DataFrame) -> pl.DataFrame:
    known = set(runs["batch_mode"].unique())
    if wrong := known - {"global", "per_device"}:
        raise ValueError(f"batch_mode is {', '.join(map(repr, wrong))}; allowed: 'global', 'per_device'.")
    scaling = pl.when(pl.col("batch_mode") == "global").then(pl.lit(STRONG)).otherwise(pl.lit(WEAK))
    return runs.with_columns(scaling.alias("scaling"))


def _usable(runs: pl.DataFrame, keys: Sequence[str], of: str) -> pl.DataFrame:
    """Adds scaling, refusal of its device count, and where there is none _value and _rate (larger is faster)."""
    if of not in (*RATES, *TIMES):
        raise ValueError(f"of is '{of}'; allowed: {', '.join((*RATES, *TIMES))}.")
    table = _with_scaling(runs).sort("devices", maintain_order=True)
    table = _with_refusal(table, [*keys, "scaling", "devices"], of, censored=of == "seconds_to_target")
    value = pl.when(pl.col("refusal").is_null()).then(pl.col(of).cast(pl.Float64))
    return table.with_columns(value.alias("_value"), (value if of in RATES else 1 / value).alias("_rate"))


def _each(runs: pl.DataFrame, keys: Sequence[str], of: str) -> Any:
    return _usable(runs, keys, of).group_by([*keys, "scaling"], maintain_order=True)


def _with_refusal(table: pl.DataFrame, by: list[str], value: str, *, censored: bool) -> pl.DataFrame:
    """Adds `refusal`: why the time of a device count says nothing; null where it does."""
    timing = pl.col("timing").fill_null("unknown")
    many, shared = pl.col("oversubscribed").fill_null(False), timing != "exclusive"
    missed = pl.col(value).is_null() if censored else pl.lit(False)
    n = pl.len().over(by)
    words = (
        pl.when(many.any().over(by))
        .then(
            pl.format(
                "{} of {} runs were oversubscribed (more processes than cores): their time says nothing",
                many.sum().over(by),
                n,
            )
        )
        .when(shared.any().over(by))
        .then(
            pl.format(
                f"{{}} of {{}} runs were timed {{}}, not exclusive; {ALONE}",
                shared.sum().over(by),
                n,
                timing.filter(shared).first().over(by),
            )
        )
        .when(missed.any().over(by))
        .then(pl.format("{} of {} runs never reached the goal", missed.sum().over(by), n))
        .when(pl.col(value).is_null().all().over(by))
        .then(pl.lit(f"no {_WORDS.get(value, value)} was measured"))
    )
    return table.with_columns(words.alias("refusal"))


def _against_smallest(group: pl.DataFrame, of: str) -> pl.DataFrame:
    first = group["devices"].min()
    other = group.filter(pl.col("devices") == first)
    speedup = ratios(group, ["devices"], "_rate", other).rename(
        {"ratio": "speedup", "low": "speedup_low", "high": "speedup_high"}
    )
    said = group.group_by("devices", maintain_order=True).agg(pl.exclude("_value", "_rate").first())
    table = said.join(medians(group, ["devices"], "_value"), on="devices", how="left", maintain_order="left")
    table = table.join(speedup, on="devices", how="left", maintain_order="left")
    noise = [spread(group.filter(pl.col("devices").is_in([first, count]))) for count in table["devices"]]
    table = table.with_columns(
        pl.lit(first, pl.Int64).alias("reference"),
        _why(first, other).alias("refusal"),
        pl.Series("noise", noise, pl.Float64),
    )
    more = pl.col("devices") / pl.col("reference")
    efficiency = [(pl.col(name) / more).alias(name.replace("speedup", "efficiency")) for name in _SPEEDUP]
    ends = ("speedup", "speedup_high", "speedup_low")  # a larger speedup is a smaller serial fraction
    fractions = [
        _serial(pl.col(end), more, of).alias(name.replace("speedup", "serial_fraction"))
        for name, end in zip(_SPEEDUP, ends, strict=True)
    ]
    return table.with_columns(*efficiency, *fractions, _stands().alias("stands"))


def _why(first: Any, other: pl.DataFrame) -> pl.Expr:
    """The refusal of a count, of the smallest one, or that they share no seed."""
    lost: Any = other["refusal"].first()
    base = pl.lit(None if lost is None else f"the smallest count, {_count(first)}, is refused: {lost}", pl.String)
    apart = pl.lit(f"no seed in common with {_count(first)}")
    return pl.coalesce("refusal", base, pl.when(pl.col("pairs") == 0).then(apart))


def _serial(speedup: pl.Expr, more: pl.Expr, of: str) -> pl.Expr:
    """Strong: (1/S - 1/p) / (1 - 1/p), Karp and Flatt (1990). Weak: (p - S) / (p - 1), of Gustafson's law.

    p is devices over those of the reference. Negative is faster than linear. Null for the reference, and for a weak
    time to target, in which the number of examples changes too.
    """
    karp = (1 / speedup - 1 / more) / (1 - 1 / more)
    scaled = (more - speedup) / (more - 1) if of != "seconds_to_target" else pl.lit(None, pl.Float64)
    return pl.when(more > 1).then(pl.when(pl.col("scaling") == STRONG).then(karp).otherwise(scaled))


def _stands() -> pl.Expr:
    """A gain is above 1 by its interval, above WORTH and above the machine's noise; no gain is at most WORTH, by its
    interval where it has one."""
    gain = (pl.col("speedup_low") > 1) & (pl.col("speedup") > pl.max_horizontal(pl.lit(WORTH), "noise"))
    none = pl.coalesce("speedup_high", "speedup") <= WORTH
    return (
        pl.when(pl.col("refusal").is_not_null())
        .then(pl.lit(REFUSED))
        .when(pl.col("devices") == pl.col("reference"))
        .then(pl.lit(REFERENCE))
        .when(gain)
        .then(pl.lit(GAIN))
        .when(none)
        .then(pl.lit(NO_GAIN))
        .otherwise(pl.lit(UNSHOWN))
    )


def _verdict(stands: list[str]) -> str:
    judged = [word for word in stands if word != REFUSED]
    if GAIN in judged:
        return GAIN
    if not judged:
        return REFUSED
    return NO_GAIN if set(judged) == {NO_GAIN} else UNSHOWN


def _quickest(group: pl.DataFrame) -> dict[str, Any]:
    refused = group.filter(pl.col("refusal").is_not_null()).unique("devices", maintain_order=True)
    why = "; ".join(f"{_count(row['devices'])}: {row['refusal']}" for row in refused.iter_rows(named=True)) or None
    table = medians(group.filter(pl.col("refusal").is_null()), ["devices"], "_value").drop_nulls("median")
    if table.is_empty():
        return {"refusal": why}
    best = table.sort("median", maintain_order=True).row(0, named=True)
    other = group.filter(pl.col("devices") == best["devices"])
    speed = ratios(group.filter(pl.col("_rate").is_not_null()), ["devices"], "_rate", other)
    unsure = (pl.col("high") >= 1).fill_null(True) & (pl.col("devices") != best["devices"])
    tied = sorted(speed.filter(unsure)["devices"].to_list())
    ends = {name: best[name] for name in ("low", "high")}
    return {"devices": best["devices"], "seconds": best["median"], **ends, "tied": tied, "refusal": why}


def _count(devices: Any) -> str:
    return "1 device" if devices == 1 else f"{devices} devices"
