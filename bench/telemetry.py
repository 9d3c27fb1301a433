"""(g) What telemetry costs: the same steps with its marks and without."""

import statistics
import time
from functools import partial
from unittest.mock import patch

import torch

from bench import lab_cnn, loops
from bench.ratio import alternate, ratio
from bench.table import Line, Section
from paceline.data.dataset import Dataset
from paceline.spec import Run
from paceline.train import loop
from paceline.train.telemetry import LOADER, OTHER, Telemetry

STEPS = 3000  # marks thin out after the first quarter of a second
SOFTMAX = Run(data="mnist", model="softmax", optimizer="sgd", lr=0.1, batch=100, steps=STEPS, evaluate_every=STEPS)
PHASES = range(LOADER, OTHER + 1)
MARKED = 20_000  # steps
TARGET = 0.99  # a step takes at most 1 % longer


class Silent(Telemetry):
    """Marks nothing: what training costs without."""

    def step(self) -> None:
        pass

    def mark(self, phase: int) -> None:
        pass


def silent(run: Run, data: Dataset) -> float:
    with patch.object(loop, "Telemetry", Silent):
        return loops.ours(run, data)


def marks_alone(step_seconds: float) -> float:
    """What the marks of a step of such a length take of it, timed without the step."""
    telemetry = Telemetry(torch.device("cpu"))
    telemetry.settle(1000, 0, 1000 * step_seconds)
    begun = time.perf_counter()
    for _ in range(MARKED):
        telemetry.step()
        for phase in PHASES:
            telemetry.mark(phase)
    return (time.perf_counter() - begun) / MARKED / step_seconds


def section(rounds: int) -> Section:
    data = lab_cnn.work().data
    lines, notes = [], []
    for name, run in {"softmax on MNIST, batch 100": SOFTMAX, "lab_cnn, batch 150": lab_cnn.RUN}.items():
        seconds = alternate({"on": partial(loops.ours, run, data), "off": partial(silent, run, data)}, rounds)
        each = {way: [one / (run.steps or 1) for one in taken] for way, taken in seconds.items()}
        found = ratio(seconds["on"], seconds["off"])
        lines.append(Line(f"{name}: the same without telemetry", found, TARGET, each["on"], each["off"]))
        more = statistics.median(on / off - 1 for on, off in zip(seconds["on"], seconds["off"], strict=True))
        notes.append(f"{name}: a step takes {more:+.2%} with telemetry.")
        share = marks_alone(statistics.median(each["off"]))
        notes.append(f"{name}: the marks of a step timed by themselves take {share:.2%} of it.")
    notes.append("A target of 0.99 is: telemetry adds no more than 1 % to a step.")
    return Section("(g) telemetry", "s a step", lines, notes)
