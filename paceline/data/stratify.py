"""Fixed splits by class: the same on every machine and version, because SHA-256 decides."""

import hashlib
from collections.abc import Iterable

import numpy as np


def stratified_order(y: np.ndarray, names: Iterable[object], salt: str) -> np.ndarray:
    """An order of which every stretch holds the classes in their proportions.

    Within a class, examples stand by the SHA-256 of salt and name.
    """
    key = [hashlib.sha256(f"{salt} {name}".encode(errors="surrogateescape")).digest() for name in names]
    place = np.empty(len(y))
    for label in np.unique(y):
        members = sorted(np.flatnonzero(y == label), key=key.__getitem__)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.array(sorted(range(len(y)), key=lambda i: (place[i], key[i])), dtype=np.int64)


def hold_share(y: np.ndarray, names: Iterable[object], share: float, salt: str) -> tuple[np.ndarray, np.ndarray]:
    """(held out, the rest), both in the order of the file; `round(share * n)` examples are held out."""
    held, rest = np.split(stratified_order(y, names, salt), [round(share * len(y))])
    return np.sort(held), np.sort(rest)
