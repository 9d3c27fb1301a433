"""Arrays of bytes kept on disk by key, memory-mapped, shared by all processes and bounded in all.

    <root>/<key>/array.bin      uint8
    <root>/<key>/meta.json      its shape, and whatever its maker says of it

An entry is built in a folder of its own and moved into place whole. The least recently used go when all of them
together exceed $PACELINE_CACHE_GB (20 unless said).
"""

import contextlib
import json
import math
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from paceline.data.lock import alone
from paceline.errors import number_said

GIGABYTES = 20.0
ABANDONED = 86_400.0  # seconds after which an unfinished entry is nobody's
Write = Callable[[np.ndarray], None]
Build = Callable[[Write], dict[str, Any]]  # hands blocks of the array to Write in order; gives meta with its "shape"

_used: set[str] = set()  # keys of what this process has mapped


class Entry(NamedTuple):
    array: np.ndarray
    meta: dict[str, Any]


def entry(root: Path, key: str, build: Build, waiting: Callable[[], None]) -> Entry:
    """The entry of that key, built if need be; one process builds while others that want it wait.

    OSError if it can be neither read nor written.
    """
    _used.add(key)
    if found := _load(root / key):
        return found
    locks = root / "locks" / key
    locks.mkdir(parents=True, exist_ok=True)
    with alone(locks, waiting):
        found = _load(root / key) or _build(root, key, build)
    _bound(root)
    return found


def _load(folder: Path) -> Entry | None:
    try:
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        shape = tuple(meta["shape"])
        if (folder / "array.bin").stat().st_size != math.prod(shape):
            return None
        array = np.memmap(folder / "array.bin", np.uint8, "c", shape=shape)  # "c": what is written stays in memory
    except (OSError, ValueError, KeyError):
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / "meta.json")
    return Entry(array, meta)


def _build(root: Path, key: str, build: Build) -> Entry:
    work = root / f".new-{uuid.uuid4().hex}"
    work.mkdir()
    try:
        with (work / "array.bin").open("wb") as out:
            meta = build(lambda block: _write(out, block))
        if not math.prod(meta["shape"]):
            return Entry(np.empty(meta["shape"], np.uint8), meta)
        (work / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
        shutil.rmtree(root / key, ignore_errors=True)
        with contextlib.suppress(OSError):  # where there are no locks another may be first, with the same content
            os.replace(work, root / key)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    found = _load(root / key)
    if found is None:
        raise OSError(f"{root / key} cannot be read back")
    return found


def _write(out: IO[bytes], block: np.ndarray) -> None:
    out.write(np.ascontiguousarray(block).data)


def _bound(root: Path) -> None:
    """Drop what was never finished, and the least recently used beyond the limit, but none that this process uses.

    What another process has mapped stays readable for it when its name is gone.
    """
    for left in (*root.glob(".new-*"), *root.glob(".old-*")):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
    entries = sorted(_entries(root), key=lambda known: known[1])
    excess = sum(size for _, _, size in entries) - _limit()
    for folder, _, size in entries:
        if excess <= 0:
            return
        if folder.name not in _used:
            aside = root / f".old-{uuid.uuid4().hex}"
            with contextlib.suppress(OSError):
                os.replace(folder, aside)
                excess -= size
            shutil.rmtree(aside, ignore_errors=True)
            shutil.rmtree(root / "locks" / folder.name, ignore_errors=True)


def _entries(root: Path) -> Iterator[tuple[Path, int, int]]:
    """Folder, time of last use, bytes."""
    for meta in root.glob("[!.]*/meta.json"):
        with contextlib.suppress(OSError):
            yield meta.parent, meta.stat().st_mtime_ns, sum(file.stat().st_size for file in meta.parent.iterdir())


def _limit() -> float:
    return number_said("PACELINE_CACHE_GB", GIGABYTES) * 1e9
