"""Telemetry is off where the benchmark says so, and only there."""

import itertools

import pytest
import torch

from bench import loops, telemetry
from paceline.data.dataset import Dataset, Split
from paceline.spec import Run
from paceline.train import loop
from paceline.train.telemetry import Telemetry

RUN = Run(data="mnist", model="softmax", optimizer="sgd", lr=0.1, batch=10, steps=20, evaluate_every=20)


def test_marks_are_made_with_telemetry_and_none_without(monkeypatch: pytest.MonkeyPatch) -> None:
    split = Split(torch.rand(50, 1, 4, 4), torch.arange(50) % 10)
    data = Dataset("made", split, None, split, 10, "")
    marks: list[int] = []
    plain = Telemetry.mark

    def counted(self: Telemetry, phase: int) -> None:
        marks.append(phase)
        plain(self, phase)

    monkeypatch.setattr(Telemetry, "mark", counted)
    assert telemetry.silent(RUN, data) > 0
    assert not marks
    assert loop.Telemetry is Telemetry
    assert loops.ours(RUN, data) > 0
    assert len(set(marks)) > 2


def test_silence_marks_nothing() -> None:
    found = telemetry.Silent(torch.device("cpu"))
    for phase in itertools.chain([0], range(5)):
        found.step()
        found.mark(phase)
    found.settle(6, 6, 1.0)
    assert set(found.phases(1.0).values()) == {0.0}
