"""The peers of the memory loader make the pictures that it makes: flipped and cropped alike, normalised alike."""

import random
from itertools import islice, product

import pytest
import torch
import torch.nn.functional as F

from bench import loader
from bench.peers import pictures
from paceline.data.batches import Composition
from paceline.data.dataset import Dataset, Split
from paceline.train.look import levels

SIDE, DRAWS, CROP = 6, 1500, loader.CROP
VARIANTS = 2 * (2 * CROP + 1) ** 2


@pytest.fixture(scope="module")
def data() -> Dataset:
    """One picture over and over, so that a pass makes of it all that can be made; a label tells each from the others."""
    image = torch.randint(1, 256, (3, SIDE, SIDE), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    split = Split(image.expand(DRAWS, 3, SIDE, SIDE).contiguous(), torch.arange(DRAWS))
    return Dataset("made", split, None, split, DRAWS, "")


def possible(data: Dataset) -> set[bytes]:
    padded = F.pad(data.train.x[0], [CROP] * 4)
    places = range(2 * CROP + 1)
    cuts = [padded[:, top : top + SIDE, left : left + SIDE] for top, left in product(places, places)]
    return {turned.contiguous().numpy().tobytes() for cut in cuts for turned in (cut, cut.flip(2))}


def made(data: Dataset, batches: list[pictures.Sample]) -> set[bytes]:
    """The pictures as bytes again: only the same levels give whole numbers back."""
    assert sorted(torch.cat([y for _, y in batches]).tolist()) == list(range(DRAWS))
    mean, deviation = (torch.tensor(level).view(3, 1, 1) for level in levels(data))
    x = (torch.cat([x.contiguous() for x, _ in batches]) * deviation + mean) * 255
    torch.testing.assert_close(x, x.round(), rtol=0, atol=1e-3)
    return {image.numpy().tobytes() for image in x.round().to(torch.uint8)}


def memory(data: Dataset) -> list[pictures.Sample]:
    composition = Composition(loader.RUN, DRAWS)
    batches = islice(loader.memory(data).batches(composition, 0), composition.total_steps())
    return [(x.clone(), y.clone()) for _, x, y in batches]


def peer(kind: type[pictures.Usual] | type[pictures.Fast], data: Dataset, workers: int) -> list[pictures.Sample]:
    samples = kind(data.train.x, data.train.y, levels(data), CROP)
    return list(pictures.loader(samples, loader.BATCH, workers))


def test_the_memory_loader_makes_all_that_flip_and_crop_can_make(data: Dataset) -> None:
    assert made(data, memory(data)) == possible(data)


@pytest.mark.parametrize("kind", [pictures.Usual, pictures.Fast])
def test_a_peer_makes_the_same(kind: type[pictures.Usual] | type[pictures.Fast], data: Dataset) -> None:
    random.seed(0)
    assert made(data, peer(kind, data, 0)) == possible(data)


@pytest.mark.parametrize("kind", [pictures.Usual, pictures.Fast])
def test_workers_make_the_same(kind: type[pictures.Usual] | type[pictures.Fast], data: Dataset) -> None:
    found = made(data, peer(kind, data, 2))
    assert found <= possible(data)
    assert len(found) > VARIANTS / 2


def test_passes_are_timed(data: Dataset) -> None:
    assert loader.ours(loader.memory(data)) > 0
    assert loader.peer(pictures.loader(pictures.Usual(data.train.x, data.train.y, levels(data), CROP), 128, 0)) > 0
