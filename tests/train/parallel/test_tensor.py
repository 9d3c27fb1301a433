"""Tensor parallel refuses models that divided layers change, on two real processes."""

import json
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

from paceline.errors import StudyError
from paceline.train.parallel.team import Team
from paceline.train.parallel.tensor import TensorParallel


class Pair(nn.Module):
    def __init__(self, between: nn.Module) -> None:
        super().__init__()
        self.first, self.between, self.second = nn.Linear(6, 8), between, nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.between(self.first(x)))
        return y


class Apart(Pair):
    """Neighbours by name, not by what is given to them."""

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(x.repeat(1, 2)[:, :8]) + self.first(x)[:, :3]
        return y


class Kept(Pair):
    """Nothing between them, and still a look across the features of the first."""

    def forward(self, x: Tensor) -> Tensor:
        wide = self.first(x)
        y: Tensor = self.second(wide.relu()) + wide.mean(1, keepdim=True)
        return y


class Silent(Pair):
    """The second starts at 0, so that the model says the same whatever it is given."""

    def __init__(self, between: nn.Module) -> None:
        super().__init__(between)
        nn.init.zeros_(self.second.weight)


def networks() -> dict[str, nn.Module]:
    torch.manual_seed(1)
    return {
        "pair": Pair(nn.ReLU()),
        "softmax": Pair(nn.Softmax(-1)),
        "norm": Pair(nn.LayerNorm(8, elementwise_affine=False)),
        "apart": Apart(nn.ReLU()),
        "kept": Kept(nn.ReLU()),
        "silent": Silent(nn.Softmax(-1)),
    }


def _place(rank: int, room: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{room}/store", rank=rank, world_size=2)
    said = {}
    for name, network in networks().items():
        try:
            TensorParallel(Team(rank, 2)).place(network, torch.randn(1, 6, generator=torch.Generator().manual_seed(2)))
            said[name] = ""
        except StudyError as error:
            said[name] = str(error)
    Path(room, f"{rank}.json").write_text(json.dumps(said))
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    room = tmp_path_factory.mktemp("team")
    mp.spawn(_place, args=(str(room),), nprocs=2)  # type: ignore[no-untyped-call, attr-defined]
    return [json.loads((room / f"{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize("name", networks())
def test_what_division_changes_is_refused(name: str, said: list[dict[str, str]]) -> None:
    for of_rank in said:
        assert bool(of_rank[name]) is (name != "pair"), of_rank[name]
        assert name == "pair" or "Use another strategy" in of_rank[name]
