"""Speedups by hand, what is refused, and the verdict on whether devices gain anything."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.scaling import (
    costs,
    epoch_differences,
    gains,
    quickest,
    speedups,
    stable_epochs,
    usable,
)


def runs_of(seconds: dict[int, list[float | None]], column: str = "seconds_per_epoch", **more: Any) -> pl.DataFrame:
    """A line a value, seeds from 0."""
    lines = [
        {"model": "m", "devices": devices, "seed": seed, column: value}
        for devices, found in seconds.items()
        for seed, value in enumerate(found)
    ]
    table = pl.DataFrame(lines, schema_overrides={column: pl.Float64})
    plain = {"batch_mode": "global", "oversubscribed": False, "timing": "exclusive"} | more
    return table.with_columns(
        **{name: value if isinstance(value, pl.Expr) else pl.lit(value) for name, value in plain.items()}
    )


def of(table: pl.DataFrame, devices: int) -> dict[str, Any]:
    return table.filter(pl.col("devices") == devices).row(0, named=True)


def test_speedup_efficiency_and_serial_fraction_by_hand() -> None:
    runs = runs_of({1: [10.0, 11.0, 12.0], 4: [4.0, 4.4, 4.0]})
    found = speedups(runs, ["model"], of="seconds_per_epoch")
    four = of(found, 4)
    logs = np.log([2.5, 2.5, 3.0])
    half = 4.30265273 * logs.std(ddof=1) / 3**0.5
    low, high = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    assert (four["scaling"], four["reference"], four["n"], four["pairs"]) == ("strong", 1, 3, 3)
    assert (four["median"], four["speedup"]) == (4.0, pytest.approx(2.5))
    assert (four["speedup_low"], four["speedup_high"]) == (pytest.approx(low), pytest.approx(high))
    assert (four["efficiency"], four["efficiency_low"]) == (pytest.approx(2.5 / 4), pytest.approx(low / 4))
    assert four["serial_fraction"] == pytest.approx((1 / 2.5 - 1 / 4) / (1 - 1 / 4))  # Karp and Flatt: 0.2
    assert four["serial_fraction_low"] == pytest.approx((1 / high - 1 / 4) / (3 / 4))
    assert four["serial_fraction_high"] == pytest.approx((1 / low - 1 / 4) / (3 / 4))
    assert (four["stands"], four["refusal"]) == ("gain", None)
    one = of(found, 1)
    assert (one["speedup"], one["efficiency"], one["serial_fraction"], one["stands"]) == (1.0, 1.0, None, "reference")


def test_a_rate_is_the_inverse_of_a_time() -> None:
    seconds: dict[int, list[float | None]] = {2: [10.0, 11.0], 4: [6.0, 5.0]}
    rates: dict[int, list[float | None]] = {2: [100.0, 1000 / 11], 4: [1000 / 6, 200.0]}
    first = speedups(runs_of(seconds), ["model"], of="seconds_per_epoch")
    second = speedups(runs_of(rates, "samples_per_second"), ["model"], of="samples_per_second")
    names = [name for name in first.columns if name.startswith(("speedup", "efficiency", "serial"))]
    for name in names:
        assert second[name].to_list() == pytest.approx(first[name].to_list())
    assert of(first, 4)["efficiency"] == pytest.approx(of(first, 4)["speedup"] / 2)  # the reference has 2 devices


def test_strong_and_weak_stand_apart() -> None:
    strong = runs_of({1: [10.0, 10.0], 2: [6.0, 6.0]})
    weak = runs_of({1: [10.0, 10.0], 2: [5.5, 5.5]}, batch_mode="per_device")
    found = speedups(pl.concat([strong, weak]), ["model"], of="seconds_per_epoch").filter(pl.col("devices") == 2)
    assert found["scaling"].to_list() == ["strong", "weak"]
    assert found["speedup"].to_list() == pytest.approx([10 / 6, 10 / 5.5])
    gustafson = (2 - 10 / 5.5) / (2 - 1)
    assert found["serial_fraction"].to_list() == pytest.approx([(0.6 - 0.5) / 0.5, gustafson])


def test_settings_are_compared_each_with_its_own_smallest_count() -> None:
    first = runs_of({1: [10.0, 11.0], 2: [5.0, 5.5]})
    second = runs_of({2: [8.0, 8.0], 4: [8.0, 8.0]}).with_columns(model=pl.lit(None, pl.String))
    found = speedups(pl.concat([first, second]), ["model"], of="seconds_per_epoch").sort(
        "model", "devices", nulls_last=True
    )
    assert found.select("model", "devices", "reference").rows() == [
        ("m", 1, 1),
        ("m", 2, 1),
        (None, 2, 2),
        (None, 4, 2),
    ]
    assert found["efficiency"].to_list() == pytest.approx([1, 1, 1, 0.5])
    assert sorted(gains(found, ["model"])["verdict"]) == ["gain", "no gain"]


def test_a_weak_time_to_target_has_no_serial_fraction() -> None:
    runs = runs_of({1: [10.0, 10.0], 2: [6.0, 6.0]}, "seconds_to_target", batch_mode="per_device")
    assert speedups(runs, ["model"], of="seconds_to_target")["serial_fraction"].to_list() == [None, None]


def test_oversubscribed_and_shared_runs_are_refused_for_time() -> None:
    runs = runs_of({1: [10.0, 10.0], 2: [6.0, 6.0], 4: [3.0, 3.0]}, oversubscribed=pl.col("devices") == 4)
    found = speedups(runs, ["model"], of="seconds_per_epoch")
    assert found["stands"].to_list() == ["reference", "gain", "refused"]
    assert of(found, 4)["speedup"] is None
    assert of(found, 4)["refusal"].startswith("2 of 2 runs were oversubscribed")
    shared = runs_of({1: [10.0, 10.0], 2: [6.0, 6.0]}, timing=pl.when(pl.col("devices") == 1).then(pl.lit("shared")).otherwise(pl.lit("exclusive")))  # fmt: skip
    found = speedups(shared, ["model"], of="seconds_per_epoch")
    assert found["stands"].to_list() == ["refused", "refused"]
    mend = "train them one by one (--jobs 1 --no-stack, or measure: time), into another --out"
    assert of(found, 1)["refusal"] == f"2 of 2 runs were timed shared, not exclusive; {mend}"
    assert of(found, 2)["refusal"].startswith("the smallest count, 1 device, is refused")
    left, why = usable(runs, ["model"], of="seconds_per_epoch")
    assert left["devices"].unique().sort().to_list() == [1, 2]
    assert why == ["4 devices: 2 of 2 runs were oversubscribed (more processes than cores): their time says nothing"]


def test_a_count_that_misses_the_target_is_refused_not_flattered() -> None:
    runs = runs_of({1: [10.0, 10.0], 2: [None, 2.0]}, "seconds_to_target")
    two = of(speedups(runs, ["model"], of="seconds_to_target"), 2)
    assert (two["speedup"], two["stands"], two["refusal"]) == (None, "refused", "1 of 2 runs never reached the goal")


def test_no_seed_in_common() -> None:
    runs = runs_of({1: [10.0], 2: [6.0]}).with_columns(seed=pl.col("devices"))
    assert of(speedups(runs, [], of="seconds_per_epoch"), 2)["refusal"] == "no seed in common with 1 device"


def test_slower_with_every_device_is_no_gain() -> None:
    for seconds in ({1: [10.0], 2: [12.0], 4: [15.0]}, {1: [10.0, 10.1], 2: [12.0, 12.1], 4: [15.0, 15.1]}):
        table = speedups(runs_of(dict(seconds)), ["model"], of="seconds_per_epoch")  # type: ignore[arg-type]
        found = gains(table, ["model"]).row(0, named=True)
        assert (found["verdict"], found["devices"], found["speedup"]) == ("no gain", 1, 1.0)


def test_one_repetition_shows_no_gain_but_its_numbers() -> None:
    table = speedups(runs_of({1: [20.0], 2: [11.0]}), ["model"], of="seconds_per_epoch")
    found = gains(table, ["model"]).row(0, named=True)
    assert (found["verdict"], found["devices"]) == ("not shown", 2)
    assert found["speedup"] == pytest.approx(20 / 11)


def test_a_refused_count_takes_no_part_in_a_gain() -> None:
    runs = runs_of({1: [10.0, 10.1], 2: [6.0, 6.0], 4: [3.0, 3.0]}, oversubscribed=pl.col("devices") == 4)
    found = gains(speedups(runs, ["model"], of="seconds_per_epoch"), ["model"]).row(0, named=True)
    assert (found["verdict"], found["devices"]) == ("gain", 2)
    assert found["speedup"] == pytest.approx(1.675, abs=0.01)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.1, 1e4), min_size=2, max_size=5), st.floats(0.3, 8), st.floats(0.01, 100))
def test_a_known_speedup_is_found_in_any_unit(base: list[float], speedup: float, unit: float) -> None:
    runs = runs_of({1: list(base), 8: [value / speedup for value in base]})
    for table in (runs, runs.with_columns(pl.col("seconds_per_epoch") * unit)):
        eight = of(speedups(table, ["model"], of="seconds_per_epoch"), 8)
        assert eight["speedup"] == pytest.approx(speedup)
        assert eight["speedup_low"] <= eight["speedup"] <= eight["speedup_high"]
        assert eight["efficiency"] == pytest.approx(speedup / 8)
        serial = eight["serial_fraction"]
        assert speedup == pytest.approx(1 / (serial + (1 - serial) / 8))  # Amdahl's law turned round


def test_differences_per_epoch_by_hand() -> None:
    lines = [(d, seed, epoch, 10.0 / d + seed * d + epoch) for d in (1, 2, 4) for seed in (0, 1) for epoch in (0, 1)]
    epochs = pl.DataFrame(lines, schema=["devices", "seed", "epoch", "seconds"], orient="row").with_columns(
        batch_mode=pl.lit("global"), oversubscribed=pl.col("devices") == 4, timing=pl.lit("exclusive")
    )
    found = epoch_differences(epochs, [])
    assert found.select("epoch", "a", "b").rows() == [(e, a, b) for e in (0, 1) for a, b in ((1, 2), (1, 4), (2, 4))]
    first = found.row(0, named=True)
    assert (first["n"], first["difference"]) == (2, 4.5)  # 10 - 5 and 11 - 7
    half = 12.7062047 * 0.5**0.5 / 2**0.5
    assert (first["low"], first["high"]) == (pytest.approx(4.5 - half), pytest.approx(4.5 + half))
    assert found["refusal"].is_null().to_list() == [True, False, False] * 2
    assert found.row(1, named=True)["difference"] is None


def test_epochs_to_stable_count_the_runs_that_never_were() -> None:
    runs = runs_of({1: [15.0, 14.0, 16.0], 8: [25.0, None, None]}, "stable_epoch", oversubscribed=True)
    found = stable_epochs(runs, ["model"])
    assert found.columns == ["model", "scaling", "devices", "n", "reached", "epochs", "low", "high"]
    assert found.rows() == [("m", "strong", 1, 3, 3, 15.0, 14.0, 16.0), ("m", "strong", 8, 3, 1, None, 25.0, None)]


def test_the_quickest_count_and_those_not_shown_to_be_slower() -> None:
    seconds: dict[int, list[float | None]] = {
        1: [30.0, 31.0, 32.0],
        2: [10.0, 11.0, 12.0],
        4: [9.0, 11.5, 11.0],
        8: [5.0, None, 5.0],
    }
    found = quickest(runs_of(seconds, "seconds_to_target"), ["model"]).row(0, named=True)
    assert (found["devices"], found["seconds"], found["tied"]) == (2, 11.0, [4])
    assert found["refusal"] == "8 devices: 1 of 3 runs never reached the goal"
    none = quickest(runs_of({1: [None], 2: [None]}, "seconds_to_target"), ["model"]).row(0, named=True)
    assert none["devices"] is None
    assert (
        none["refusal"] == "1 device: 1 of 1 runs never reached the goal; 2 devices: 1 of 1 runs never reached the goal"
    )


def test_cost_by_hand() -> None:
    runs = runs_of({1: [3600.0], 4: [1200.0], 8: [1.0]}, "turnaround", oversubscribed=pl.col("devices") == 8)
    found = costs(runs, ["model"], price=2.5)
    assert found["device_hours"].to_list() == pytest.approx([1.0, 4 / 3, None])
    assert found["cost"].to_list() == pytest.approx([2.5, 10 / 3, None])
    assert found["cheapest"].to_list() == [True, False, False]
    assert found["refusal"].is_null().to_list() == [True, True, False]


def test_what_makes_no_sense_is_an_error() -> None:
    runs = runs_of({1: [1.0]})
    with pytest.raises(ValueError, match="of is 'epochs'; allowed: samples_per_second"):
        speedups(runs, [], of="epochs")
    with pytest.raises(ValueError, match="batch_mode is 'local'"):
        speedups(runs.with_columns(batch_mode=pl.lit("local")), [], of="seconds_per_epoch")
    with pytest.raises(ValueError, match="price per device-hour is 0"):
        costs(runs, [], price=0, of="seconds_per_epoch")
    with pytest.raises(ValueError, match="of is 'samples_per_second'"):
        quickest(runs, [], of="samples_per_second")


def test_a_speedup_below_the_noise_of_the_machine_is_not_shown() -> None:
    runs = runs_of({1: [20.0, 20.2, 19.8], 2: [13.0, 13.1, 12.9]})
    probes = {"probe_before": 1.0, "probe_kind": "cpu"}
    for slowest, stands in ((1.2, "gain"), (1.9, "not shown")):
        table = runs.with_columns(
            **{name: pl.lit(value) for name, value in probes.items()}, probe_after=pl.lit(slowest)
        )
        found = of(speedups(table, ["model"], of="seconds_per_epoch"), 2)
        assert (found["stands"], found["noise"]) == (stands, pytest.approx(slowest))
