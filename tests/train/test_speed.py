"""Speeds that a plan is made from: what is timed, and on what."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from paceline.data.dataset import Dataset
from paceline.spec import Run
from paceline.train import speed
from paceline.train.parallel import beat
from paceline.train.rows import Outcome, Pause
from paceline.train.speed import made_up, row_speed, stack_speed
from paceline.train.stack import loop as stack_loop


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A pause after every step, and two steps are enough."""
    monkeypatch.setattr(speed, "EXAMPLES", 50)
    monkeypatch.setattr(speed, "SECONDS", 0.0)
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(stack_loop, "PAUSE_SECONDS", 0.0)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def run_of(**said) -> Run:
    base = {"data": "synthetic", "model": {"name": "mlp", "widths": [8]}, "optimizer": "adam", "lr": 0.1, "batch": 10}
    return Run(**base | {"steps": 5} | said)


def test_made_up_data_has_the_shape_that_is_asked_for():
    data = made_up((1, 4, 4), 3, True, held_out=20)
    assert (data.input_shape, data.classes, data.outputs, len(data.train), len(data.test)) == ((1, 4, 4), 3, 3, 50, 20)
    assert data.validation is None
    assert sorted(data.train.y.unique().tolist()) == [0, 1, 2]
    values = made_up((6,), 2, False, held_out=1)
    assert (values.classes, values.outputs, tuple(values.train.y.shape)) == (None, 2, (50, 2))
    assert torch.equal(made_up((6,), 2, False, 1).train.x, values.train.x)


ENDLESS = {
    "soon over": {"steps": 1},
    "counted in epochs": {"steps": None, "epochs": 0.1, "warmup": 3, "schedule": "cosine"},
    "stopped early": {"early_stop": {"target": 0.0}, "evaluate_every": 1},
    "that would diverge": {"lr": 1e30, "optimizer": "gd", "loss": "mse"},
    "of a subset larger than the data": {"subset": 1000},
}


@pytest.mark.parametrize("said", ENDLESS.values(), ids=ENDLESS)
def test_a_step_and_an_evaluation_are_timed_whatever_the_run_says(said):
    data = made_up((6,), 3, True, held_out=20)
    runs = [run_of(**said), run_of(**said, seed=1)]
    for step, evaluation in (row_speed(runs, data, 1), stack_speed(runs, data, 1)):
        assert step > 0
        assert evaluation >= 0


def test_values_instead_of_classes_are_timed_too():
    data = made_up((6,), 2, False, held_out=20)
    runs = [run_of(loss="mse"), run_of(loss="mse", lr=0.2)]
    assert row_speed(runs, data, 1)[0] > 0
    assert stack_speed(runs, data, 1)[0] > 0


def _timed(monkeypatch: pytest.MonkeyPatch, items: list[object]) -> None:
    """Whoever is asked to train gives these items; a second passes between two readings of the clock."""
    readings = iter(range(1000))
    monkeypatch.setattr(speed, "time", SimpleNamespace(perf_counter=lambda: float(next(readings) + 1)))
    monkeypatch.setattr(speed, "SECONDS", 2.5)
    for name in ("train", "train_stack"):
        monkeypatch.setattr(speed, name, lambda *given, **how: iter(items))


def _pauses(*steps: int) -> list[Pause]:
    """Two seconds of evaluation have gone by at each."""
    return [Pause(step, 100, lambda: {"clock": {"evaluation_seconds": 2.0}}) for step in steps]


def test_seconds_a_step_run_from_pause_to_pause(monkeypatch):
    data = Dataset("none", None, None, None, None, "")
    _timed(monkeypatch, [*_pauses(7, 17, 27, 37, 47), Outcome("done", "", 47, 1, evaluation_seconds=6.0)])
    assert row_speed([run_of(), run_of()], data, 1) == (3 / 30, 2.0)


def test_seconds_of_a_stack_are_divided_by_its_runs(monkeypatch):
    data = Dataset("none", None, None, None, None, "")
    _timed(monkeypatch, [*_pauses(7, 17, 27, 37), (0, Outcome("done", "", 37, 1, evaluation_seconds=6.0))])
    assert stack_speed([run_of(), run_of()], data, 1) == (3 / 30 / 2, 2.0)


def test_a_run_that_ends_before_it_is_timed_is_a_mistake(monkeypatch):
    _timed(monkeypatch, [Pause(1, 1, dict)])
    with pytest.raises(AssertionError, match="does not end"):
        row_speed([run_of()], Dataset("none", None, None, None, None, ""), 1)
