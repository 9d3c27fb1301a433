"""Synced batch norm: alone in its team it is torch's, in every shape and precision; with others see test_strategies.py."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from paceline.errors import StudyError
from paceline.spec import Run
from paceline.train.parallel.norm import Synced, synced, uncounted
from paceline.train.parallel.team import Team
from paceline.train.set_up import set_up
from tests.train.parallel.together import colours

TWO = Team(0, 2)
KINDS: dict[str, tuple[type[Any], tuple[int, ...]]] = {
    "1d": (nn.BatchNorm1d, (6, 3)),
    "1d, lines": (nn.BatchNorm1d, (6, 3, 5)),
    "2d": (nn.BatchNorm2d, (6, 3, 4, 5)),
    "3d": (nn.BatchNorm3d, (6, 3, 2, 4, 5)),
}
WAYS: dict[str, dict[str, Any]] = {
    "": {},
    "without weights": {"affine": False},
    "of this batch alone": {"track_running_stats": False},
    "all batches alike": {"momentum": None},
}


@pytest.fixture(autouse=True)
def team_of_one(tmp_path) -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def both(kind: type[Any], shape: tuple[int, ...], **said: Any) -> tuple[nn.Module, nn.Module]:
    ours, theirs = kind(shape[1], **said), kind(shape[1], **said)
    return synced(ours, TWO), theirs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_outputs_gradients_and_statistics_are_torchs(kind, way):
    of, shape = KINDS[kind]
    ours, theirs = both(of, shape, **WAYS[way])
    assert isinstance(ours, Synced)
    found = []
    for layer in (ours, theirs):
        draw = torch.Generator().manual_seed(1)
        for _ in range(2):
            x = torch.randn(shape, generator=draw).requires_grad_()
            y = layer(x)
            (y * torch.randn(shape, generator=draw)).sum().backward()
        gradients = [p.grad for p in layer.parameters()]
        found.append((y, x.grad, gradients, dict(layer.named_buffers()), layer.eval()(x)))
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_mixed_precision_has_statistics_in_full(dtype):
    ours, theirs = both(nn.BatchNorm2d, (8, 3, 4, 4))
    x = (100 + torch.randn(8, 3, 4, 4)).to(dtype)
    with torch.autocast("cpu", dtype):
        found, expected = ours(x), theirs(x)
    assert found.dtype == expected.dtype == dtype
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()))


def test_a_small_spread_around_a_large_mean_is_kept():
    ours, theirs = both(nn.BatchNorm2d, (16, 3, 8, 8))
    x = 30 + 0.01 * torch.randn(16, 3, 8, 8)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(ours.running_var, theirs.running_var)


def test_what_does_not_count_is_exchanged_where_the_others_exchange():
    """A frozen batch norm does nothing, on any device."""
    model = synced(nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3), nn.Dropout()), TWO)
    model[0].eval()
    with uncounted(model):
        assert [layer.training for layer in model] == [False, True, False]
    assert [layer.training for layer in model] == [False, True, True]


class _Own(nn.BatchNorm2d):
    """With an activation of its own, as timm has them."""


def test_a_batch_norm_of_another_kind_is_refused():
    with pytest.raises(StudyError, match="_Own is a batch norm that cannot be synced") as refused:
        synced(nn.Sequential(nn.Conv2d(3, 3, 1), _Own(3)), TWO)
    assert refused.value.key == "sync_batch_norm"


@pytest.mark.parametrize(("strategy", "wanted"), [("ddp", True), ("pipeline", False)])
def test_devices_that_see_the_same_examples_have_nothing_to_sync(strategy, wanted):
    said = {"data": "cifar10", "model": {"name": "mobilenet_v2", "stem": "small"}, "optimizer": "gd", "lr": 0.1}
    run = Run.model_validate(
        {**said, "batch": 8, "epochs": 1, "device": "cpu", "devices": 2, "strategy": strategy, "sync_batch_norm": True}
    )
    made = set_up(run, colours(), Path(), None, None, TWO)
    assert any(isinstance(layer, Synced) for layer in made.model.modules()) is wanted
