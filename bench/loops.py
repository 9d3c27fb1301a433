"""Loops written by hand over images in memory, and Paceline's own: seconds of the same few steps of one network."""

import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, TensorDataset

from bench.ratio import alternate, ratio
from bench.table import Line
from paceline.data.dataset import Dataset
from paceline.spec import Run
from paceline.train.loop import train
from paceline.train.rows import Row

TARGETS = {"own": 0.98, "tight": 0.98, "eager": 1.0, "DataLoader": 1.1, "Lightning": 1.0}
ABOUT = {
    "own": "the tight loop below over Paceline's own network: what the framework itself costs",
    "tight": "a tight hand-written loop: gather by index, channels_last, fused update, no sync",
    "eager": "a plain eager in-memory loop: gather by index, torch's defaults",
    "DataLoader": "a plain loop over DataLoader(TensorDataset, shuffle=True)",
    "Lightning": "Lightning, barebones: the batches and the network of the plain eager loop, start-up not counted",
}


@dataclass(frozen=True, eq=False)
class Work:
    """One run: as Paceline is given it, and as the loops are."""

    run: Run
    data: Dataset
    x: Tensor  # training images as the network is shown them, float32
    network: Callable[[], nn.Module]  # as a user would write it
    optimizer: Callable[..., Optimizer]
    own: Callable[[], nn.Module] | None = None  # Paceline's network, where it is not the same

    @property
    def y(self) -> Tensor:
        return self.data.train.y

    @property
    def steps(self) -> int:
        assert self.run.steps is not None
        return self.run.steps

    @property
    def batch(self) -> int:
        assert isinstance(self.run.batch, int)
        return self.run.batch


def measured(work: Work, rounds: int) -> tuple[list[Line], list[str]]:
    """A line for each loop, and what is said of those that are missing."""
    contestants: dict[str, Callable[[], float]] = {
        "ours": lambda: ours(work.run, work.data),
        "tight": lambda: tight(work, work.network()),
        "eager": lambda: eager(work, work.network()),
        "DataLoader": lambda: loaded(work, work.network()),
    }
    if own := work.own:
        contestants["own"] = lambda: tight(work, own())
    notes: list[str] = []
    try:
        steps = importlib.import_module("bench.peers.lightning_").steps
    except ImportError as error:
        notes.append(f"Not measured, because it is not installed: {ABOUT['Lightning']} ({error.name}).")
    else:
        contestants["Lightning"] = lambda: lightning(work, work.network(), steps)
    seconds = alternate(contestants, rounds)
    each = {name: [one / work.steps for one in taken] for name, taken in seconds.items()}
    lines = [
        Line(ABOUT[name], ratio(seconds["ours"], seconds[name]), target, each["ours"], each[name])
        for name, target in TARGETS.items()
        if name in seconds
    ]
    return lines, notes


def ours(run: Run, data: Dataset) -> float:
    return [item.seconds for item in train(run, data, Path()) if isinstance(item, Row)][-1]


def tight(work: Work, model: nn.Module) -> float:
    model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = work.optimizer(model.parameters(), fused=True)
    begun = time.perf_counter()
    for x, y in islice(gathered(work), work.steps):
        step(model, optimizer, x.contiguous(memory_format=torch.channels_last), y)
    return time.perf_counter() - begun


def eager(work: Work, model: nn.Module) -> float:
    optimizer = work.optimizer(model.parameters())
    begun = time.perf_counter()
    for x, y in islice(gathered(work), work.steps):
        step(model, optimizer, x, y)
    return time.perf_counter() - begun


def loaded(work: Work, model: nn.Module) -> float:
    optimizer = work.optimizer(model.parameters())
    loader = DataLoader(TensorDataset(work.x, work.y), work.batch, shuffle=True)
    begun = time.perf_counter()
    taken = 0
    while taken < work.steps:
        for x, y in islice(loader, work.steps - taken):
            step(model, optimizer, x, y)
            taken += 1
    return time.perf_counter() - begun


def lightning(work: Work, model: nn.Module, steps: Callable[..., float]) -> float:
    return steps(model, work.optimizer, partial(gathered, work), work.steps)


def step(model: nn.Module, optimizer: Optimizer, x: Tensor, y: Tensor) -> None:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def gathered(work: Work) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches without end: every image once, then all anew."""
    while True:
        for chosen in torch.split(torch.randperm(len(work.x)), work.batch):
            yield work.x[chosen], work.y[chosen]
