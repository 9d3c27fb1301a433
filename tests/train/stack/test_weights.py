"""Parameters of all runs, and whose is which."""

import torch
from torch import nn

from paceline.train.stack.weights import FLAT, Weights


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inside, self.outside = nn.Linear(4, 3), nn.Linear(3, 2, bias=False)
        self.scale = nn.Parameter(torch.randn(()))
        self.fixed = nn.Parameter(torch.randn(2), requires_grad=False)
        self.norm = nn.BatchNorm1d(3)


def _models(count: int) -> list[Net]:
    torch.manual_seed(0)
    return [Net() for _ in range(count)]


def test_every_parameter_is_the_runs_own():
    models = _models(3)
    weights = Weights(models)
    assert {name: tuple(leaf.shape) for name, leaf in weights.leaves.items()} == {
        "inside.weight": (3, 3, 4),
        "outside.weight": (3, 2, 3),
        FLAT: (3, 3 + 1 + 3 + 3),
    }
    for name, value in weights.parameters().items():
        for mine, model in zip(value, models, strict=True):
            assert torch.equal(mine, model.get_parameter(name))
    for name, value in weights.buffers.items():
        assert torch.equal(value[2], models[2].get_buffer(name))


def test_a_gradient_reaches_the_leaves_of_the_run_alone():
    weights = Weights(_models(3))
    weights.require_gradients()
    named = weights.parameters()
    assert {name for name, value in named.items() if not value.requires_grad} == {"fixed"}
    whole = sum(value[1].sum() for value in named.values())
    for gradient in torch.autograd.grad(whole, list(weights.leaves.values())):
        assert torch.equal(gradient, torch.zeros_like(gradient).index_fill_(0, torch.tensor([1]), 1.0))


def test_those_that_are_left_keep_their_values():
    models = _models(4)
    weights = Weights(models)
    weights.require_gradients()
    weights.keep(torch.tensor([3, 1]))
    for name, value in (*weights.parameters().items(), *weights.buffers.items()):
        for mine, model in zip(value, (models[3], models[1]), strict=True):
            assert torch.equal(mine, model.state_dict()[name])
    assert all(leaf.requires_grad and leaf.is_leaf for leaf in weights.leaves.values())


def test_one_vector_and_no_vector():
    for bias in (True, False):
        models = [nn.Linear(2, 2, bias=bias) for _ in range(2)]
        named = Weights(models).parameters()
        assert list(named) == [name for name, _ in models[0].named_parameters()]
        assert all(torch.equal(named[name][1], value) for name, value in models[1].named_parameters())
