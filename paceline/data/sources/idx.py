"""MNIST and Fashion-MNIST: four idx files each, 60,000 training and 10,000 test images of 28 x 28."""

import numpy as np
import torch
from torch import Tensor

from paceline.data import catalogue, idxfile
from paceline.data.catalogue import Entry, File
from paceline.data.dataset import Dataset, Split, hold_out
from paceline.data.locate import Files
from paceline.data.verify import read_verified
from paceline.errors import DataError


def mnist(files: Files, *, validation: int = 5000) -> Dataset:
    """The first `validation` training images are held out (5,000 leaves the classic 55,000)."""
    return read(catalogue.MNIST, files, validation)


def fashion_mnist(files: Files, *, validation: int = 5000) -> Dataset:
    """Split as MNIST is."""
    return read(catalogue.FASHION_MNIST, files, validation)


def read(entry: Entry, files: Files, validation: int) -> Dataset:
    """Any set of four idx files in the order train images, train labels, test images, test labels."""
    x, y, test_x, test_y = (_tensor(entry, file, files) for file in entry.files)
    train, held = hold_out(_pixels(x), y.long(), validation)
    test = Split(_pixels(test_x), test_y.long())
    return Dataset(entry.name, train, held, test, entry.classes, entry.checksum)


def _tensor(entry: Entry, file: File, files: Files) -> Tensor:
    """The unsigned bytes of one idx file, verified."""
    path = files.find(entry.name, file.name)
    remedy = f"Delete it and run `{files.remedy(entry.name)}`."
    content = read_verified(path, file, remedy)
    try:
        shape, values = idxfile.decode(content, rank=3 if "idx3" in file.name else 1)
    except idxfile.IdxError as error:
        raise DataError(f"{path} is no idx file of the expected kind: {error}. {remedy}") from error
    return torch.from_numpy(np.frombuffer(values, dtype=np.uint8).reshape(shape).copy())


def _pixels(images: Tensor) -> Tensor:
    """0..255 [n, h, w] to 0..1 [n, 1, h, w]."""
    return images.unsqueeze(1).float().div_(255)
