"""A data set in memory: training, validation and test examples, and what they hash to."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from paceline.errors import DataError


@dataclass(frozen=True, eq=False)
class Split:
    """Examples and their answers: y int64 labels [n] or float32 targets [n, ...].

    x is float32 [n, ...], or images as uint8 [n, channels, height, width], 0..255 and perhaps memory-mapped, which the
    loader turns into floats. `files` names where each image came from, if it came from a file of its own, and `decode`
    then gives an image anew from its file, as x has it.
    """

    x: Tensor
    y: Tensor
    files: tuple[str, ...] = ()
    decode: Callable[[int], Tensor] | None = None

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f"{len(self.x)} examples but {len(self.y)} answers")

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class Dataset:
    """The splits of one set; `classes` is None for regression, `checksum` is of the raw content.

    `names` are those of the classes, `notes` what a person should know of what was read: corrupt files, for one.
    """

    name: str
    train: Split
    validation: Split | None
    test: Split
    classes: int | None
    checksum: str
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    base_shape: tuple[int, ...] | None = None  # of the images, where x is what a frozen base made of them
    base_head: Mapping[str, Tensor] = field(default_factory=dict)  # what the base's file of weights has for the head

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(self.train.x.shape[1:])

    @property
    def outputs(self) -> int:
        """How many numbers a model has to give for one example."""
        return math.prod(self.train.y.shape[1:]) if self.classes is None else self.classes

    @property
    def splits(self) -> dict[str, Split]:
        held = {} if self.validation is None else {"validation": self.validation}
        return {"train": self.train, **held, "test": self.test}


def hold_out(x: Tensor, y: Tensor, n: int) -> tuple[Split, Split | None]:
    """(training, validation): the first n examples are held out, as in TensorFlow's MNIST tutorials."""
    if not 0 <= n < len(x):
        raise DataError(f"validation: {n} is out of range; give 0 (none) to {len(x) - 1}.")
    return Split(x[n:], y[n:]), (Split(x[:n], y[:n]) if n else None)


def tensor_checksum(*splits: Split | None) -> str:
    """The checksum of a set that is made, not read: of the bytes of its tensors."""
    digest = hashlib.sha256()
    for split in splits:
        for tensor in (split.x, split.y) if split else ():
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)}\n".encode())
            digest.update(tensor.contiguous().numpy().tobytes())
    return f"sha256:{digest.hexdigest()}"
