"""Which image belongs to which split, from the folders that images stand in, or by shares of every class."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from paceline.data.stratify import hold_share
from paceline.errors import DataError


class Parted(NamedTuple):
    parts: dict[str, np.ndarray]  # indices of train, validation and test
    labels: np.ndarray  # of all images; -1 for one that is in no part
    classes: tuple[str, ...]


def held_out(what: str, names: Sequence[str], chosen: np.ndarray, test: float, validation: float, seed: int) -> Parted:
    """Shares of the chosen images, stratified by class; validation is a share of what test leaves."""
    labels, classes = _labels(what, names, [name.split("/")[0] for name in names], chosen)
    tested, rest = hold_share(labels[chosen], [names[i] for i in chosen], test, f"test {seed}")
    return Parted(
        _hold_validation(names, labels, chosen[rest], validation, seed) | {"test": chosen[tested]}, labels, classes
    )


def in_folders(what: str, names: Sequence[str], splits: Mapping[str, str], validation: float, seed: int) -> Parted:
    """Images named folder/class/...; without a folder for validation, it is a share of the training images."""
    return given(
        what,
        names,
        {split: np.flatnonzero([name.startswith(f"{top}/") for name in names]) for split, top in splits.items()},
        [name.split("/")[1] if name.count("/") > 1 else "" for name in names],
        validation,
        seed,
    )


def given(
    what: str,
    names: Sequence[str],
    parts: Mapping[str, np.ndarray],
    class_of: Sequence[str],
    validation: float,
    seed: int,
) -> Parted:
    """Splits that are known; validation, unless it is among them, is a share of the training images."""
    labels, classes = _labels(what, names, class_of, np.sort(np.concatenate(list(parts.values()))))
    known = set(labels[parts["train"]].tolist())
    for split, indices in parts.items():
        for foreign in sorted(set(labels[indices].tolist()) - known):
            raise DataError(f"{what}: the class '{classes[foreign]}' of the {split} split has no training image.")
    if "validation" in parts:
        return Parted(dict(parts), labels, classes)
    held = _hold_validation(names, labels, parts["train"], validation, seed)
    return Parted(held | {"test": parts["test"]}, labels, classes)


def _hold_validation(
    names: Sequence[str], labels: np.ndarray, train: np.ndarray, share: float, seed: int
) -> dict[str, np.ndarray]:
    held, rest = hold_share(labels[train], [names[i] for i in train], share, f"validation {seed}")
    return {"train": train[rest], "validation": train[held]}


def _labels(
    what: str, names: Sequence[str], class_of: Sequence[str], chosen: np.ndarray
) -> tuple[np.ndarray, tuple[str, ...]]:
    stray = next((names[i] for i in chosen if not class_of[i]), None)
    if stray:
        raise DataError(f"{what}: {stray} stands in no folder of a class.")
    classes = tuple(sorted({class_of[i] for i in chosen}))
    if len(classes) < 2:
        raise DataError(f"{what}: all images are of one class, '{''.join(classes)}'; there must be two or more.")
    number = {name: i for i, name in enumerate(classes)}
    labels = np.full(len(names), -1, dtype=np.int64)
    for i in chosen:
        labels[i] = number[class_of[i]]
    return labels, classes
