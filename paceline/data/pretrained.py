"""Pre-trained weights by name: which file they are, where it comes from, and where it lies. Free of torch."""

import hashlib
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from paceline.data.catalogue import Entry, File, Url
from paceline.data.locate import Files
from paceline.errors import DataError

FOLDER = "weights"  # beside the data sets
LARGEST = 600_000_000  # bytes
BASE = "https://download.pytorch.org/models/"
IMAGENET = {
    "alexnet": "alexnet-owt-7be5be79.pth",
    "vgg16_bn": "vgg16_bn-6c64b313.pth",
    "vgg19": "vgg19-dcbb9e9d.pth",
    "vgg19_bn": "vgg19_bn-c79401a0.pth",
    "resnet18": "resnet18-f37072fd.pth",
    "resnet50": "resnet50-0676ba61.pth",
    "squeezenet1_0": "squeezenet1_0-b66bff10.pth",
    "squeezenet1_1": "squeezenet1_1-b8a52dc0.pth",
    "densenet121": "densenet121-a639ec97.pth",
    "mobilenet_v2": "mobilenet_v2-b0353104.pth",
}
"""torchvision's files. The end of a name is the beginning of the file's SHA-256."""


@dataclass(frozen=True)
class Found:
    path: Path
    sha256: str


def file_of(weights: str, model: str) -> str:
    """The file that `weights: FILE or imagenet` means for a model."""
    if weights != "imagenet":
        return weights
    if model not in IMAGENET:
        raise DataError(
            f"No imagenet weights are known for {model}; there are for {', '.join(IMAGENET)}. Name a file instead."
        )
    return IMAGENET[model]


def _places(name: str, files: Files) -> list[Path]:
    return [files.own(name), *(root / FOLDER / name for root in files.roots)]


def seek(name: str, files: Files) -> Path | None:
    return next((place for place in _places(name, files) if place.is_file()), None)


def find(weights: str, model: str, files: Files, folder: Path) -> Found:
    """That file, found and checked where its name holds a checksum."""
    name, files = file_of(weights, model), replace(files, beside=folder)
    path = seek(name, files)
    if path is None:
        sought = "".join(f"\n  {place}" for place in _places(name, files))
        official = name in IMAGENET.values()
        get = f"\nRun `paceline data get {name}`, or download {BASE}{name} to one of these." if official else ""
        hint = "" if official else " Say imagenet, or the name of a file."
        raise DataError(f"The weights {name} are not here.{hint} Looked for:{sought}{get}")
    found = sha256(path, path.stat().st_mtime_ns)
    expected = expected_start(path.name)
    if expected and not found.startswith(expected):
        raise DataError(f"{path} is not the file its name says: its SHA-256 is {found[:12]}..., not {expected}...")
    return Found(path, found)


def entry(name: str) -> Entry | None:
    """One of the files above as something to fetch into FOLDER; None if it is none of them."""
    if name not in IMAGENET.values():
        return None
    file = File(name, expected_start(name), LARGEST, packed=True)
    return Entry(FOLDER, "pre-trained weights", "torchvision; BSD 3-Clause", 0, (), None, (file,), (Url(BASE),))


def expected_start(name: str) -> str:
    """The beginning of the SHA-256 that a name such as resnet18-f37072fd.pth promises; '' if it promises none."""
    said = re.search(r"-([0-9a-f]{8,64})\.\w+$", name)
    return said[1] if said else ""


@lru_cache(maxsize=64)
def sha256(path: Path, changed: int) -> str:
    """Of the whole file; `changed` is its time of change, so that a new file is read anew."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
