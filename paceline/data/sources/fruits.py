"""Fresh and rotten apples, bananas and oranges: 1,182 training and 329 test photos, none of them augmented."""

from paceline.data.catalogue import FRUITS
from paceline.data.dataset import Dataset
from paceline.data.imagefiles import Archive
from paceline.data.labelled import dataset, decoded
from paceline.data.locate import Files
from paceline.data.split_images import in_folders


def fruits(files: Files, *, size: int = 96, validation: float = 0.1) -> Dataset:
    """The archive's own train/ and test/; a fixed share of the training photos is held out, by class."""
    images = decoded(FRUITS.name, Archive(files.find_form(FRUITS)), size)
    split = in_folders(FRUITS.name, images.names, {"train": "train", "test": "test"}, validation, seed=0)
    return dataset(FRUITS.name, images, split, {"validation": validation})
