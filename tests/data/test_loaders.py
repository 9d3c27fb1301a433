"""Where held-out sets lie: on the device, or on the host if they do not fit. Nothing is computed on the device `meta`,
so that it can stand for one that is not here."""

import math

import pytest
import torch

from paceline.data.loaders import held_out
from paceline.data.room import needed, room
from paceline.data.show import IMAGENET, Look
from tests.pictures import coloured

AWAY, CPU = torch.device("meta"), torch.device("cpu")
DATA = coloured(8, 6, 4)
VALIDATION, TEST = (needed(split, torch.float32) for split in (DATA.validation, DATA.test))


@pytest.mark.parametrize(
    ("limit", "there"),
    [
        (math.inf, {"validation", "test"}),
        (VALIDATION + TEST, {"validation", "test"}),
        (VALIDATION + TEST - 1, {"validation"}),
        (VALIDATION - 1, {"test"}),
        (0, set()),
    ],
)
def test_sets_go_to_the_device_as_long_as_there_is_room(limit, there):
    found = held_out(DATA, AWAY, torch.float32, True, Look(None, *IMAGENET), limit)
    assert set(found) == {"validation", "test"}
    assert {name for name, split in found.items() if split._x.device == AWAY} == there
    for split in found.values():
        assert split.chunk(0, 2).device == split.targets.device == AWAY
        assert split.chunk(0, 2).shape == (2, 3, 16, 16)


@pytest.mark.parametrize("channels_last", [True, False])
def test_chunks_are_the_same_from_wherever_they_come(channels_last):
    near, far = (held_out(DATA, CPU, torch.float32, channels_last, Look(), limit)["test"] for limit in (math.inf, 0))
    assert torch.equal(near.chunk(1, 4), far.chunk(1, 4))
    assert near.chunk(1, 4).stride() == far.chunk(1, 4).stride()


def test_floats_need_the_bytes_of_the_type_they_become():
    assert needed(DATA.test, torch.float64) == 4 * 3 * 16 * 16 + 4 * 8  # images stay bytes
    assert room(CPU) == math.inf
