"""Best step, sweet spot and stable epoch on curves with a known shape."""

import numpy as np
import polars as pl
import pytest

from paceline.analyse.curves import best_step
from paceline.analyse.stable import epochs_to_stable

from .tables import rows_of

EPOCHS = np.arange(1, 31)


def noisy(curve: np.ndarray, noise: float, seeds: int = 600) -> pl.DataFrame:
    """Runs with the accuracy after each epoch."""
    made = curve + noise * np.random.default_rng(7).normal(size=(seeds, len(curve)))
    epochs = np.tile(np.arange(len(curve)), seeds)
    names = np.repeat([f"r{seed}" for seed in range(seeds)], len(curve))
    return pl.DataFrame({"run": names, "step": 10 * (epochs + 1), "epoch": epochs, "validation_accuracy": made.ravel()})


@pytest.mark.parametrize("knee", [15, 19, 20, 25])
@pytest.mark.parametrize("noise", [0.0, 0.002, 0.005, 0.01])
def test_the_stable_epoch_is_the_knee(knee: int, noise: float) -> None:
    """Curves like those of the 2, 4 and 8 GPU runs: up to 0.68 by the knee, then flat with noise, 30 epochs."""
    table = epochs_to_stable(noisy(0.3 + 0.38 * np.minimum(1, (EPOCHS - 1) / (knee - 1)), noise))
    assert table.columns == ["run", "stable_epoch", "level", "band", "smoothing"]
    found = table["stable_epoch"]
    assert found.null_count() <= 0.05 * len(found)
    assert abs(found.median() - knee) <= 1  # type: ignore[operator]
    assert ((found - knee).abs() <= 3).sum() >= 0.9 * len(found)
    assert table["level"].mean() == pytest.approx(0.68, abs=0.003 + 1.5 * noise)


def test_a_later_knee_is_later_also_on_rounded_curves() -> None:
    found = [
        epochs_to_stable(noisy(0.68 - 0.5 * np.exp(-4.6 * EPOCHS / knee), 0.004))["stable_epoch"].median()
        for knee in (10, 15, 20, 25)
    ]
    assert found == sorted(found)
    assert len(set(found)) == 4


@pytest.mark.parametrize("noise", [0.0, 0.003])
def test_what_still_rises_or_falls_back_is_never_stable(noise: float) -> None:
    rising = noisy(0.3 + 0.01 * EPOCHS, noise)
    falling = noisy(np.where(EPOCHS < 15, 0.3 + 0.02 * EPOCHS, 0.9 - 0.02 * EPOCHS), noise)
    for rows in (rising, falling):
        assert epochs_to_stable(rows)["stable_epoch"].is_null().all()


def test_a_loss_is_stable_at_its_lowest_and_only_the_last_row_of_an_epoch_counts() -> None:
    rows = rows_of({"a": {"loss": [3.0, *np.maximum(0.1, 2 - 0.19 * EPOCHS)]}})
    table = epochs_to_stable(rows, metric="loss")
    assert table["stable_epoch"].to_list() == [11]
    assert table["level"].to_list() == pytest.approx([0.1])
    inner = rows.filter(pl.col("step") > 0).with_columns(pl.col("step") - 5, loss=pl.lit(5.0))
    assert epochs_to_stable(pl.concat([rows, inner]), metric="loss").equals(table)


def test_best_step_and_sweet_spot() -> None:
    x = np.linspace(0, 1, 40)
    curves = {
        "hump": {"accuracy": 0.9 - (x - 0.4) ** 2},
        "rises": {"accuracy": x},
        "short": {"accuracy": [0.1, 0.3, 0.2]},
    }
    table = best_step(rows_of(curves))
    assert table.columns == ["run", "best_step", "best_epoch", "best_value", "sweet_spot", "worsening"]
    assert dict(zip(table["run"], table["sweet_spot"], strict=True)) == {"hump": True, "rises": False, "short": None}
    hump = table.filter(run="hump").row(0, named=True)
    assert hump["best_step"] == 160
    assert hump["best_epoch"] == 15
    assert hump["worsening"] == pytest.approx(0.33, abs=0.05)
    assert table.filter(run="rises")["worsening"].to_list() == [0.0]


def test_noise_alone_is_no_sweet_spot() -> None:
    flat = 0.9 - 0.8 * np.exp(-np.arange(50) / 3)
    found = best_step(noisy(flat, 0.01))
    assert found["sweet_spot"].mean() < 0.03


def test_best_step_of_a_loss_and_any_order_of_rows() -> None:
    rows = rows_of({"a": {"loss": [3, 1, 2, 2, 2, 2, 2, 2]}})
    table = best_step(rows, metric="loss")
    assert table["best_step"].to_list() == [10]
    assert best_step(rows.reverse(), metric="loss").equals(table)
