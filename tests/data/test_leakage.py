import numpy as np
import pytest
import torch

from paceline.data import leakage as module
from paceline.data.leakage import leakage
from paceline.data.sources.fruits import fruits


def tensor(pictures):
    return torch.from_numpy(np.stack(pictures).transpose(0, 3, 1, 2).copy())


def shifted(picture, pixels):
    return np.pad(picture, ((pixels, 0), (0, pixels), (0, 0)), mode="edge")[: len(picture), pixels:]


def noisy(picture, amount, draw):
    return (picture + draw.normal(0, amount, picture.shape)).round().clip(0, 255).astype(np.uint8)


CHANGES = {  # what undoes the change, and the change
    "as it is": lambda p: p,
    "mirrored": lambda p: p[:, ::-1],
    "upside down": lambda p: p[::-1],
    "turned by a half": lambda p: np.rot90(p, 2),
    "turned a quarter right": lambda p: np.rot90(p, 1),
    "turned a quarter left": lambda p: np.rot90(p, 3),
    "transposed": lambda p: p.transpose(1, 0, 2),
    "transposed the other way": lambda p: np.rot90(p, 2).transpose(1, 0, 2),
}


@pytest.fixture(scope="module")
def unlike():
    from .conftest import scene

    return [scene(i) for i in range(120)]


@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_is_found_in_any_position(unlike, change):
    """The words say how the test image must be changed to be the training image."""
    test = [CHANGES[change](unlike[7]), *unlike[100:]]
    found = leakage([tensor(unlike[:4]), tensor(unlike[4:100])], tensor(test))
    (pair,) = found.closest
    assert (pair.train, pair.test, pair.change) == (7, 0, change)
    assert pair.similarity > 0.99
    assert (found.copies, found.share, found.sampled) == (1, 1 / 21, False)


def test_shifts_noise_and_brightness_hide_nothing(unlike):
    draw = np.random.default_rng(1)
    test = [noisy(shifted(p[:, ::-1], 3), 10, draw) // 2 + 40 for p in unlike[:50]]
    found = leakage([tensor(unlike[:100])], tensor(test))
    assert found.copies == 50
    assert all(pair.train == pair.test for pair in found.closest)
    assert "mirrored, shifted by " in found.closest[0].change


def test_unlike_images_and_flat_ones_are_no_copies(unlike):
    assert leakage([tensor(unlike[:60])], tensor(unlike[60:])).copies == 0
    flat = [np.full((48, 48, 3), i, np.uint8) for i in range(20)]
    assert leakage([tensor(unlike[:60])], tensor(flat)).copies == 0


def test_of_more_than_the_most_a_sample_is_compared(unlike, monkeypatch):
    monkeypatch.setattr(module, "MOST_TRAIN", 50)
    found = leakage([tensor(unlike[:100])], tensor([unlike[99], unlike[110]]))
    assert (found.train, found.test, found.sampled) == (50, 2, True)
    assert found.closest[0].train == 99


def test_blocks_give_what_one_block_gives(unlike, monkeypatch):
    train, test = tensor(unlike[:60]), tensor([p[:, ::-1] for p in unlike[40:80]])
    whole = leakage([train], test)
    monkeypatch.setattr(module, "BLOCK", 16)
    monkeypatch.setattr(module, "CHUNK", 24)
    small = leakage([train], test)
    assert small.copies == whole.copies == 20
    assert {pair.train for pair in small.closest} <= set(range(40, 60))


@pytest.fixture
def photos(pack):
    data = fruits(pack("fruits"), validation=0.0)
    return data.train.x, data.test.x


def augmented(image, draw):
    """As sets are padded: flip, quarter turn, shift, noise."""
    picture = np.rot90(image.numpy().transpose(1, 2, 0), draw.integers(4))
    picture = picture[:, ::-1] if draw.integers(2) else picture
    picture = shifted(picture, int(draw.integers(1, 6)))
    return torch.from_numpy(noisy(picture, 8, draw).transpose(2, 0, 1).copy())


def test_a_split_after_augmenting_is_caught_on_photos(photos):
    train, _ = photos
    draw = np.random.default_rng(0)
    leaked = torch.stack([augmented(train[i], draw) for i in range(0, len(train), 6)])
    assert leakage([train], leaked).share >= 0.9


def test_an_honest_split_of_photos_raises_few_alarms(photos):
    train, test = photos
    assert leakage([train], test).share <= 0.08  # most of these are one photo in two files
