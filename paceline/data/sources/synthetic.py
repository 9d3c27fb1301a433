"""Gaussian clusters, one a class: a set of any size for tests and timings."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from paceline.data.dataset import Dataset, Split, tensor_checksum
from paceline.data.locate import Files
from paceline.errors import DataError

CENTRES, TRAIN, VALIDATION, TEST = range(4)


def synthetic(
    files: Files,
    *,
    examples: int = 2000,
    test: int = 500,
    validation: int = 500,
    shape: Sequence[int] = (20,),
    classes: int = 10,
    noise: float = 1.0,
    seed: int = 0,
) -> Dataset:
    """Class centres from N(0, 1), examples around them from N(centre, noise^2), classes in turn.

    The seed is the set's own. Each split has its own stream, so resizing one leaves the others as they are.
    """
    shape = tuple(shape)
    for name, value, least in (
        ("examples", examples, 1),
        ("test", test, 1),
        ("validation", validation, 0),
        ("shape", min(shape, default=0), 1),
        ("classes", classes, 2),
        ("noise", noise, 0),
        ("seed", seed, 0),
    ):
        if not value >= least:
            raise DataError(f"synthetic: {name} is {value}; give {least} or more.")
    centres = _normal(seed, CENTRES, classes, shape)

    def draw(n: int, stream: int) -> Split:
        y = np.arange(n, dtype=np.int64) % classes
        x = centres[y] + np.float32(noise) * _normal(seed, stream, n, shape)
        return Split(torch.from_numpy(x), torch.from_numpy(y))

    train, held, tested = draw(examples, TRAIN), draw(validation, VALIDATION), draw(test, TEST)
    kept = held if validation else None
    return Dataset("synthetic", train, kept, tested, classes, tensor_checksum(train, kept, tested))


def _normal(seed: int, stream: int, n: int, shape: tuple[int, ...]) -> np.ndarray:
    key = np.array([seed, stream], dtype=np.uint64)
    flat = np.random.Generator(np.random.Philox(key=key)).standard_normal(n * math.prod(shape), np.float32)
    return flat.reshape(n, *shape)
