"""Image files under a folder: a sub-folder a class, or sub-trees train, test and perhaps validation of such."""

import os
from dataclasses import dataclass
from pathlib import Path

from paceline.data.images import is_image
from paceline.errors import DataError

VALIDATION = ("validation", "val", "valid")


@dataclass(frozen=True)
class Found:
    names: tuple[str, ...]  # of the images, relative, sorted
    splits: dict[str, str]  # split -> the folder that it has in names; empty if they are not split
    others: int  # files that are no images


def find(root: Path) -> Found:
    """All images in the sub-folders. Files that begin with a dot are not looked at."""
    if not root.is_dir():
        raise DataError(f"{root.absolute()} is no folder. Give the one that has a sub-folder of images for each class.")
    folders = _folders(root)
    splits = {}
    if "train" in folders and _folders(root / "train"):  # images right inside it make it a class like any other
        held = next((name for name in VALIDATION if name in folders), None)
        splits = {"train": "train", "test": "test"} | ({"validation": held} if held else {})
        if "test" not in folders:
            raise DataError(f"{root} has train/ but no test/. Add one, or give {root / 'train'} to have it split.")
        folders = list(splits.values())
    names, others = [], 0
    for folder in folders:
        for where, inner, files in os.walk(root / folder):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            for name in files:
                if is_image(name) and not name.startswith("."):
                    names.append((Path(where) / name).relative_to(root).as_posix())
                else:
                    others += not name.startswith(".")
    if not names:
        raise DataError(f"{root} has no images in sub-folders. It needs one sub-folder of images for each class.")
    return Found(tuple(sorted(names)), splits, others)


def _folders(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
