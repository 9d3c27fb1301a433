"""Threads follow the work: one for small steps, all for large ones."""

import pytest
import torch
from torch import nn

from paceline.models.lab_cnn import LabCNN
from paceline.models.softmax import Softmax
from paceline.train.threads import multiply_adds, suited_threads

IMAGE = torch.rand(1, 1, 28, 28)


@pytest.mark.parametrize(
    ("model", "batch", "threads"),
    [
        (Softmax((1, 28, 28), 10, init="zeros"), 100, 1),
        (Softmax((1, 28, 28), 10, init="zeros"), 10_000, 4),
        (LabCNN((1, 28, 28), 10, dropout=0.5, init="torch"), 150, 8),
        (LabCNN((1, 28, 28), 10, dropout=0.5, init="torch"), 1, 1),
    ],
)
def test_one_thread_for_each_fifty_million_multiply_adds(model, batch, threads):
    assert suited_threads(model, IMAGE, batch, cores=8) == threads


def test_looking_leaves_the_model_as_it_was():
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(784), nn.Linear(784, 10)).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    suited_threads(model, IMAGE, 100, cores=2)
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_multiply_adds_of_known_layers():
    assert multiply_adds(nn.Linear(20, 30), torch.rand(1, 20)) == 630  # the parameters: biases are added too
    by_hand = 25 * 32 * 784 + 25 * 32 * 64 * 196 + 3136 * 1024 + 1024 * 10
    assert multiply_adds(LabCNN((1, 28, 28), 10, dropout=0.5, init="torch"), IMAGE) == by_hand
