"""What a step asks of a device, counted without computing it."""

from pathlib import Path

import pytest
import torch
from torch import nn

from paceline.models.lab_cnn import LabCNN
from paceline.models.softmax import Softmax
from paceline.spec import Run
from paceline.train import build
from paceline.train.work import work


def test_a_dense_layer_multiplies_forward_and_for_its_weights():
    found = work(Softmax((784,), 10, init="zeros"), torch.rand(1, 784), 100)
    assert found.flops == 2 * (2 * 784 * 10 * 100)
    assert found.calls > 4
    assert found.bytes > 2 * 4 * 784 * 100


def test_work_grows_with_the_batch():
    model = LabCNN((1, 28, 28), 10, dropout=0.5, init="torch")
    one, two = (work(model, torch.rand(1, 1, 28, 28), batch) for batch in (10, 20))
    assert two.flops == 2 * one.flops
    assert one.bytes < two.bytes < 2 * one.bytes
    assert one.calls == two.calls
    forward = 10 * (28 * 28 * 32 * 25 + 14 * 14 * 64 * 32 * 25 + 3136 * 1024 + 1024 * 10)
    first = 10 * 28 * 28 * 32 * 25  # the picture itself needs no gradient
    assert one.flops == pytest.approx(2 * (3 * forward - first), rel=1e-6)


def test_the_model_is_left_alone():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert work(model, torch.rand(1, 3, 8, 8), 4).flops > 0
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_mixed_precision_moves_activations_at_the_width_it_computes_in():
    """Half of it where layers are small beside their batch; where they are large, casting them takes most of the gain."""
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    full, half = (work(model, torch.rand(1, 64), 10_000, cast=cast) for cast in (None, torch.bfloat16))
    assert half.flops == full.flops
    assert half.bytes == pytest.approx(full.bytes / 2, rel=0.01)
    assert half.calls == full.calls + 2 * 2  # each matrix there, its gradient back
    alone = [work(model, torch.rand(1, 64), 1, cast=cast).bytes for cast in (None, torch.bfloat16)]
    assert 0.8 * alone[0] < alone[1] < alone[0]


def test_a_frozen_matrix_is_cast_one_way():
    model = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64))
    model[0].requires_grad_(False)
    full, half = (work(model, torch.rand(1, 64), 10, cast=cast) for cast in (None, torch.float16))
    assert half.calls == full.calls + 3


def test_a_model_that_looks_at_its_numbers_cannot_be_counted():
    class Looks(nn.Module):
        def forward(self, x):
            return x if x.sum().item() > 0 else -x

    assert work(Looks(), torch.rand(1, 3), 2) is None


@pytest.mark.parametrize(
    ("name", "billions"),  # multiply-adds of a forward pass at 224 x 224, as torchvision's documentation has them
    [
        ("alexnet", 0.71),
        ("vgg16_bn", 15.47),
        ("vgg19", 19.63),
        ("resnet18", 1.81),
        ("resnet50", 4.09),
        ("squeezenet1_0", 0.82),
        ("squeezenet1_1", 0.35),
        ("densenet121", 2.83),
        ("mobilenet_v2", 0.30),
    ],
)
def test_networks_ask_for_what_was_published_of_them(name, billions):
    run = Run(data="cifar10", model=name, optimizer="gd", lr=0.1, steps=1)
    with torch.device("meta"):
        model = build.resolve(run.model, Path())((3, 224, 224), 1000)
    found = work(model, torch.empty(1, 3, 224, 224), 2)
    assert found.flops / 2 / 2 / 3 / 1e9 == pytest.approx(billions, rel=0.1)
