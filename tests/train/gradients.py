"""Squared norms of the gradients of parts of a run's first batch, worked out by themselves."""

from pathlib import Path

import torch

from paceline.data.batches import Composition
from paceline.data.dataset import Dataset
from paceline.spec import Run
from paceline.train import build
from paceline.train.look import look


def first_norms(run: Run, data: Dataset, parts: list[slice]) -> list[float]:
    from paceline.data.memory import Memory

    batch = next(Composition(run, len(data.train)).batches())
    memory = Memory(data.train, torch.device("cpu"), torch.float64, False, look(run, data))
    x, y = memory.gather(batch.indices)
    model, loss = build.model(run, data, Path(), None).double(), build.loss(run, Path())
    norms = []
    for part in parts:
        gradients = torch.autograd.grad(loss(model(x[part]), y[part]), list(model.parameters()))
        norms.append(sum(float(each.square().sum()) for each in gradients))
    return norms
