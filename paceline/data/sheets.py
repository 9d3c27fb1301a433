"""Small images as tiles of large ones: train_0, train_1, ... and test_0, ..., each of 100 x 100 tiles, row by row.

labels.npz beside them holds y_train and y_test (labels beyond the tiles are left out), names of the classes, and
whatever else the set has.
"""

import hashlib
import io
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from paceline.errors import DataError

LABELS = "labels.npz"
SIDE = 100  # tiles a row, and rows
SUFFIXES = (".webp", ".png", ".jpg")


@dataclass(frozen=True, eq=False)
class Sheets:
    train: np.ndarray  # uint8 [n, 3, tile, tile]
    test: np.ndarray
    labels: dict[str, np.ndarray]  # as in labels.npz, y_train and y_test cut to the images there are
    checksum: str


def read(folder: Path, tile: int) -> Sheets:
    digest = hashlib.sha256()
    train, test = (_images(folder, name, tile, digest) for name in ("train", "test"))
    raw = (folder / LABELS).read_bytes()
    digest.update(f"{hashlib.sha256(raw).hexdigest()}  {LABELS}\n".encode())
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as found:
            labels = {key: found[key] for key in found.files}
        labels["y_train"], labels["y_test"] = labels["y_train"][: len(train)], labels["y_test"][: len(test)]
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise DataError(f"{folder / LABELS} does not hold y_train and y_test: {error}.") from error
    if len(labels["y_train"]) < len(train) or len(labels["y_test"]) < len(test):
        raise DataError(f"{folder / LABELS} has fewer labels than there are images beside it.")
    return Sheets(train, test, labels, f"sha256:{digest.hexdigest()}")


def _images(folder: Path, split: str, tile: int, digest: "hashlib._Hash") -> np.ndarray:
    sheets = []
    for number in itertools.count():
        path = next((p for s in SUFFIXES if (p := folder / f"{split}_{number}{s}").is_file()), None)
        if path is None:
            break
        raw = path.read_bytes()
        digest.update(f"{hashlib.sha256(raw).hexdigest()}  {path.name}\n".encode())
        sheets.append(_tiles(path, raw, tile))
    if not sheets:
        raise DataError(f"{folder} has {LABELS} but no sheet {split}_0{', '.join(SUFFIXES)}.")
    return np.concatenate(sheets)


def _tiles(path: Path, raw: bytes, tile: int) -> np.ndarray:
    try:
        with Image.open(io.BytesIO(raw), formats=("WEBP", "PNG", "JPEG")) as image:
            pixels = np.asarray(image.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataError(f"{path} cannot be decoded: {error}.") from error
    if pixels.shape != (SIDE * tile, SIDE * tile, 3):
        size = f"{SIDE * tile} x {SIDE * tile}"
        raise DataError(f"{path} has {pixels.shape[1]} x {pixels.shape[0]} pixels; a sheet here has {size}.")
    grid = pixels.reshape(SIDE, tile, SIDE, tile, 3).transpose(0, 2, 4, 1, 3)
    return np.ascontiguousarray(grid.reshape(-1, 3, tile, tile))
