"""Caltech-101 and Caltech-256: photos of objects, a folder a class."""

from pathlib import Path

import numpy as np

from paceline.data import tree
from paceline.data.catalogue import CALTECH101, CALTECH256
from paceline.data.dataset import Dataset
from paceline.data.image_cache import Stored
from paceline.data.imagefiles import Archive, Collection, Tree
from paceline.data.labelled import dataset, decoded
from paceline.data.locate import Files
from paceline.data.split_images import Parted, given, held_out
from paceline.errors import DataError

BACKGROUND = "BACKGROUND_Google"
LISTS = {"train": "train.txt", "test": "test.txt"}


def caltech101(
    files: Files,
    *,
    size: int = 96,
    validation: float = 0.1,
    split: str = "course",
    test: float = 0.2,
    split_seed: int = 0,
) -> Dataset:
    """101 classes, without the background. Split by the archive's train.txt and test.txt, or at random by class."""
    path = files.find_form(CALTECH101)
    images = decoded(CALTECH101.name, _collection(path), size)
    names = tuple(name.removeprefix("101_ObjectCategories/") for name in images.names)
    if split == "course":
        parted = _listed(path, images, names, validation, split_seed)
    else:
        chosen = np.flatnonzero([not name.startswith(f"{BACKGROUND}/") for name in names])
        parted = held_out(CALTECH101.name, names, chosen, test, validation, split_seed)
    said = {"split": split, "test": test if split == "random" else None, "validation": validation, "seed": split_seed}
    return dataset(CALTECH101.name, images, parted, said)


def caltech256(
    files: Files, *, size: int = 96, test: float = 0.2, validation: float = 0.1, split_seed: int = 0
) -> Dataset:
    """257 classes, clutter being one. Split at random by class."""
    images = decoded(CALTECH256.name, _collection(files.find_form(CALTECH256)), size)
    parted = held_out(CALTECH256.name, images.names, np.arange(len(images.names)), test, validation, split_seed)
    said = {"test": test, "validation": validation, "seed": split_seed}
    return dataset(CALTECH256.name, images, parted, said)


def _collection(path: Path) -> Collection:
    """Of a folder, the images right inside its classes."""
    if path.is_file():
        return Archive(path)
    return Tree(path, tuple(name for name in tree.find(path).names if name.count("/") == 1))


def _listed(path: Path, images: Stored, names: tuple[str, ...], validation: float, seed: int) -> Parted:
    if not LISTS.keys() <= {name.removesuffix(".txt") for name in images.texts}:
        raise DataError(f"caltech101: {path} has no train.txt and test.txt. Say split: random.")
    place = {name: i for i, name in enumerate(names) if not name.startswith(f"{BACKGROUND}/")}
    parts = {
        part: np.array(sorted(place[name] for name in images.texts[file].split() if name in place), dtype=np.int64)
        for part, file in LISTS.items()
    }
    return given(CALTECH101.name, names, parts, [name.split("/")[0] for name in names], validation, seed)
