"""Read a set as training would, and say what is in it."""

import importlib
from pathlib import Path
from typing import Any

from paceline.data.catalogue import entry
from paceline.data.dataset import Dataset, Split
from paceline.data.locate import Files, find_inside
from paceline.spec.parts import TABLE


def check(name: str, files: Files) -> list[dict[str, Any]]:
    """One row a split. A set that is missing, truncated or not the one expected raises DataError."""
    path = _path(name, files)
    module, _, function = TABLE["data"][name].path.partition(":")
    data: Dataset = getattr(importlib.import_module(module), function)(files)
    return [_row(data, split, part, path) for split, part in data.splits.items()]


def _row(data: Dataset, split: str, part: Split, path: Path | None) -> dict[str, Any]:
    balance = part.y.bincount(minlength=data.classes) if data.classes else None
    return {
        "set": data.name,
        "split": split,
        "examples": len(part),
        "shape": data.input_shape,
        "classes": data.classes,
        "fewest_a_class": None if balance is None else int(balance.min()),
        "most_a_class": None if balance is None else int(balance.max()),
        "checksum": "right" if path else "made here",
        "path": path,
    }


def _path(name: str, files: Files) -> Path | None:
    """The folder a set is read from; None for one that is made on the spot."""
    known = entry(name)
    if not known.files:
        return None
    first = known.files[0].name
    return (find_inside(known.inside, first) if known.inside else files.find(name, first)).parent
