"""(d) One lab_cnn run, batch 150, Adam: what the framework costs beside loops written by hand."""

import dataclasses
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from bench import loops
from bench.table import Section
from paceline.data.dataset import Split
from paceline.data.locate import Files
from paceline.data.sources.idx import mnist
from paceline.models.lab_cnn import LabCNN
from paceline.spec import Run

BATCH, STEPS, LR = 150, 6, 1e-3
RUN = Run(data="mnist", model="lab_cnn", optimizer="adam", lr=LR, batch=BATCH, steps=STEPS, evaluate_every=STEPS)


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


def own_network() -> nn.Module:
    """Paceline's, with torch's own dropout."""
    model = LabCNN((1, 28, 28), 10, dropout=0.5, init="truncated_normal")
    model.dropout = nn.Dropout(0.5)  # type: ignore[assignment]
    return model


def work() -> loops.Work:
    full = mnist(Files.search())
    few = Split(full.test.x[:10], full.test.y[:10])  # the clock stops for evaluation: keep it short
    data = dataclasses.replace(full, validation=None, test=few)
    return loops.Work(RUN, data, data.train.x, Network, partial(torch.optim.Adam, lr=LR), own_network)


def section(rounds: int) -> Section:
    lines, notes = loops.measured(work(), rounds)
    return Section(f"(d) one lab_cnn run, batch {BATCH}, Adam", "s a step", lines, notes)
