"""Every built-in model: shapes, initialisation, and that its start depends on the seed alone."""

from pathlib import Path

import pytest
import torch

from paceline.data.dataset import Dataset, Split
from paceline.models.dropout import Dropout
from paceline.models.lab_cnn import LabCNN
from paceline.models.line import Line
from paceline.spec import Run
from paceline.spec.parts import TABLE
from paceline.train import build

DENSE_NETWORKS = ("alexnet", "vgg16_bn", "vgg19", "vgg19_bn")
NETWORKS = ("resnet18", "resnet50", "squeezenet1_0", "squeezenet1_1", "densenet121", "mobilenet_v2")
SHAPES = {
    "line": ((1,), 1),
    **dict.fromkeys(DENSE_NETWORKS, ((3, 15, 15), 10)),
    **dict.fromkeys(NETWORKS, ((3, 32, 32), 10)),
}
ARGUMENTS = {name: {"stem": "small"} for name in DENSE_NETWORKS}  # theirs for large images fill a gigabyte


def dataset(shape=(1, 28, 28), outputs=10) -> Dataset:
    x = torch.rand(6, *shape)
    y = torch.zeros(6, 1) if outputs == 1 else torch.arange(6) % outputs
    return Dataset("made", Split(x, y), None, Split(x, y), None if outputs == 1 else outputs, "")


def built(name: str, seed: int = 0, **args):
    data = dataset(*SHAPES.get(name, ((1, 28, 28), 10)))
    before = torch.get_rng_state()
    run = Run(
        data="mnist", model={"name": name, **ARGUMENTS.get(name, {}), **args}, optimizer="gd", lr=1, steps=1, seed=seed
    )
    model = build.model(run, data, Path())
    assert torch.equal(before, torch.get_rng_state()), "building a model must not disturb the global generator"
    return model, data


@pytest.mark.parametrize("name", TABLE["model"])
def test_gives_one_row_of_outputs_an_example_and_gradients_everywhere(name):
    model, data = built(name)
    for layer in model.modules():
        if isinstance(layer, Dropout):
            layer.reseed(1)
    outputs = model(data.train.x)
    assert outputs.shape == (6, data.outputs)
    (outputs * torch.randn_like(outputs)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("name", TABLE["model"])
def test_start_is_a_function_of_the_seed_alone(name):
    first, _ = built(name, seed=3)
    torch.rand(3)
    second, _ = built(name, seed=3)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.parametrize("name", ["mlp", "lab_cnn"])
def test_other_seeds_start_elsewhere(name):
    first, second = built(name, seed=1)[0], built(name, seed=2)[0]
    assert not all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_softmax_starts_at_zeros():
    assert all(not p.any() for p in built("softmax")[0].parameters())


def test_line_starts_where_the_lab_did_and_records_both_parameters():
    line = Line((1,), 1, W=0.3, b=-0.3)
    assert line.extras() == pytest.approx({"W": 0.3, "b": -0.3})
    with pytest.raises(ValueError, match="one value to one"):
        Line((2,), 1, W=0, b=0)


def test_lab_cnn_is_the_labs():
    model, _ = built("lab_cnn")
    assert sum(p.numel() for p in model.parameters()) == 3_274_634
    for layer in (model.conv1, model.conv2, model.dense, model.logits):
        assert torch.all(layer.bias == 0.1)
        assert layer.weight.abs().max() <= 0.2
    assert model.dense.weight.std().item() == pytest.approx(0.088, abs=0.002)  # normal 0.1 cut at two deviations
    with pytest.raises(ValueError, match="takes images"):
        LabCNN((784,), 10, dropout=0.5, init="torch")


def test_pooling_before_rectifying_changes_nothing():
    model, data = built("lab_cnn", dropout=0.0)
    x = data.train.x
    expected = torch.nn.functional.max_pool2d(model.conv1(x).relu(), 2)
    expected = torch.nn.functional.max_pool2d(model.conv2(expected).relu(), 2).flatten(1)
    expected = model.logits(model.dense(expected).relu())
    torch.testing.assert_close(model(x), expected)
    ours = torch.autograd.grad(model(x).square().sum(), list(model.parameters()))
    plain = torch.autograd.grad(expected.square().sum(), list(model.parameters()))
    for a, b in zip(ours, plain, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_lab_cnn_pools_round_up_like_tensorflow():
    assert LabCNN((1, 30, 30), 10, dropout=0, init="torch")(torch.rand(2, 1, 30, 30)).shape == (2, 10)


@pytest.mark.parametrize("init", ["kaiming", "torch", "truncated_normal"])
def test_init_is_an_argument(init):
    weights = built("mlp", widths=[64, 32], init=init)[0].layers[1].weight
    expected = {"kaiming": (2 / 784) ** 0.5, "torch": (1 / 784 / 3) ** 0.5, "truncated_normal": 0.088}[init]
    assert weights.std().item() == pytest.approx(expected, rel=0.05)


def test_dropout_mask_is_a_function_of_its_key():
    layer, x = Dropout(0.3), torch.ones(200, 500)
    with pytest.raises(RuntimeError, match="reseed"):
        layer(x)
    layer.reseed(7)
    first = layer(x)
    torch.rand(10)
    layer.reseed(7)
    assert torch.equal(first, layer(x))
    layer.reseed(8)
    assert not torch.equal(first, layer(x))
    assert first.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert (first == 0).double().mean().item() == pytest.approx(0.3, abs=0.01)
    assert torch.equal(layer.eval()(x), x)


def test_dropout_at_its_ends():
    x = torch.ones(3, 3)
    nothing, everything = Dropout(0.0), Dropout(1.0)
    assert torch.equal(nothing(x), x)
    assert not everything(x).any()
