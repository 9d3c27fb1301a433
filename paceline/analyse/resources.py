"""Memory, utilisation and power of runs, and their means for every setting."""

from collections.abc import Sequence

import numpy as np
import polars as pl

PEAKS = ("resident_bytes", "allocated_bytes", "reserved_bytes", "device_used_bytes")


def resources(telemetry: pl.DataFrame) -> pl.DataFrame:
    """run, the most of each kind of bytes, device_share, utilisation, power_watts, energy_joules, joules_per_example.

    device_share: the most in use of the device's memory. utilisation and power are means over the seconds of training,
    each line counting for the time since the one before. What was never measured is null.
    """
    passed = pl.col("seconds").diff().fill_null(pl.col("seconds"))
    lines = telemetry.sort("run", "step").with_columns(passed.over("run").alias("_passed"))
    energy = pl.col("energy_joules").max()
    return lines.group_by("run", maintain_order=True).agg(
        *(pl.col(name).max() for name in PEAKS),
        (pl.col("device_used_bytes") / pl.col("device_bytes")).max().alias("device_share"),
        _mean("utilisation"),
        _mean("power_watts"),
        energy,
        (energy / pl.col("examples").max()).alias("joules_per_example"),
    )


def _mean(name: str) -> pl.Expr:
    """Weighted by the seconds that passed."""
    weight = pl.when(pl.col(name).is_not_null()).then(pl.col("_passed"))
    total = weight.sum()
    return pl.when(total > 0).then((pl.col(name) * weight).sum() / total).alias(name)


def aligned(telemetry: pl.DataFrame, by: str, values: Sequence[str]) -> pl.DataFrame:
    """by, run, step, values...: the runs of a setting at the same steps, in a straight line between their own lines.

    `telemetry` has the column `by`. A setting is read at as many steps as the run with the fewest lines has, from the
    last of the first lines to the first of the last; one whose runs have no such stretch, or fewer than two lines, is
    not there.
    """
    tables = [pl.DataFrame(schema={name: telemetry.schema[name] for name in (by, "run", "step")})]
    for (setting,), group in telemetry.sort("run", "step").group_by(by, maintain_order=True):
        step = pl.col("step")
        ends = group.group_by("run").agg(pl.len(), step.first().alias("first"), step.last().alias("end"))
        low, high, count = ends["first"].max(), ends["end"].min(), ends["len"].min()
        if count >= 2 and low < high:  # type: ignore[operator]
            steps = np.unique(np.linspace(low, high, count).round().astype(np.int64))  # type: ignore[arg-type]
            tables += [
                pl.DataFrame({by: [setting] * len(steps), "run": [run] * len(steps), "step": steps}).with_columns(
                    pl.Series(name, np.interp(steps, lines["step"], lines[name].cast(pl.Float64))) for name in values
                )
                for (run,), lines in group.group_by("run", maintain_order=True)
            ]
    return pl.concat(tables, how="diagonal")


def by_setting(runs: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """by..., n and the columns of `resources`: of bytes and device_share the most of any run, of others the mean."""
    most = [pl.col(name).max() for name in (*PEAKS, "device_share")]
    means = [pl.col(name).mean() for name in ("utilisation", "power_watts", "energy_joules", "joules_per_example")]
    return runs.group_by(by, maintain_order=True).agg(pl.len().cast(pl.Int64).alias("n"), *most, *means)
