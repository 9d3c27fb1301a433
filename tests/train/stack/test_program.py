"""How a stack gets at a model's forward pass: by its own code, by vmap, or not at all."""

import random
import re

import numpy as np
import pytest
import torch
from torch import nn

from paceline.errors import StackError
from paceline.train import build
from paceline.train.stack.lanes import Lanes
from paceline.train.stack.layers import Pass
from paceline.train.stack.loop import train_stack
from paceline.train.stack.program import _Mapped, _Traced, program, still
from paceline.train.stack.weights import Weights

from .together import OWN, assert_each_as_alone, networks, run_of

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", networks("mapped"))
def test_a_network_that_is_not_known_goes_through_vmap_and_each_run_is_as_alone(name, pictures):
    said = {"model": f"mapped:{name}", "batch": 8, "steps": 6, "evaluate_every": 2}
    assert isinstance(program(build.model(run_of(**said), pictures, OWN)), _Mapped)
    assert_each_as_alone([run_of(**said, lr=lr) for lr in (0.01, 0.05)], pictures, OWN)
    runs = [run_of(**said, seed=seed, optimizer=name) for seed, name in ((0, "gd"), (1, "adam"), (0, "momentum"))]
    assert_each_as_alone(runs, pictures, OWN)


REASONS = {
    "TorchsDropout": "random operation",
    "DropoutByFunction": "random operation",
    "Noise": "random operation",
    "NoiseOfTheSameKind": "random operation",
    "DepthByChance": "random operation",
    "DepthByPythonsChance": "draws at random",
    "DepthByNumpysChance": "draws at random",
    "DependsOnValues": "data-dependent control flow",
    "CountsNonzeros": "RuntimeError",
    "DropsAndIsNotKnown": "the function sin, and it draws dropout masks",
    "KeepsAndIsNotKnown": "the function sin, and it keeps buffers",
    "AverageOfAll": "without a running average of a fixed momentum, and it keeps buffers",
    "DropoutOfItsOwn": "the layer Gentle, which draws",
    "DrawsByKey": "the layer DrawsByKey, which draws",
    "CountsItsSteps": "it changes itself in its forward pass",
    "UnusedLayer": "parameters that its loss does not depend on",
    "UnusedVector": "parameters that its loss does not depend on",
    "SeveralOutputs": "AttributeError",
    "DenseOverTwoDimensions": "a dense layer over more than one dimension",
}


@pytest.mark.parametrize("seeds", [(0, 0), (0, 1)], ids=["one lane", "two lanes"])
@pytest.mark.parametrize("name", networks("refused"))
def test_a_network_that_cannot_be_stacked_is_refused_before_anything_is_said(name, seeds, pictures):
    runs = [run_of(model=f"refused:{name}", seed=seed, batch=8, steps=2) for seed in seeds]
    with pytest.raises(StackError, match=re.escape(REASONS[name])):
        train_stack(runs, pictures, OWN)


def test_a_draw_by_any_of_the_generators_is_noticed():
    with still():
        torch.ones(3).sum()
        np.random.default_rng(0).random()
    for draw in (lambda: torch.rand(1), random.random, np.random.rand):
        with pytest.raises(StackError, match="draws at random"), still():
            draw()


def test_tracing_leaves_the_model_in_its_mode():
    for training in (True, False):
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).train(training)
        program(model)
        assert all(layer.training is training for layer in model.modules())


def test_the_widest_value_on_the_way_is_of_all_runs():
    models = [nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 2)) for _ in range(3)]
    weights = Weights(models)
    at = Pass(weights.parameters(), weights.buffers, Lanes((0, 0, 0), CPU), training=False)
    made = program(models[0])
    assert isinstance(made, _Traced)
    assert made.widest(at, torch.zeros(1, 1, 5, 5)) == 3 * 36
    assert made(at, torch.zeros(6, 1, 5, 5)).shape == (3, 6, 2)
