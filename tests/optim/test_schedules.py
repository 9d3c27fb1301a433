"""Schedules at their ends, against torch's own, and over their whole range."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paceline.optim.schedules import (
    Schedule,
    constant,
    cosine,
    exponential,
    linear,
    one_cycle,
    step_decay,
    with_warmup,
)

SCHEDULES: dict[str, Schedule] = {
    "constant": constant,
    "exponential": partial(exponential, rate=0.9, every=10),
    "staircase": partial(exponential, rate=0.5, every=7, staircase=True),
    "step": partial(step_decay, at=[30, 60]),
    "cosine": partial(cosine, final=0.1),
    "linear": linear,
    "one_cycle": one_cycle,
}
FROM_ONE = sorted(set(SCHEDULES) - {"one_cycle"})


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (constant, {0: 1, 99: 1}),
        (partial(exponential, rate=0.25, every=10), {0: 1, 5: 0.5, 10: 0.25, 20: 0.0625}),
        (partial(exponential, rate=0.25, every=10, staircase=True), {0: 1, 9: 1, 10: 0.25, 19: 0.25, 20: 0.0625}),
        (partial(step_decay, at=[30, 60]), {0: 1, 29: 1, 30: 0.1, 59: 0.1, 60: 0.01, 99: 0.01}),
        (cosine, {0: 1, 50: 0.5, 100: 0, 200: 0}),
        (partial(cosine, final=0.2), {0: 1, 50: 0.6, 100: 0.2}),
        (linear, {0: 1, 25: 0.75, 99: 0.01, 100: 0}),
        (partial(linear, final=0.5), {0: 1, 50: 0.75, 100: 0.5}),
        (one_cycle, {0: 0.04, 29: 1, 64: 0.500002, 99: 4e-6, 150: 4e-6}),
        (with_warmup(constant, 4), {0: 0.25, 1: 0.5, 2: 0.75, 3: 1, 4: 1}),
        (with_warmup(linear, 20), {0: 0.05, 19: 1, 20: 1, 60: 0.5, 100: 0}),
        (with_warmup(linear, 0), {0: 1, 50: 0.5}),
    ],
)
def test_values(schedule: Schedule, values: dict[int, float]) -> None:
    assert {step: schedule(step, 100) for step in values} == pytest.approx(values, abs=1e-12)


@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("total", [10, 97])
def test_torch_has_the_same_curves(total: int) -> None:
    schedulers = torch.optim.lr_scheduler
    for ours, theirs in (
        (cosine, lambda o: schedulers.CosineAnnealingLR(o, T_max=total)),
        (linear, lambda o: schedulers.LinearLR(o, 1.0, 0.0, total_iters=total)),
        (one_cycle, lambda o: schedulers.OneCycleLR(o, 1.0, total_steps=total, cycle_momentum=False)),
        (partial(step_decay, at=[3, 8]), lambda o: schedulers.MultiStepLR(o, [3, 8])),
    ):
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
        scheduler = theirs(optimizer)
        for step in range(total):
            assert ours(step, total) == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-9)
            if step < total - 1:
                scheduler.step()


@given(st.sampled_from(sorted(SCHEDULES)), st.integers(1, 10_000), st.integers(0, 20_000), st.integers(0, 300))
def test_factors_are_shares(name: str, total: int, step: int, warmup: int) -> None:
    factor = with_warmup(SCHEDULES[name], warmup)(step, total)
    assert math.isfinite(factor)
    assert 0 <= factor <= 1


@given(
    total=st.integers(1, 1000),
    step=st.integers(0, 1000),
    peak_at=st.floats(0, 1),
    start=st.floats(0, 1),
    final=st.floats(0, 1),
)
def test_one_cycle_stays_between_its_ends_and_the_peak(
    total: int, step: int, peak_at: float, start: float, final: float
) -> None:
    factor = one_cycle(step, total, peak_at=peak_at, start=start, final=final)
    assert min(start, final) - 1e-12 <= factor <= 1 + 1e-12


@given(st.sampled_from(FROM_ONE), st.integers(1, 300), st.integers(1, 10_000))
def test_warmup_joins_its_schedule_without_a_jump(name: str, warmup: int, rest: int) -> None:
    warmed = with_warmup(SCHEDULES[name], warmup)
    assert warmed(warmup - 1, warmup + rest) == warmed(warmup, warmup + rest) == 1


@given(st.sampled_from(FROM_ONE), st.integers(2, 500))
def test_factors_only_fall(name: str, total: int) -> None:
    factors = [SCHEDULES[name](step, total) for step in range(total)]
    assert factors == sorted(factors, reverse=True)
