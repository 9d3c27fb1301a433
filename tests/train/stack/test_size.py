"""How large a run is."""

from pathlib import Path

import psutil

from paceline.train.stack.size import memory, size

from .together import mlp, run_of


def test_parameters_values_and_batch_of_a_run(small, pictures):
    parameters, left, batch = size(run_of(model=mlp(widths=[8, 5])), small, Path())
    assert (parameters, batch) == (6 * 8 + 8 + 8 * 5 + 5 + 5 * 3 + 3, 20)
    assert left >= 6 + 3 * 8 + 3 * 5 + 3
    parameters, left, batch = size(run_of(model="lab_cnn", batch="7 + epoch"), pictures, Path())
    assert (parameters, batch) == (32 * (2 * 25 + 1) + 64 * (32 * 25 + 1) + 1024 * (64 * 4 + 1) + 3 * 1025, 7)
    assert left >= 32 * 25 + 64 * 9 + 2 * 1024 + 3


def test_a_run_that_sees_less_than_a_batch(small):
    assert size(run_of(batch=150, subset=40), small, Path())[2] == 40


def test_an_own_network_has_a_size_too(pictures, own):
    folder = own("def net(classes): return nn.Sequential(nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(50, classes))\n")
    assert size(run_of(model="mine:net"), pictures, folder)[0] == 2 * 2 + 50 * 3 + 3


def test_the_memory_of_the_machine():
    assert memory(run_of(device="cpu")) == psutil.virtual_memory().total
