"""Memory, utilisation and power, by hand."""

import polars as pl
import pytest

from paceline.analyse.resources import aligned, by_setting, resources


def telemetry() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "run": ["a", "a", "b"],
            "step": [20, 10, 10],
            "examples": [200, 100, 100],
            "seconds": [4.0, 1.0, 2.0],
            "resident_bytes": [70, 90, 50],
            "allocated_bytes": [None, None, 5],
            "reserved_bytes": [None, None, 6],
            "device_used_bytes": [None, None, 40],
            "device_bytes": [None, None, 80],
            "utilisation": [0.5, 0.9, None],
            "power_watts": [10.0, None, None],
            "energy_joules": [40.0, 10.0, None],
        }
    )


def test_most_of_the_bytes_and_means_weighted_by_time() -> None:
    a, b = resources(telemetry()).rows(named=True)
    assert (a["resident_bytes"], a["allocated_bytes"], a["device_share"]) == (90, None, None)
    assert a["utilisation"] == pytest.approx((0.9 * 1 + 0.5 * 3) / 4)
    assert (a["power_watts"], a["energy_joules"], a["joules_per_example"]) == pytest.approx((10.0, 40.0, 0.2))
    assert (b["device_share"], b["utilisation"], b["joules_per_example"]) == (0.5, None, None)


def test_by_setting() -> None:
    found = by_setting(resources(telemetry()).with_columns(label=pl.lit("x")), ["label"]).row(0, named=True)
    assert (found["n"], found["resident_bytes"], found["allocated_bytes"]) == (2, 90, 5)
    assert found["utilisation"] == pytest.approx(0.6)


def test_runs_of_a_setting_are_read_at_the_same_steps() -> None:
    steps = {"a": [10, 20, 40], "b": [20, 30, 50, 60], "c": [10], "d": [10, 20], "e": [30, 40]}
    lines = [(run, step, step * 2.0) for run, found in steps.items() for step in found]
    table = pl.DataFrame(lines, schema=["run", "step", "v"], orient="row")
    table = table.with_columns(label=pl.col("run").replace_strict({"a": "x", "b": "x", "c": "y", "d": "z", "e": "z"}))
    found = aligned(table, "label", ["v"])
    assert found.rows() == [("x", run, step, step * 2.0) for run in "ab" for step in (20, 30, 40)]
    assert aligned(table.filter(pl.col("label") != "x"), "label", ["v"]).is_empty()
