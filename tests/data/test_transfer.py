"""A copy may be under way on CUDA alone."""

from pathlib import Path

import pytest
import torch

import paceline
from paceline.data.transfer import moved
from paceline.train import device


class Told:
    """In the place of a tensor: notes how it was asked to move."""

    def dim(self) -> int:
        return 4

    def to(self, device: torch.device, **how):
        return {"device": device.type, **how}


@pytest.mark.parametrize(("kind", "under_way"), [("cuda", True), ("mps", False), ("cpu", False)])
def test_only_cuda_may_copy_later(kind, under_way):
    target = torch.device(kind)
    said = {"device": kind, "non_blocking": under_way}
    assert moved(Told(), target) == {**said, "memory_format": torch.preserve_format}
    assert device.put(Told(), target, True) == {**said, "memory_format": torch.channels_last}


def test_nothing_else_leaves_a_copy_under_way():
    package = Path(paceline.__file__).parent
    saying = {file.relative_to(package) for file in package.rglob("*.py") if "non_blocking" in file.read_text()}
    assert saying == {Path("data/transfer.py")}


def test_what_is_moved_stays_what_it_is():
    x = torch.rand(2, 3, 4, 5)
    assert moved(x, torch.device("cpu")) is x
    assert device.put(x, torch.device("cpu"), True).is_contiguous(memory_format=torch.channels_last)
