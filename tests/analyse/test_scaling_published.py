"""Tables that student reports on multi-GPU training published: shown, not scored; our models neither crash nor boast."""

import polars as pl
import pytest

from paceline.analyse.fits import compare, predict
from paceline.analyse.scaling import gains, speedups

# Seconds an epoch. A lab that fine-tuned a network on pictures of fruit, 1, 2 and 4 T4, batch 32 a GPU.
FRUIT = [(1, 20.0), (2, 11.0), (4, 5.0)]
# The same lab on Caltech-256, frozen base, batch 32 a GPU: 2 and 4 T4, then 4 and 8 V100. It expected "just over 22" for 16.
CALTECH = [(2, 209.0), (4, 81.0), (4, 80.0), (8, 44.0)]
# An exercise that trained a small CNN on MNIST on 1, 2 and 4 GPUs: seconds of the whole training.
MNIST = [(1, 19.254), (2, 18.463), (4, 18.234)]
SLOWER = [(1, 10.0), (2, 12.0), (4, 15.0)]


def table_of(rows: list[tuple[int, float]], mode: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["devices", "seconds_per_epoch"], orient="row").with_columns(
        seed=pl.lit(0), batch_mode=pl.lit(mode), oversubscribed=pl.lit(False), timing=pl.lit("exclusive")
    )


def test_fruit_is_near_linear_and_one_repetition() -> None:
    table = table_of(FRUIT, "per_device")
    found = speedups(table, [], of="seconds_per_epoch")
    assert found["speedup"].to_list() == pytest.approx([1, 20 / 11, 4])
    assert found["efficiency"].to_list() == pytest.approx([1, 10 / 11, 1])
    assert gains(found, [])["verdict"].to_list() == ["not shown"]
    sixteen = predict(table, [16], of="seconds_per_epoch", scaling="weak").row(0, named=True)
    assert sixteen["predicted"] == pytest.approx(1.3, abs=0.1)
    assert sixteen["high"] > 5  # three single points: 16 may be no faster than 4
    assert sixteen["held_out_miss_percent"] == pytest.approx(15.8, abs=0.1)


@pytest.mark.parametrize(("mode", "scaling"), [("per_device", "weak"), ("global", "strong")])
def test_caltech_is_super_linear_and_nothing_is_certain(mode: str, scaling: str) -> None:
    table = table_of(CALTECH, mode)
    found = speedups(table, [], of="seconds_per_epoch")
    four = found.filter(pl.col("devices") == 4).row(0, named=True)
    assert four["speedup"] > 2.5
    assert four["efficiency"] > 1.25
    assert four["serial_fraction"] < 0
    judged = compare(table, of="seconds_per_epoch", scaling=scaling)
    assert judged.filter("chosen")["leave_one_out_percent"][0] > 15
    sixteen = predict(table, [16], of="seconds_per_epoch", scaling=scaling).row(0, named=True)
    assert sixteen["predicted"] == pytest.approx(22, abs=1)  # the report's own: just over 22
    assert sixteen["low"] < 11
    assert sixteen["high"] > 44
    assert sixteen["stands"] == "not shown"


@pytest.mark.parametrize("rows", [MNIST, SLOWER])
def test_no_gain(rows: list[tuple[int, float]]) -> None:
    table = table_of(rows, "global")
    assert gains(speedups(table, [], of="seconds_per_epoch"), [])["verdict"].to_list() == ["no gain"]
    found = predict(table, [8, 16, 1024], of="seconds_per_epoch")
    assert found["stands"].to_list() == ["no gain"] * 3
