"""Fresh and rotten apples, bananas and oranges: 1,182 training and 329 test photos, none of them augmented."""

import numpy as np

from paceline.data.catalogue import FRUITS
from paceline.data.copies import with_copies, with_their_photo
from paceline.data.dataset import Dataset
from paceline.data.imagefiles import Archive
from paceline.data.labelled import dataset, decoded
from paceline.data.locate import Files
from paceline.data.split_images import Parted, held_out, in_folders


def fruits(
    files: Files,
    *,
    size: int = 96,
    validation: float = 0.1,
    copies: int = 0,
    split: str = "folders",
    test: float = 0.2,
    split_seed: int = 0,
) -> Dataset:
    """The archive's own train/ and test/, or shares of every class: of the photos, each with its changed copies on one
    side, or of the copies, as Kaggle's set was split."""
    photos = decoded(FRUITS.name, Archive(files.find_form(FRUITS)), size)
    images = with_copies(photos, copies)
    if split == "folders":
        own = in_folders(FRUITS.name, photos.names, {"train": "train", "test": "test"}, validation, split_seed)
        parted = with_their_photo(own, copies)
    elif split == "photos":
        parted = with_their_photo(_held_out(photos.names, test, validation, split_seed), copies)
    else:
        parted = _held_out(images.names, test, validation, split_seed)
    said: dict[str, object] = {"validation": validation}
    if split != "folders" or split_seed:
        said |= {"split": split, "test": test, "seed": split_seed}
    return dataset(FRUITS.name, images, parted, said)


def _held_out(names: tuple[str, ...], test: float, validation: float, seed: int) -> Parted:
    """Without the archive's own folders: class/..."""
    inner = tuple(name.partition("/")[2] for name in names)
    return held_out(FRUITS.name, inner, np.arange(len(inner)), test, validation, seed)
