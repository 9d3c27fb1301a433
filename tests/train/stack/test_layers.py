"""Every layer and function that a stack knows does for many runs what it does for one."""

import pytest
import torch
from torch import nn

from paceline.errors import StackError
from paceline.models.dropout import Dropout
from paceline.train import build
from paceline.train.loop import train
from paceline.train.rows import Pause
from paceline.train.stack.lanes import Lanes
from paceline.train.stack.layers import Kind, Pass, module, reordered
from paceline.train.stack.loop import train_stack
from paceline.train.stack.program import _Traced, program

from .together import OWN, assert_each_as_alone, networks, run_of

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", networks("traced"))
def test_a_network_of_known_layers_is_traced_and_each_run_is_as_alone(name, pictures):
    said = {"model": f"traced:{name}", "batch": 8, "steps": 6, "evaluate_every": 2}
    assert isinstance(program(build.model(run_of(**said), pictures, OWN)), _Traced)
    assert_each_as_alone([run_of(**said, lr=lr) for lr in (0.01, 0.05)], pictures, OWN)
    runs = [run_of(**said, seed=seed, optimizer=name) for seed, name in ((0, "gd"), (1, "adam"), (0, "momentum"))]
    assert_each_as_alone(runs, pictures, OWN)


@pytest.mark.parametrize("name", ["batch_norm", "batch_norm_of_vectors", "batch_norm_of_the_input"])
def test_every_run_has_running_averages_of_its_own(name, pictures):
    runs = [
        run_of(model=f"traced:{name}", seed=seed, lr=lr, batch=8, evaluate_every=4)
        for seed, lr in ((0, 0.1), (1, 0.1), (0, 0.5))
    ]
    together = next(item.snapshot() for item in train_stack(runs, pictures, OWN) if isinstance(item, Pause))
    for place, kept in enumerate(together["places"]):
        alone = next(item.snapshot() for item in train(runs[kept], pictures, OWN) if isinstance(item, Pause))
        for buffer, values in together["buffers"].items():
            if "num_batches" not in buffer:
                torch.testing.assert_close(values[place], alone["model"][buffer], rtol=1e-10, atol=0)
                assert not torch.equal(values[0], values[2]) or name == "batch_norm_of_the_input"


def test_a_permutation_and_its_gradient():
    order = torch.tensor([2, 0, 1])
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.equal(reordered(x, order, order.argsort()), x[order])
    assert torch.autograd.gradcheck(lambda x: reordered(x, order, order.argsort()), x)


def test_a_value_becomes_the_runs_own():
    at = Pass({}, {}, Lanes((0, 1, 0), CPU), training=True)
    x = torch.randn(2, 4)
    assert torch.equal(at.own(x, Kind.SHARED), torch.stack([x] * 3))
    assert torch.equal(at.own(x, Kind.LANES), x[[0, 1, 0]])
    assert at.own(x, Kind.OWN) is x


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect"), "padded by reflect"),
        (nn.BatchNorm1d(3, affine=False), "without weights"),
        (nn.BatchNorm2d(3, momentum=None), "running average"),
        (nn.BatchNorm2d(3, track_running_stats=False), "running average"),
        (nn.Flatten(0), r"flatten\(0, -1\)"),
        (nn.Flatten(1, 2), r"flatten\(1, 2\)"),
        (nn.LayerNorm(3), "the layer LayerNorm"),
        (nn.Dropout(0.5), "the layer Dropout"),
    ],
    ids=str,
)
def test_layers_that_a_stack_does_not_know(layer, words):
    with pytest.raises(StackError, match=words):
        module("layer", layer, [])


def test_an_activation_does_not_write_over_what_it_is_given():
    x = torch.randn(2, 3, 4)
    kept = x.clone()
    at = Pass({}, {}, Lanes((0, 0), CPU), training=True)
    for layer in (
        nn.ReLU(inplace=True),
        nn.LeakyReLU(0.3, inplace=True),
        nn.ELU(0.7, inplace=True),
        nn.SiLU(inplace=True),
    ):
        found, kind = module("layer", layer, [])(at, x, Kind.OWN)
        assert torch.equal(x, kept)
        assert torch.equal(found, layer(x.clone()))
        assert kind is Kind.OWN


def test_dropout_is_skipped_where_nothing_is_dropped():
    x = torch.randn(2, 3, 4)
    layer = module("layer", drop := Dropout(0.5), [drop])
    asked = []
    for training in (True, False):
        at = Pass({}, {}, Lanes((0, 0), CPU), training, lambda index, value: asked.append(index))
        assert layer(at, x, Kind.OWN)[0] is x
    assert asked == [0]
