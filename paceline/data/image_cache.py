"""Many image files decoded once: squares of bytes in the user's cache, found by the content of the files.

    images/<key>/               the squares in the order of the files, their names, and what was corrupt
    images/index/<fingerprint>  the content of files that have not been written since it was last read

A file's bytes are its content: writing it anew makes another key. Touching it alone costs a reading, no decoding.
"""

import hashlib
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paceline.cache import user_cache
from paceline.data.entries import Build, Write, entry
from paceline.data.imagefiles import Collection, Load, content_of, threads
from paceline.data.images import VERSION, CorruptError, is_image, square
from paceline.data.progress import Event, Report, to_terminal

EVERY = 0.25  # seconds between two looks at how far it is
BLOCK = 1024  # images copied at a time


@dataclass(frozen=True, eq=False)
class Stored:
    """Decoded images, uint8 [n, 3, size, size], and their names."""

    key: str
    images: np.ndarray
    names: tuple[str, ...]
    corrupt: tuple[tuple[str, str], ...] = ()  # name and reason
    texts: dict[str, str] = field(default_factory=dict)  # the text files of an archive
    root: Path | None = None  # of the cache; None if it cannot be written, and the images are in memory
    notes: tuple[str, ...] = ()
    files: Collection | None = None  # that they were decoded from

    def rows(self, indices: np.ndarray) -> Tensor:
        """Some of the images, mapped: a stretch as it is, any others by way of an entry of their own.

        In memory where the cache cannot be written.
        """
        if len(indices) and np.all(np.diff(indices) == 1):
            return torch.from_numpy(self.images[indices[0] : indices[-1] + 1])
        if self.root is None or not len(indices):
            return torch.from_numpy(self.images[indices])
        chosen = hashlib.sha256(indices.astype("<i8").tobytes()).hexdigest()[:16]
        try:
            copied = entry(self.root, f"{self.key}-{chosen}", self._copy(indices), lambda: None)
        except OSError:
            return torch.from_numpy(self.images[indices])
        return torch.from_numpy(copied.array)

    def _copy(self, indices: np.ndarray) -> Build:
        def build(write: Write) -> dict[str, Any]:
            for start in range(0, len(indices), BLOCK):
                write(self.images[indices[start : start + BLOCK]])
            return {"shape": [len(indices), *self.images.shape[1:]]}

        return build


def stored(files: Collection, size: int, label: str, report: Report = to_terminal) -> Stored:
    """The images of a collection as squares, from the cache or decoded now. Corrupt ones are left out and named."""
    root = user_cache() / "images"

    def build(write: Write) -> dict[str, Any]:
        return _decode(files, size, label, write, report)

    content = content_of(files)
    key = hashlib.sha256(f"{content} size {size} decoder {VERSION}".encode()).hexdigest()[:32]
    try:
        images, meta = entry(root, key, build, _waiting(label, report))
    except OSError as error:
        note = f"the cache {root} cannot be written ({error.strerror or error}): every process decodes for itself."
        blocks = [np.empty((0, 3, size, size), np.uint8)]
        meta = build(blocks.append)
        return _stored(files, key, np.concatenate(blocks), meta, None, (note,))
    return _stored(files, key, images, meta, root)


def _stored(
    files: Collection,
    key: str,
    images: np.ndarray,
    meta: dict[str, Any],
    root: Path | None,
    notes: tuple[str, ...] = (),
) -> Stored:
    corrupt = tuple((name, reason) for name, reason in meta["corrupt"])
    return Stored(key, images, tuple(meta["names"]), corrupt, dict(meta["texts"]), root, notes, files)


def _waiting(label: str, report: Report) -> Callable[[], None]:
    return lambda: report(Event("waiting", f"{label} is being decoded by another process"))


def _decode(files: Collection, size: int, label: str, write: Write, report: Report) -> dict[str, Any]:
    names: list[str] = []
    corrupt: list[tuple[str, str]] = []
    texts: dict[str, str] = {}
    said = time.monotonic()
    with ThreadPoolExecutor(threads()) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow's, of odd metadata
        for chunk in _chunks(_images(files, texts), 64 * threads()):
            good = []
            for (name, _), made in zip(chunk, pool.map(lambda item: _square(item[1], size), chunk), strict=True):
                if isinstance(made, str):
                    corrupt.append((name, made))
                else:
                    names.append(name)
                    good.append(made)
            if good:
                write(np.stack(good))
            if time.monotonic() - said > EVERY:
                said = time.monotonic()
                report(Event("images", label, len(names), files.count))
    report(Event("images", label, len(names), len(names)))
    return {"shape": [len(names), 3, size, size], "names": names, "corrupt": corrupt, "texts": texts}


def _images(files: Collection, texts: dict[str, str]) -> Iterator[tuple[str, Load]]:
    """The images; text files are read on the way."""
    for name, load in files.read():
        if name.rpartition("/")[2].startswith("."):
            continue
        if is_image(name):
            yield name, load
        elif name.endswith(".txt"):
            texts[name] = load().decode(errors="replace")


def _chunks(items: Iterator[tuple[str, Load]], n: int) -> Iterator[list[tuple[str, Load]]]:
    while chunk := list(itertools.islice(items, n)):
        yield chunk


def _square(load: Load, size: int) -> np.ndarray | str:
    """The image, or why there is none."""
    try:
        return square(load(), size)
    except CorruptError as error:
        return str(error)
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
