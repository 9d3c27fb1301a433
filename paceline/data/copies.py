"""Changed copies of photos beside the photos themselves, as sets are published that were enlarged before their split.

The changes are those of Kaggle's fresh and rotten fruits: turned by 15, 30, 45, 60 and 75 degrees, with salt and
pepper, moved, and upside down.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from PIL import Image

from paceline.data.entries import Write, entry
from paceline.data.image_cache import Stored
from paceline.data.split_images import Parted

Photo = np.ndarray  # uint8 [size, size, 3]
VERSION = 1
SALTED = 0.02  # share of the pixels that turn black, and as many white
MOVED = 0.1  # of the side, down and to the right


def _turned(degrees: int) -> Callable[[Photo, np.random.Generator], Photo]:
    return lambda photo, _: np.asarray(Image.fromarray(photo).rotate(degrees, Image.Resampling.BILINEAR))


def _salted(photo: Photo, draw: np.random.Generator) -> Photo:
    speck = draw.random(photo.shape[:2])[..., None]
    return np.where(speck < SALTED, 0, np.where(speck > 1 - SALTED, 255, photo)).astype(np.uint8)


def _moved(photo: Photo, _: np.random.Generator) -> Photo:
    by = round(MOVED * photo.shape[0])
    return np.pad(photo, ((by, 0), (by, 0), (0, 0)))[: photo.shape[0], : photo.shape[1]]


CHANGES: tuple[Callable[[Photo, np.random.Generator], Photo], ...] = (
    *map(_turned, (15, 30, 45, 60, 75)),
    _salted,
    _moved,
    lambda photo, _: photo[::-1],
)


def with_copies(images: Stored, count: int) -> Stored:
    """Each image, then `count` changed copies of it; the n-th copy is the same on every machine."""
    if not count:
        return images
    names = tuple(f"{name}{f' copy {copy}' if copy else ''}" for name in images.names for copy in range(count + 1))
    shape = [len(names), *images.images.shape[1:]]
    key = f"{images.key}-copies-{count}-{VERSION}"

    def build(write: Write) -> dict[str, Any]:
        for place, photo in enumerate(images.images):
            write(np.concatenate([photo[None], _changed(photo, count, place)]))
        return {"shape": shape}

    if images.root is None:
        blocks: list[np.ndarray] = []
        build(blocks.append)
        return replace(images, key=key, images=np.concatenate(blocks), names=names, files=None)
    return replace(images, key=key, images=entry(images.root, key, build, lambda: None).array, names=names, files=None)


def _changed(photo: np.ndarray, count: int, place: int) -> np.ndarray:
    """[count, 3, size, size] of one [3, size, size]."""
    upright = np.ascontiguousarray(photo.transpose(1, 2, 0))
    draw = np.random.default_rng([VERSION, place])
    return np.stack([change(upright, draw).transpose(2, 0, 1) for change in CHANGES[:count]])


def with_their_photo(parted: Parted, count: int) -> Parted:
    """The split of photos as one of the photos and their copies: all of one photo are on one side."""
    each = count + 1
    parts = {name: (of[:, None] * each + np.arange(each)).ravel() for name, of in parted.parts.items()}
    return Parted(parts, parted.labels.repeat(each), parted.classes)
