"""One lab_cnn run, batch 150, Adam: what the framework costs beside loops written by hand."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from bench.ratio import alternate, ratio
from bench.table import Line, Section
from paceline.data.dataset import Dataset, Split
from paceline.data.locate import Files
from paceline.data.sources.idx import mnist
from paceline.models.lab_cnn import LabCNN
from paceline.spec import Run
from paceline.train.loop import train
from paceline.train.rows import Row

BATCH, STEPS, LR = 150, 6, 1e-3
TARGETS = {"own": 0.98, "tight": 0.98, "eager": 1.0, "DataLoader": 1.1}
ABOUT = {
    "own": "the tight loop below over Paceline's own lab_cnn: what the framework itself costs",
    "tight": "a tight hand-written loop: gather by index, channels_last, fused Adam, no sync",
    "eager": "a plain eager in-memory loop: gather by index, torch's defaults",
    "DataLoader": "a plain loop over DataLoader(TensorDataset, shuffle=True)",
}


class Network(nn.Module):
    """The lab CNN as a user would write it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 5, padding=2), nn.Conv2d(32, 64, 5, padding=2)
        self.dense, self.dropout, self.out = nn.Linear(3136, 1024), nn.Dropout(0.5), nn.Linear(1024, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        logits: torch.Tensor = self.out(self.dropout(F.relu(self.dense(x.flatten(1)))))
        return logits


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor) -> None:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def tight(data: Dataset, network: Callable[[], nn.Module] = Network) -> float:
    model = network().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.Adam(model.parameters(), LR, fused=True)
    begun = time.perf_counter()
    order = torch.randperm(len(data.train))
    for i in range(STEPS):
        chosen = order[i * BATCH : (i + 1) * BATCH]
        x = data.train.x[chosen].contiguous(memory_format=torch.channels_last)
        step(model, optimizer, x, data.train.y[chosen])
    return time.perf_counter() - begun


def own_network() -> nn.Module:
    """Paceline's, with torch's own dropout."""
    model = LabCNN((1, 28, 28), 10, dropout=0.5, init="truncated_normal")
    model.dropout = nn.Dropout(0.5)  # type: ignore[assignment]
    return model


def eager(data: Dataset) -> float:
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), LR)
    begun = time.perf_counter()
    order = torch.randperm(len(data.train))
    for i in range(STEPS):
        chosen = order[i * BATCH : (i + 1) * BATCH]
        step(model, optimizer, data.train.x[chosen], data.train.y[chosen])
    return time.perf_counter() - begun


def loaded(data: Dataset) -> float:
    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), LR)
    loader = DataLoader(TensorDataset(data.train.x, data.train.y), BATCH, shuffle=True)
    begun = time.perf_counter()
    for i, (x, y) in enumerate(loader):
        if i == STEPS:
            break
        step(model, optimizer, x, y)
    return time.perf_counter() - begun


def ours(data: Dataset) -> float:
    run = Run(data="mnist", model="lab_cnn", optimizer="adam", lr=LR, batch=BATCH, steps=STEPS, evaluate_every=STEPS)
    return [item.seconds for item in train(run, data, Path()) if isinstance(item, Row)][-1]


def section(rounds: int) -> Section:
    full = mnist(Files.search())
    few = Split(full.test.x[:10], full.test.y[:10])  # the clock stops for evaluation: keep it short
    data = dataclasses.replace(full, validation=None, test=few)
    seconds = alternate(
        {
            "ours": lambda: ours(data),
            "own": lambda: tight(data, own_network),
            "tight": lambda: tight(data),
            "eager": lambda: eager(data),
            "DataLoader": lambda: loaded(data),
        },
        rounds,
    )
    mine = [one / STEPS for one in seconds["ours"]]
    lines = [
        Line(ABOUT[name], ratio(seconds["ours"], seconds[name]), target, mine, [one / STEPS for one in seconds[name]])
        for name, target in TARGETS.items()
    ]
    return Section(f"(d) one lab_cnn run, batch {BATCH}, Adam", "s a step", lines)
