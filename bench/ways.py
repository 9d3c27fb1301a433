"""(c) Small and large networks: does the plan pick the fastest of stack, processes and whole machine?"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from bench import ours
from bench.peers.optimizers import build
from bench.ratio import alternate, ratio
from bench.table import Line, Section

BATCH = 100
OPTIMIZERS = ("gd", "momentum", "adam", "rmsprop")
DATA = {"name": "synthetic", "examples": 10_000, "validation": 0, "test": 1000, "shape": [1, 28, 28]}
NARROW, WIDE = {"name": "mlp", "widths": [32]}, {"name": "mlp", "widths": [512]}
MODELS: dict[str, tuple[Any, int, int]] = {  # the model, learning rates, steps
    "64 MLPs of 32": (NARROW, 16, 200),
    "64 MLPs of 512": (WIDE, 16, 30),
    "8 lab CNNs": ("lab_cnn", 2, 5),
}
MIXED = "all of these in one study"
JOBS = torch.get_num_threads()
WAYS = {
    "whole machine": {"jobs": 1, "stack": False},
    f"{JOBS} processes": {"jobs": JOBS, "stack": False},
    "stack": {"jobs": 1, "stack": True},
}
NEAR = 1 / 1.1  # within 10 % of the best


def study(name: str, models: list[tuple[Any, int, int]]) -> dict[str, Any]:
    cases = {
        f"case{place}": {
            "model": model,
            "steps": steps,
            "evaluate_every": steps,
            "tune": {"lr": [1e-4 * (1 + rate) for rate in range(rates)]},
        }
        for place, (model, rates, steps) in enumerate(models)
    }
    return {
        "name": name,
        "base": {"data": DATA, "batch": BATCH},
        "cases": cases,
        "compare": {"optimizer": list(OPTIMIZERS)},
        "select": "test",
        "repeat": 1,
    }


def tight() -> float:
    """Seconds a step of one narrow network, the mean over the optimizers."""
    x, y = torch.rand(10_000, 784), torch.randint(0, 10, (10_000,))
    steps, total = 400, 0.0
    for name in OPTIMIZERS:
        model = nn.Sequential(nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))
        optimizer = build(name, list(model.parameters()), 1e-4)
        chosen = torch.randint(0, 10_000, (steps, BATCH))
        begun = time.perf_counter()
        for indices in chosen:
            loss = F.cross_entropy(model(x[indices]), y[indices])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        total += time.perf_counter() - begun
    return total / steps / len(OPTIMIZERS)


def section(rounds: int) -> Section:
    studies = {name: study("ways", [made]) for name, made in MODELS.items()}
    studies[MIXED] = study("ways", list(MODELS.values()))
    lines, notes = [], []
    for name, one in studies.items():
        choice = ours.calibrated(one).choice
        ways = {way: _timed(one, how) for way, how in WAYS.items()}
        ways["as planned"] = _timed(one, {})
        seconds = alternate({**ways, "tight": tight} if name.startswith("64 MLPs of 32") else ways, rounds)
        peer = seconds.pop("tight", None)
        planned = seconds.pop("as planned")
        best = min(seconds, key=lambda way: statistics.median(seconds[way]))
        stacks = "stacked" if any(choice.stacks.values()) else "in a row"
        stacks = "some stacked" if stacks == "stacked" and not all(choice.stacks.values()) else stacks
        plan = f"{stacks}, {choice.jobs} process{'es' if choice.jobs > 1 else ''}"
        lines.append(
            Line(
                f"{name}: the fastest way by hand ({best}); Paceline's plan: {plan}",
                ratio(planned, seconds[best]),
                NEAR,
                planned,
                seconds[best],
            )
        )
        medians = ", ".join(f"{way} {statistics.median(taken):.1f} s" for way, taken in seconds.items())
        notes.append(f"{name}: {medians}.")
        if peer:
            _, rates, steps = MODELS[name]
            runs = rates * len(OPTIMIZERS)
            each = [taken / runs / steps for taken in seconds["stack"]]
            lines.append(
                Line(f"{name}, stacked: a tight hand-written loop, seconds a step", ratio(each, peer), 2.0, each, peer)
            )
    notes.append("A target of 0.909 is: no more than 10 % slower than the best way. Starting of processes counts.")
    return Section("(c) stack, processes or the whole machine", "s", lines, notes)


def _timed(one: dict[str, Any], how: dict[str, Any]) -> Callable[[], float]:
    return lambda: ours.seconds(one, **how)
