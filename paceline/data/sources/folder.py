"""The user's own images: a folder with a sub-folder for each class."""

import numpy as np

from paceline.data.dataset import Dataset
from paceline.data.imagefiles import Tree
from paceline.data.labelled import dataset, decoded
from paceline.data.locate import Files
from paceline.data.split_images import held_out, in_folders
from paceline.data.tree import find


def folder(
    files: Files, *, path: str, size: int = 96, test: float = 0.2, validation: float = 0.1, split_seed: int = 0
) -> Dataset:
    """`path` begins beside the study file.

    Sub-trees train/ and test/ (and val/ or validation/) are the splits. Else shares are held out, by class.
    """
    root = files.own(path)
    found = find(root)
    name = f"folder:{path}"
    images = decoded(name, Tree(root, found.names), size)
    notes = [f"{found.others:,} files that are no images were not read."] if found.others else []
    if found.splits:
        split = in_folders(name, images.names, found.splits, validation, split_seed)
        notes.append(f"The splits are the folders {', '.join(f'{s}/' for s in found.splits.values())}.")
    else:
        split = held_out(name, images.names, np.arange(len(images.names)), test, validation, split_seed)
    said = {"split": found.splits, "test": test, "validation": validation, "seed": split_seed}
    return dataset(name, images, split, said, notes)
