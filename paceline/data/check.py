"""Read a set as training would, and say what is in it: counts, balance, corrupt files, test images seen in training."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from paceline.data.catalogue import ENTRIES, entry
from paceline.data.dataset import Dataset, Split
from paceline.data.leakage import Leakage, leakage
from paceline.data.locate import Files, find_inside
from paceline.errors import DataError
from paceline.spec.argument import ArgumentError
from paceline.spec.part import Part, read


@dataclass(frozen=True)
class Checked:
    """`rows`: one a split. `leaks` is None where images are not compared, for the reason in `not_compared`."""

    rows: list[dict[str, Any]]
    notes: tuple[str, ...]
    leaks: Leakage | None
    pairs: list[dict[str, Any]]  # the closest of the leaks
    not_compared: str = ""

    @property
    def verdict(self) -> str:
        """Whether test images were seen in training, in a sentence or two."""
        leaks = self.leaks
        if leaks is None:
            return f"Test images were not compared with those trained on: {self.not_compared}."
        sample = " (a sample)" if leaks.sampled else ""
        compared = f"{leaks.test:,} test images compared with {leaks.train:,} of training and validation{sample}"
        if not leaks.copies:
            return f"{compared}: no near-duplicates."
        return (
            f"WARNING: {compared}: {leaks.copies:,} ({leaks.share:.1%}) have a near-duplicate there, up to flips, "
            f"quarter turns, small shifts and noise. A test accuracy on this split counts what was memorised."
        )


def check(said: str, files: Files, *, compare: bool = True) -> Checked:
    """A set by its name, or folder:PATH. One that is missing, truncated or not the one expected raises DataError."""
    part = _part(said)
    path = _path(part, files)
    module, _, function = part.path.partition(":")
    return checked(getattr(importlib.import_module(module), function)(files, **part.complete), path, compare=compare)


def checked(data: Dataset, path: Path | None = None, *, compare: bool = True) -> Checked:
    """A set that has been read, from `path`; None for one that was made on the spot."""
    rows = [_row(data, split, examples, path) for split, examples in data.splits.items()]
    reason = "" if compare else "not asked for"
    if data.train.x.dtype != torch.uint8 or data.input_shape[:1] != (3,):
        reason = "only colour images are compared; in others, such as digits, unlike ones come too close"
    if reason:
        return Checked(rows, data.notes, None, [], reason)
    found = leakage([part.x for part in _seen(data).values()], data.test.x)
    return Checked(rows, data.notes, found, _pairs(data, found))


def _part(said: str) -> Part:
    entry(said if not said.startswith("folder:") else "folder")
    try:
        return read("data", said)
    except ArgumentError as error:
        raise DataError(f"{said}: {error} Say folder:PATH.") from error


def _row(data: Dataset, split: str, part: Split, path: Path | None) -> dict[str, Any]:
    balance = part.y.bincount(minlength=data.classes) if data.classes else None
    fewest, most = (None, None) if balance is None else (int(balance.argmin()), int(balance.argmax()))
    return {
        "set": data.name,
        "split": split,
        "examples": len(part),
        "shape": tuple(part.x.shape[1:]),
        "classes": data.classes,
        "fewest_a_class": None if balance is None else int(balance.min()),
        "most_a_class": None if balance is None else int(balance.max()),
        "fewest_of": data.names[fewest] if data.names and fewest is not None else None,
        "most_of": data.names[most] if data.names and most is not None else None,
        "checksum": _checksum(data, path),
        "path": path,
    }


def _checksum(data: Dataset, path: Path | None) -> str:
    """`right` for the content that the catalogue knows; else what was found."""
    known = ENTRIES.get(data.name)
    if path is None:
        return "made here"
    return "right" if known and known.files and data.checksum == known.checksum else data.checksum[:19]


def _pairs(data: Dataset, found: Leakage) -> list[dict[str, Any]]:
    rows = []
    for pair in found.closest:
        name, part, index = _place(data, pair.train)
        rows.append(
            {
                "test": _called("test", data.test, pair.test),
                "seen": _called(name, part, index),
                "similarity": round(pair.similarity, 3),
                "test_image": pair.change,
                "labels": "agree" if data.test.y[pair.test] == part.y[index] else "DIFFER",
            }
        )
    return rows


def _seen(data: Dataset) -> dict[str, Split]:
    """What a study trains or chooses by."""
    return {name: part for name, part in data.splits.items() if name != "test"}


def _place(data: Dataset, index: int) -> tuple[str, Split, int]:
    """Where an image is that was counted through all of what is seen."""
    for name, part in _seen(data).items():
        if index < len(part):
            return name, part, index
        index -= len(part)
    raise IndexError(index)


def _called(split: str, part: Split, index: int) -> str:
    return part.files[index] if part.files else f"{split} {index}"


def _path(part: Part, files: Files) -> Path | None:
    """Where a set is read from; None for one that is made on the spot."""
    known = entry(part.name)
    if part.name == "folder":
        return files.own(part.complete["path"])
    if known.forms and (form := files.seek_form(known)):
        return form if known.by_hand else form.parent
    if known.by_hand:
        return files.find_form(known)
    if not known.files:
        return None
    first = known.files[0].name
    return (find_inside(known.inside, first) if known.inside else files.find(known.name, first)).parent
