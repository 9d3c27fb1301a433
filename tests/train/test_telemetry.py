"""Where the time goes: phases, how often they are marked, what that costs."""

import math
import time

import pytest
import torch

from paceline.train import telemetry as module
from paceline.train.telemetry import COPY, FORWARD, LOADER, MOST_APART, OTHER, PHASES, SHARE, Telemetry

CPU = torch.device("cpu")


def stepped(found: Telemetry, clock: list[float], lengths: list[tuple[int, float]]) -> None:
    """A step whose phases take so long, by a clock that a test turns."""
    found.step()
    for phase, seconds in lengths:
        clock[0] += seconds
        found.mark(phase)


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    return now


def test_seconds_are_split_as_the_marks_say(clock):
    found = Telemetry(CPU)
    for _ in range(3):
        stepped(found, clock, [(LOADER, 1.0), (FORWARD, 2.0), (OTHER, 1.0)])
        clock[0] += 10.0  # between two steps: nobody's
    stepped(found, clock, [(LOADER, 1.0), (FORWARD, 1.0), (FORWARD, 1.0), (OTHER, 1.0)])
    found.settle(4, 40, 100.0)
    phases = found.phases(100.0)
    assert phases == {"loader": 25.0, "copy": 0.0, "forward": 50.0, "backward": 0.0, "exchange": 0.0, "optimizer": 0.0}
    assert list(phases) == list(PHASES)


def test_short_steps_are_marked_now_and_then_so_that_marks_stay_cheap(clock):
    found = Telemetry(CPU)
    found.cost = 2e-6
    found.settle(1000, 1000, 0.1)  # 100 microseconds a step
    assert found.share(1000, 0.1) <= SHARE
    marks = []
    for _ in range(7000):
        found.step()
        marks.append(found._marking)
    assert sum(marks) == pytest.approx(7000 / math.ceil(2e-6 / (SHARE * 1e-4)), rel=0.1)
    assert all(0.1 < sum(marks[beat::5]) / sum(marks) < 0.3 for beat in range(5))  # of a loader that works every fifth
    found.settle(1000, 1000, 1e-9)
    assert found._every == MOST_APART
    found.settle(10, 10, 10.0)
    assert found._every == 1


def test_speed_leaves_the_warm_up_out():
    found = Telemetry(CPU)
    assert found.speed(10, 1.0) is None
    found.settle(1, 100, 5.0)
    assert found.speed(100, 5.0) is None
    assert found.speed(300, 6.0) == 200.0


def test_a_run_that_goes_on_keeps_its_sums(clock):
    first = Telemetry(CPU)
    stepped(first, clock, [(COPY, 3.0), (OTHER, 1.0)])
    first.settle(1, 1, 4.0)
    again = Telemetry(CPU, kept=first.state())
    stepped(again, clock, [(COPY, 1.0), (OTHER, 3.0)])
    again.settle(2, 2, 8.0)
    assert again.phases(8.0)["copy"] == 4.0


def test_its_own_cost_is_measured():
    begun = time.perf_counter()
    found = Telemetry(CPU)
    assert 0 < found.cost < time.perf_counter() - begun
    assert sum(found.phases(1.0).values()) == 0.0


def test_on_metal_no_phase_is_told_but_the_speed_is(clock, monkeypatch):
    """The host's clock would time launches."""
    monkeypatch.setattr(module.devices, "synchronize", lambda device: None)
    found = Telemetry(torch.device("mps"))
    stepped(found, clock, [(LOADER, 1.0), (FORWARD, 2.0), (OTHER, 1.0)])
    found.settle(1, 10, 4.0)
    assert found.phases(4.0) == dict.fromkeys(PHASES, 0.0)
    assert found.speed(30, 8.0) == 5.0
