"""What more devices would do: throughput, examples to a target and time to it, with the miss of a held-out check."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from paceline.analyse.laws import BATCH, COHERENCE, DRAWS, LAWS, USL, Fit, Law, estimates, fit, refusal
from paceline.analyse.quantiles import Array
from paceline.analyse.scaling import GAIN, NO_GAIN, RATES, STRONG, TIMES, UNSHOWN, WEAK, WORTH

TIE = 0.01  # of two held-out misses this near on the log scale, the law with fewer parameters is chosen
ENDS = (0.025, 0.975)
EXCLUDED = 0.05  # level of the F test that takes a law out of the interval
_EXAMPLES = ("predicted", "low", "high", "critical_batch", "critical_low", "critical_high", "held_out_miss_percent")


def compare(points: pl.DataFrame, *, of: str = "samples_per_second", scaling: str = STRONG) -> pl.DataFrame:
    """law, parameters, points, scatter_percent, held_out_miss_percent, leave_one_out_percent, chosen, refusal.

    held_out_miss_percent: fitted without the largest count, what is predicted for it, above (+) or below (-) the
    measured. leave_one_out_percent: the mean size of the miss over all counts, each left out once. chosen: least
    held-out miss; of those within 1 % of it, the fewest parameters; the fewest where none can be checked.
    """
    if scaling not in LAWS:
        raise ValueError(f"scaling is '{scaling}'; allowed: {', '.join(LAWS)}.")
    x, y = _points(points, of)
    lines = [_judged(law, x, y, of) for law in LAWS[scaling]]
    chosen = _choice(lines)
    kinds = {"held_out_miss_percent": pl.Float64, "leave_one_out_percent": pl.Float64, "scatter_percent": pl.Float64}
    table = pl.DataFrame(
        [{name: value for name, value in line.items() if name != "_miss"} for line in lines],
        schema_overrides=kinds | {"refusal": pl.String},
    )
    return table.with_columns(pl.Series("chosen", [line["law"] == chosen for line in lines]))


def predict(
    points: pl.DataFrame, at: Sequence[int], *, of: str = "samples_per_second", scaling: str = STRONG
) -> pl.DataFrame:
    """devices, predicted, low, high, model, held_out_miss_percent, leave_one_out_percent, stands, refusal.

    `points` has devices and the column `of`, a line a run that may be timed (scaling.usable). low, high: the 95 %
    interval of a new measurement, by all laws that the points do not exclude, the farthest ends of them; beyond the
    largest count at least as wide as the held-out miss grows. stands: against the fastest measured count,
    gain, no gain (at most 10 % faster) or not shown. Without a law: nulls and the refusal.
    """
    devices = _counts(at)
    x, y = _points(points, of)
    table = compare(points, of=of, scaling=scaling)
    chosen = table.filter("chosen")
    if chosen.is_empty():
        return _nothing(devices, "; ".join(table["refusal"].drop_nulls()))
    law = next(law for law in LAWS[scaling] if law.name == chosen["law"][0])
    found, *rivals = _allowed(law, x, y, scaling)
    centre, low, high = _interval((found, *rivals), devices, _miss(law, x, y), seed=0)
    best = float(found.y.max())
    sign = 1.0 if of in RATES else -1.0
    ends = (low, high) if of in RATES else (high, low)
    lines = {
        "devices": devices.astype(np.int64),
        "predicted": np.exp(sign * centre),
        "low": _exps(sign * ends[0]),
        "high": _exps(sign * ends[1]),
        "model": [law.name] * len(devices),
        "held_out_miss_percent": [chosen["held_out_miss_percent"][0]] * len(devices),
        "leave_one_out_percent": [chosen["leave_one_out_percent"][0]] * len(devices),
        "stands": [_stands(c - best, e - best, found.checked) for c, e in zip(centre, low, strict=True)],
        "refusal": [_unchecked(found)] * len(devices),
    }
    return _typed(pl.DataFrame(lines, schema_overrides={"refusal": pl.String}))


def examples_at(points: pl.DataFrame, batches: Sequence[int]) -> pl.DataFrame:
    """global_batch, predicted, low, high, critical_batch, critical_low, critical_high, held_out_miss_percent, refusal.

    `points` has global_batch and examples (to the target, null where it was not reached). The law is
    examples = E_min (1 + B / B_crit); B_crit is null where no batch was large enough to show it.
    """
    asked = np.asarray(batches, np.float64)
    found, miss, why = _batch_fit(points)
    table = pl.DataFrame({"global_batch": asked.astype(np.int64)})
    if found is None:
        empty = (pl.lit(None, pl.Float64).alias(name) for name in _EXAMPLES)
        return table.with_columns(*empty, pl.lit(why).alias("refusal"))
    centre, low, high = _interval([found], asked, miss, seed=1)
    inverse = estimates(found).row(1, named=True)
    turned = {"batch": inverse["estimate"], "low": inverse["high"], "high": inverse["low"]}
    table = table.with_columns(
        pl.Series("predicted", np.exp(centre)),
        pl.Series("low", _exps(low)),
        pl.Series("high", _exps(high)),
        *(pl.lit(1 / v if v else None, pl.Float64).alias(f"critical_{name}") for name, v in turned.items()),
        pl.lit(None if miss is None else 100 * math.expm1(miss), pl.Float64).alias("held_out_miss_percent"),
        pl.lit(_joined(why, _unchecked(found)), pl.String).alias("refusal"),
    )
    return _typed(table).select("global_batch", *_EXAMPLES, "refusal")


def time_to_target(
    speed: pl.DataFrame, examples: pl.DataFrame, at: Sequence[int], *, batch: int, scaling: str = STRONG
) -> pl.DataFrame:
    """devices, global_batch, seconds, low, high, model, refusal: examples(global batch) / samples per second(devices).

    `speed` as for `predict`, `examples` as for `examples_at`; `batch` is the global batch of strong scaling, the batch
    of a device of weak. The interval is that of both, drawn together. Where the global batch itself was measured, its
    examples are taken, not the law's.
    """
    devices = _counts(at)
    rates = compare(speed, scaling=scaling)
    if rates.filter("chosen").is_empty():
        return _no_time(devices, batch, scaling, "; ".join(rates["refusal"].drop_nulls()))
    x, y = _points(speed, "samples_per_second")
    law = next(law for law in LAWS[scaling] if law.name == rates.filter("chosen")["law"][0])
    found, *rivals = _allowed(law, x, y, scaling)
    sizes = devices * batch if scaling == WEAK else np.full(len(devices), float(batch))
    needed = _needed(examples, sizes)
    if isinstance(needed, str):
        return _no_time(devices, batch, scaling, needed)
    centre = needed.log - found.log_value(devices)
    speeds = [each.draws(devices, 0) for each in (found, *rivals)]
    low, high = _quantiles([None if needed.draws is None or s is None else needed.draws - s for s in speeds], centre)
    spread = _growth(found, devices, _miss(law, x, y))
    lines = {
        "devices": devices.astype(np.int64),
        "global_batch": sizes.astype(np.int64),
        "seconds": np.exp(centre),
        "low": _exps(np.minimum(low, centre - spread)),
        "high": _exps(np.maximum(high, centre + spread)),
        "model": [f"{needed.source} / {law.name}"] * len(devices),
        "refusal": [_joined(_unchecked(found), needed.note)] * len(devices),
    }
    return _typed(pl.DataFrame(lines, schema_overrides={"refusal": pl.String}))


def _points(points: pl.DataFrame, of: str) -> tuple[Array, Array]:
    """Devices and log rates of the lines that have both."""
    if of not in (*RATES, *TIMES):
        raise ValueError(f"of is '{of}'; allowed: {', '.join((*RATES, *TIMES))}.")
    known = points.filter(pl.col(of).is_finite() & (pl.col(of) > 0))
    log = np.log(known[of].cast(pl.Float64).to_numpy())
    return known["devices"].cast(pl.Float64).to_numpy(), log if of in RATES else -log


def _counts(at: Sequence[int]) -> Array:
    if not at or min(at) < 1:
        raise ValueError(f"devices to predict are {list(at)}; give counts from 1 on.")
    return np.asarray(at, np.float64)


def _miss(law: Law, x: Array, y: Array, left: float | None = None) -> float | None:
    """Log of predicted over measured at the count `left` out (the largest); None where the rest is too few."""
    out = x == (x.max() if left is None else left)
    if refusal(law, x[~out]):
        return None
    rest = fit(law, x[~out], y[~out])
    return float(rest.log_value(x[out][:1])[0] - y[out].mean())


def _judged(law: Law, x: Array, y: Array, of: str) -> dict[str, Any]:
    line: dict[str, Any] = {
        "law": law.name,
        "parameters": law.size,
        "points": len(np.unique(x)),
        "scatter_percent": None,
        "held_out_miss_percent": None,
        "leave_one_out_percent": None,
        "refusal": refusal(law, x),
        "_miss": None,
    }
    if line["refusal"]:
        return line
    miss = _miss(law, x, y)
    scatter = fit(law, x, y).scatter
    line["scatter_percent"] = None if math.isnan(scatter) else 100 * math.expm1(scatter)
    if miss is None:
        return line
    sign = 1 if of in RATES else -1
    each = [_miss(law, x, y, float(count)) for count in np.unique(x)]
    sizes = [abs(math.expm1(sign * found)) for found in each if found is not None]
    line["leave_one_out_percent"] = 100 * float(np.mean(sizes))
    return line | {"held_out_miss_percent": 100 * math.expm1(sign * miss), "_miss": abs(miss)}


def _choice(lines: list[dict[str, Any]]) -> str | None:
    fitted = [line for line in lines if not line["refusal"]]
    checked = [line for line in fitted if line["_miss"] is not None]
    if checked:
        least = min(line["_miss"] for line in checked)
        fitted = [line for line in checked if line["_miss"] <= least + TIE]
    return min(fitted, key=lambda line: int(line["parameters"]))["law"] if fitted else None


def _growth(found: Fit, x: Array, miss: float | None) -> Array:
    """How far the held-out miss would grow at x, on the log scale: as the distance beyond the largest count does."""
    if miss is None:
        return np.zeros(len(x))
    step = math.log(found.x[-1] / found.x[-2])
    return np.asarray(abs(miss) * np.maximum(np.log(x / found.x[-1]), 0) / step, np.float64)


def _allowed(law: Law, x: Array, y: Array, scaling: str) -> list[Fit]:
    """The fit of the chosen law, then those of the others that the points do not exclude (F test of scatter, 5 %).

    Where another goes through all points, what they scatter about the chosen law is taken for its scatter. Where the
    universal law cannot be fitted, its far end stands for it: what is lost, lost by coherence alone.
    """
    found = fit(law, x, y)
    fits = [found]
    for other in LAWS[scaling]:
        if other is law:
            continue
        rival = fit(COHERENCE if other is USL and refusal(USL, x) else other, x, y)
        if found.checked and not rival.checked:
            rival = dataclasses.replace(rival, scatter=found.scatter, freedom=found.freedom)
        if not _excluded(rival, found):
            fits.append(rival)
    return fits


def _excluded(rival: Fit, found: Fit) -> bool:
    """By an F test of what the points scatter about the two, where both could have been seen to fail."""
    from scipy.special import fdtri  # type: ignore[import-untyped]

    if not (rival.checked and found.checked):
        return False
    return rival.scatter**2 > float(fdtri(rival.freedom, found.freedom, 1 - EXCLUDED)) * found.scatter**2


def _interval(fits: Sequence[Fit], x: Array, miss: float | None, seed: int) -> tuple[Array, Array, Array]:
    """Log value at x by the first fit, and the ends of the 95 % interval by all of them; NaN where there is none."""
    centre = fits[0].log_value(x)
    low, high = _quantiles([each.draws(x, seed) for each in fits], centre)
    spread = _growth(fits[0], x, miss)
    return centre, np.minimum(low, centre - spread), np.maximum(high, centre + spread)


def _quantiles(draws: Sequence[Array | None], centre: Array) -> tuple[Array, Array]:
    """The farthest ends of the draws, moved out to hold the centre; NaN without draws."""
    low, high = centre, centre
    for drawn in draws:
        ends = np.full((2, len(centre)), np.nan) if drawn is None else np.quantile(drawn, ENDS, axis=0)
        low, high = np.minimum(low, ends[0]), np.maximum(high, ends[1])
    return low, high


def _stands(centre: float, low: float, checked: bool) -> str:
    """From the logs of the predicted rate, and of its lower end, over the best measured; no gain without a check."""
    if centre <= math.log(WORTH):
        return NO_GAIN
    return GAIN if low > 0 and checked else UNSHOWN


def _unchecked(found: Fit) -> str | None:
    if found.checked:
        return None
    many, name = len(found.x), found.law.name
    off = float(np.abs(found.y - found.log_value(found.x)).max())
    if off > math.log(WORTH):
        return f"{name} misses a measured point by {100 * (math.exp(off) - 1):.0f} %: within its bounds nothing fits"
    holds = "the interval knows the seeds, not whether the law holds" if found.freedom else "no interval"
    return f"unchecked: {name} goes through {many} points with {many} parameters; {holds}; measure one more"


def _exps(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(values)


def _typed(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col("low", "high").cast(pl.Float64).fill_nan(None))


def _nothing(devices: Array, why: str) -> pl.DataFrame:
    kinds = {
        **dict.fromkeys(("predicted", "low", "high"), pl.Float64),
        "model": pl.String,
        **dict.fromkeys(("held_out_miss_percent", "leave_one_out_percent"), pl.Float64),
        "stands": pl.String,
    }
    empty = (pl.lit(None, kind).alias(name) for name, kind in kinds.items())
    return pl.DataFrame({"devices": devices.astype(np.int64)}).with_columns(*empty, pl.lit(why).alias("refusal"))


def _no_time(devices: Array, batch: int, scaling: str, why: str) -> pl.DataFrame:
    sizes = pl.col("devices") * batch if scaling == WEAK else pl.lit(batch, pl.Int64)
    empty = (pl.lit(None, pl.Float64).alias(name) for name in ("seconds", "low", "high"))
    table = pl.DataFrame({"devices": devices.astype(np.int64)}).with_columns(sizes.alias("global_batch"), *empty)
    return table.with_columns(pl.lit(None, pl.String).alias("model"), pl.lit(why).alias("refusal"))


def _reached(points: pl.DataFrame) -> tuple[pl.DataFrame, str | None]:
    """The lines of the batches with which every run reached the target, and which others there are."""
    missed = points.filter(pl.col("examples").is_null())["global_batch"].unique().sort().to_list()
    said = f"without batch {', '.join(map(str, missed))}: the target was not always reached" if missed else None
    return points.filter(~pl.col("global_batch").is_in(missed)), said


def _batch_fit(points: pl.DataFrame) -> tuple[Fit | None, float | None, str | None]:
    known, said = _reached(points)
    x = known["global_batch"].cast(pl.Float64).to_numpy()
    if why := refusal(BATCH, x):
        return None, None, _joined(why, said)
    y = np.log(known["examples"].cast(pl.Float64).to_numpy())
    return fit(BATCH, x, y), _miss(BATCH, x, y), said


class _Needed(NamedTuple):
    """Log examples at each global batch, draws of them, whence they are, and what to say of them."""

    log: Array
    draws: Array | None
    source: str
    note: str | None


def _needed(points: pl.DataFrame, sizes: Array) -> _Needed | str:
    """Examples to the target at each size; or why there are none."""
    known, said = _reached(points)
    distinct = np.unique(sizes)
    if len(distinct) == 1 and int(distinct[0]) in known["global_batch"]:
        logs = np.log(known.filter(pl.col("global_batch") == int(distinct[0]))["examples"].cast(pl.Float64).to_numpy())
        centre = np.full(len(sizes), logs.mean())
        if len(logs) < 2:
            return _Needed(centre, None, "measured examples", "no interval: one run says how many examples are needed")
        off = np.random.default_rng(2).standard_t(len(logs) - 1, (DRAWS, 1)) * logs.std(ddof=1) / math.sqrt(len(logs))
        return _Needed(centre, centre + off, "measured examples", None)
    found, miss, why = _batch_fit(points)
    if found is None:
        return str(why)
    draws = found.draws(sizes, 1)
    if draws is not None and miss is not None:
        draws = draws + _growth(found, sizes, miss) * np.random.default_rng(3).standard_normal((DRAWS, 1))
    return _Needed(found.log_value(sizes), draws, BATCH.name, _joined(said, _unchecked(found)))


def _joined(*words: str | None) -> str | None:
    return "; ".join(word for word in words if word) or None
