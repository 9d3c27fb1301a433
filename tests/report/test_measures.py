"""What claims read off curves, on curves with known answers."""

import polars as pl
import pytest

from paceline.report.claims.measures import MEASURES
from paceline.spec.published import HIGHER


def table(**columns: list[float | None]) -> pl.DataFrame:
    steps = len(next(iter(columns.values())))
    return pl.DataFrame({"run": ["r"] * steps, "step": range(steps), "epoch": range(steps), **columns})


def read(name: str, rows: pl.DataFrame) -> float | None:
    found = MEASURES[name](rows, "accuracy")
    assert found.columns == ["run", "value"]
    return found["value"][0] if found.height else None


def test_each_has_a_direction():
    assert set(MEASURES) <= set(HIGHER)


def test_crossings_count_passes_of_the_end_but_not_rounding_about_it():
    assert read("crossings of W", table(W=[0.3, -1.5, -0.8, -1.0, -1.0001, -0.9999, -1.0])) == 2
    assert read("crossings of W", table(W=[0.3, -0.5, -0.9, -1.0])) == 0
    assert read("crossings of W", table(W=[0.3, 0.3])) == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_detour_is_how_far_it_goes_the_wrong_way(sign: int):
    assert read("detour of b", table(b=[sign * value for value in (-0.3, -0.5, 0.2, 1.0)])) == pytest.approx(0.2)
    assert read("detour of b", table(b=[sign * value for value in (-0.3, 0.2, 1.2, 1.0)])) == 0


def test_without_such_a_parameter_there_is_nothing():
    assert read("crossings of W", table(loss=[1.0, 0.5])) is None
    assert read("detour of b", table(b=[None, None])) is None


def test_accuracy_at_first_is_after_an_update():
    rows = table(validation_accuracy=[0.1, None, 0.7, 0.9], accuracy=[0.2, 0.3, 0.4, 0.5])
    assert read("accuracy at first", rows) == 0.7


def test_the_gap_is_to_held_out_accuracy():
    assert read("gap", table(train_accuracy=[0.1, 0.9], accuracy=[0.1, 0.6])) == pytest.approx(0.3)
