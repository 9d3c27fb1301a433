"""Runs trained alone and together, and how their curves are compared."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from paceline.data.dataset import Dataset
from paceline.spec import Run
from paceline.train.loop import train
from paceline.train.rows import Outcome, Pause, Row
from paceline.train.stack.loop import train_stack

LR = {"adadelta": 5.0, "ftrl": 0.5, "muon": 0.02, "lion": 0.01, "schedule_free": 0.05}
"""Learning rates at which an optimizer learns without haste; 0.1 for those unsaid."""


class Curve(NamedTuple):
    rows: list[Row]
    outcome: Outcome


def run_of(**said: Any) -> Run:
    base = {"data": "synthetic", "model": "softmax", "optimizer": "gd", "lr": 0.1, "batch": 20, "steps": 30}
    return Run(**base | {"precision": "fp64"} | said)


def mlp(**said: Any) -> dict[str, Any]:
    return {"name": "mlp", "widths": [8], **said}


def alone(run: Run, data: Dataset, folder: Path = Path()) -> Curve:
    *rows, outcome = (item for item in train(run, data, folder) if isinstance(item, (Row, Outcome)))
    assert isinstance(outcome, Outcome)
    return Curve(rows, outcome)


def stacked(runs: Sequence[Run], data: Dataset, folder: Path = Path(), **how: Any) -> list[Curve]:
    return curves(train_stack(runs, data, folder, **how), len(runs))


def curves(items: Any, count: int) -> list[Curve]:
    """Every run's rows, then its outcome, once."""
    said: list[list[Any]] = [[] for _ in range(count)]
    for item in items:
        if not isinstance(item, Pause):
            said[item[0]].append(item[1])
    assert all(isinstance(row, Row) for of_run in said for row in of_run[:-1])
    assert all(isinstance(of_run[-1], Outcome) for of_run in said)
    return [Curve(of_run[:-1], of_run[-1]) for of_run in said]


def assert_each_as_alone(runs: Sequence[Run], data: Dataset, folder: Path = Path(), rel: float = 1e-8) -> list[Curve]:
    found = stacked(runs, data, folder)
    for run, curve in zip(runs, found, strict=True):
        assert_alike(curve, alone(run, data, folder), data, rel)
    return found


def assert_alike(found: Curve, expected: Curve, data: Dataset, rel: float = 1e-8) -> None:
    """Accuracies may differ by two examples: a tie of outputs falls as rounding has it."""
    assert [row.step for row in found.rows] == [row.step for row in expected.rows]
    assert verdict(found) == verdict(expected)
    seen = 0
    for a, b in zip(found.rows, expected.rows, strict=True):
        place = (a.step, a.epoch, a.examples, a.lr, a.nonfinite)
        assert place == (b.step, b.epoch, b.examples, b.lr, b.nonfinite)
        assert losses(a) == pytest.approx(losses(b), rel=rel, abs=1e-12), f"step {a.step}"
        for name, count in (
            ("accuracy", len(data.test)),
            ("validation_accuracy", len(data.validation or ())),
            ("train_accuracy", a.examples - seen),
        ):
            ours, theirs = getattr(a, name), getattr(b, name)
            assert (ours is None) == (theirs is None), f"{name} at step {a.step}"
            assert ours is None or abs(ours - theirs) * count < 2.5, f"{name} at step {a.step}"
        seen = a.examples


def losses(row: Row) -> dict[str, float]:
    """By name, those that are numbers."""
    named = {"test": row.loss, "train": row.train_loss, "validation": row.validation_loss, **row.extras}
    return {name: value for name, value in named.items() if value is not None}


def verdict(curve: Curve) -> tuple[str, int, str]:
    return curve.outcome.status, curve.outcome.step, curve.outcome.reason


OWN = Path(__file__).parent / "own"
"""The folder of networks of a user's own."""


def networks(module: str) -> list[str]:
    """The names of the networks in a file of that folder."""
    return re.findall(r"^(?:class|def) ([A-Za-z]\w*)", (OWN / f"{module}.py").read_text(), re.M)
