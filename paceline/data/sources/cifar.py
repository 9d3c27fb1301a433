"""CIFAR-10 and CIFAR-100: 50,000 training and 10,000 test images of 32 x 32 in colour.

Read from the official archive of Python pickles, or from a folder of sheets (data/sheets.py).
"""

import io
import tarfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from paceline.data import catalogue, sheets
from paceline.data.catalogue import Entry
from paceline.data.dataset import Dataset, Split, hold_out
from paceline.data.locate import Files
from paceline.data.unpickle import ForeignError, arrays
from paceline.data.verify import read_verified
from paceline.errors import DataError

TILE = 32
Pickled = Callable[[str], dict[bytes, Any]]


def cifar10(files: Files, *, validation: int = 5000) -> Dataset:
    """The first `validation` training images are held out."""
    if packed := _archive(catalogue.CIFAR10, files):
        batches = [packed(f"cifar-10-batches-py/data_batch_{n}") for n in range(1, 6)]
        test = packed("cifar-10-batches-py/test_batch")
        names = packed("cifar-10-batches-py/batches.meta")[b"label_names"]
        x, y = np.concatenate([b[b"data"] for b in batches]), np.concatenate([b[b"labels"] for b in batches])
        return _dataset(catalogue.CIFAR10, x, y, test[b"data"], test[b"labels"], _texts(names), validation)
    found = _sheets(catalogue.CIFAR10, files)
    names, y, test_y = _texts(found.labels["names"]), found.labels["y_train"], found.labels["y_test"]
    return _dataset(catalogue.CIFAR10, found.train, y, found.test, test_y, names, validation, found.checksum)


def cifar100(files: Files, *, validation: int = 5000, labels: str = "fine") -> Dataset:
    """100 fine classes, or the 20 coarse ones that they belong to. Split as CIFAR-10 is."""
    known, checksum = catalogue.CIFAR100, ""
    if packed := _archive(known, files):
        train, test = packed("cifar-100-python/train"), packed("cifar-100-python/test")
        names = _texts(packed("cifar-100-python/meta")[f"{labels}_label_names".encode()])
        x, test_x, answer = train[b"data"], test[b"data"], f"{labels}_labels".encode()
        y, test_y = train[answer], test[answer]
    else:
        found = _sheets(known, files)
        x, test_x, checksum = found.train, found.test, found.checksum
        names, y, test_y = _texts(found.labels[f"{labels}_names"]), found.labels["y_train"], found.labels["y_test"]
        if labels == "coarse":
            y, test_y = found.labels["coarse_of_fine"][y], found.labels["coarse_of_fine"][test_y]
    return _dataset(known, x, y, test_x, test_y, names, validation, checksum)


def _dataset(
    known: Entry,
    x: np.ndarray,
    y: Any,
    test_x: np.ndarray,
    test_y: Any,
    names: tuple[str, ...],
    validation: int,
    checksum: str = "",
) -> Dataset:
    parts = []
    for pixels, answers in ((x, y), (test_x, test_y)):
        images = torch.from_numpy(np.ascontiguousarray(pixels).reshape(-1, *known.shape))
        parts.append(Split(images, torch.from_numpy(np.asarray(answers, dtype=np.int64))))
    train, held = hold_out(parts[0].x, parts[0].y, validation)
    return Dataset(known.name, train, held, parts[1], len(names), checksum or known.checksum, names)


def _archive(known: Entry, files: Files) -> Pickled | None:
    """What reads a pickle of the official archive, if that is there or if nothing is."""
    (file,) = known.files
    if files.seek(known.name, file.name) is None and files.seek(known.name, sheets.LABELS):
        return None
    path = files.find(known.name, file.name)
    remedy = f"Delete it and run `{files.remedy(known.name)}`."
    members = _members(read_verified(path, file, remedy))

    def pickled(name: str) -> dict[bytes, Any]:
        try:
            found: dict[bytes, Any] = arrays(members[name])
        except (KeyError, ForeignError) as error:
            raise DataError(f"{path}: {name} is not as expected: {error}. {remedy}") from error
        return found

    return pickled


def _members(packed: bytes) -> dict[str, bytes]:
    """All files of an archive, in one pass: to go back in a compressed one is to begin anew."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {m.name: inside.read() for m in archive if m.isfile() and (inside := archive.extractfile(m))}


def _sheets(known: Entry, files: Files) -> sheets.Sheets:
    return sheets.read(files.find(known.name, sheets.LABELS).parent, TILE)


def _texts(names: Any) -> tuple[str, ...]:
    return tuple(name.decode() if isinstance(name, bytes) else str(name) for name in names)
