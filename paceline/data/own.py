"""What a function of the user's own gives, as a data set, checked once: what is wrong with it would else be a message
of torch's in the middle of training."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from paceline.data.dataset import Dataset, Split, tensor_checksum
from paceline.errors import StudyError

NAMES = ("train_x", "train_y", "test_x", "test_y")


def own_dataset(name: str, made: Any, *, labelled: bool) -> Dataset:
    """`made`: a Dataset, or simply (train_x, train_y, test_x, test_y). `labelled`: the loss needs classes."""
    found = made if isinstance(made, Dataset) else _of_arrays(name, made)
    for split, part in found.splits.items():
        if wrong := _wrong(split, part, found.classes):
            raise _gives(name, wrong)
    if labelled and found.classes is None:
        raise _gives(
            name, "answers that are no whole numbers. For classes number them from 0; for values say loss: mse"
        )
    return found


def _of_arrays(name: str, made: Any) -> Dataset:
    if not isinstance(made, (tuple, list)) or len(made) != len(NAMES):
        raise StudyError(f"'{name}' must return a Dataset or (train_x, train_y, test_x, test_y).", key="data")
    tensors = [_tensor(name, called, item) for called, item in zip(NAMES, made, strict=True)]
    for split, x, y in (("train", *tensors[:2]), ("test", *tensors[2:])):
        if len(x) != len(y):
            raise _gives(name, f"{len(x)} {split} examples but {len(y)} answers")
        if not len(x):
            raise _gives(name, f"no {split} examples")
    x, y, test_x, test_y = (t if t.is_floating_point() else t.long() for t in tensors)
    train, test = Split(x.float().contiguous(), y), Split(test_x.float().contiguous(), test_y)
    if y.is_floating_point():
        return Dataset(name, train, None, test, None, tensor_checksum(train, test))
    if (first := int(min(y.min(), test_y.min()))) > 0:
        raise _gives(name, f"labels that begin at {first}; number classes from 0")
    return Dataset(name, train, None, test, int(max(y.max(), test_y.max())) + 1, tensor_checksum(train, test))


def _tensor(name: str, called: str, item: Any) -> Tensor:
    if isinstance(item, Tensor):
        return item
    try:
        array = np.asarray(item)
        if array.dtype.kind not in "OSU":
            return torch.as_tensor(item if isinstance(item, (list, tuple)) else array)
    except (TypeError, ValueError) as error:
        raise _gives(name, f"{called} that is no array of numbers: {error}") from None
    if called.endswith("y"):
        raise _gives(name, f"{called} with labels that are text; number them from 0")
    raise _gives(name, f"{called} with values that are no numbers")


def _wrong(split: str, part: Split, classes: int | None) -> str:
    x, y = part.x, part.y
    if x.is_floating_point() and not bool(torch.isfinite(x).all()):
        count = int((~torch.isfinite(x)).flatten(1).any(1).sum())
        return f"{split} examples with NaN or infinite values, {count:,} of {len(x):,}"
    if classes is None:
        return "" if bool(torch.isfinite(y).all()) else f"{split} answers that are NaN or infinite"
    if y.is_floating_point():
        return f"{split} labels that are no whole numbers"
    if y.dim() != 1:
        return f"{split} labels of shape {tuple(y.shape)}; class numbers are one a line"
    low, high = (int(y.min()), int(y.max())) if len(y) else (0, 0)
    if low < 0:
        return f"a {split} label below 0"
    return f"a {split} label {high}; {classes} classes are numbered 0 to {classes - 1}" if high >= classes else ""


def _gives(name: str, what: str) -> StudyError:
    return StudyError(f"'{name}' gives {what}.", key="data")
