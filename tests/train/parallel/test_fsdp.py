"""What FSDP gathers: layers that are called, whatever container holds them."""

from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import HashStore

from paceline.models.image_network import DenseNetwork
from paceline.train.parallel.fsdp import FSDP
from paceline.train.parallel.team import Team


class Dense(DenseNetwork):
    """As AlexNet and VGG are: the layers of `classifier` are called, and it never is."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.features, self.avgpool = nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(2)
        self.classifier = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Flatten(), nn.Linear(192, 8), nn.Dropout(), nn.Linear(8, 3)])
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x * self.scale


@pytest.fixture
def team() -> Iterator[Team]:
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    yield Team(0, 1)
    dist.destroy_process_group()


@pytest.mark.parametrize("network", [Dense, Listed])
def test_layers_are_gathered_where_they_are_called(network: type[nn.Module], team: Team) -> None:
    torch.manual_seed(1)
    model, x = network(), torch.randn(5, 3, 8, 8)
    expected = model.eval()(x)
    model.train()
    placed = FSDP(team).place(model, x[:1])
    assert placed.training
    torch.testing.assert_close(placed.eval()(x), expected)
    placed(x).sum().backward()
    assert all(p.grad is not None for p in placed.parameters())
