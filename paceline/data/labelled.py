"""Decoded images with classes and splits as a Dataset: what is corrupt is told, what is too much is refused."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from paceline.data.dataset import Dataset, Split
from paceline.data.decode import Decoder
from paceline.data.image_cache import Stored, stored
from paceline.data.imagefiles import Collection
from paceline.data.split_images import Parted
from paceline.errors import DataError

TOLERATED = 0.05  # share of the files that may be corrupt
NAMED = 10


def decoded(name: str, files: Collection, size: int) -> Stored:
    """The images of a collection, unless too many are corrupt."""
    found = stored(files, size, name)
    total = len(found.names) + len(found.corrupt)
    if not found.names or len(found.corrupt) > TOLERATED * total:
        what = f"{len(found.corrupt):,} of {total:,} image files are corrupt" if total else "there are no image files"
        raise DataError(f"{name}: {what}.{_list(found)}\nMend or remove them.")
    return found


def dataset(name: str, images: Stored, parted: Parted, said: Mapping[str, Any], notes: Sequence[str] = ()) -> Dataset:
    """`said`: the arguments that decided which image is in which split."""
    parts, labels, classes = parted
    for needed in ("train", "test"):
        if not len(parts[needed]):
            raise DataError(f"{name}: no image is left for the {needed} split. Give other shares, or more images.")
    lacking = sorted(set(range(len(classes))) - set(labels[parts["train"]].tolist()))
    if lacking:
        raise DataError(f"{name}: no training image is left of the class '{classes[lacking[0]]}'. Hold out less.")

    def split(indices: np.ndarray) -> Split:
        files = tuple(images.names[i] for i in indices)
        decode = Decoder(images.files, files, images.images.shape[-1]) if images.files else None
        return Split(images.rows(indices), torch.from_numpy(labels[indices]), files, decode)

    held = split(parts["validation"]) if len(parts["validation"]) else None
    digest = hashlib.sha256(f"{images.key} {json.dumps(said, sort_keys=True)}".encode()).hexdigest()
    told = (*images.notes, *_corrupt(images), *notes)
    train, test = split(parts["train"]), split(parts["test"])
    return Dataset(name, train, held, test, len(classes), f"sha256:{digest}", classes, told)


def _corrupt(images: Stored) -> tuple[str, ...]:
    n = len(images.corrupt)
    return (f"{n:,} corrupt image file{'s were' if n > 1 else ' was'} left out:{_list(images)}",) if n else ()


def _list(images: Stored) -> str:
    named = "".join(f"\n  {name}: {reason}" for name, reason in images.corrupt[:NAMED])
    more = len(images.corrupt) - NAMED
    return f"{named}\n  and {more:,} more" if more > 0 else named
