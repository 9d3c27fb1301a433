"""What a function of the user's own gives, as a data set, checked once: what is wrong with it would else be a message
of torch's in the middle of training."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paceline.data.dataset import Dataset, Split, tensor_checksum
from paceline.errors import StudyError

NAMES = ("train_x", "train_y", "test_x", "test_y")


def own_dataset(name: str, made: Any, *, labelled: bool) -> Dataset:
    """`made`: a Dataset, or simply (train_x, train_y, test_x, test_y). `labelled`: the loss needs classes."""
    if isinstance(made, Dataset) and (odd := _odd(made)):
        raise _gives(name, odd)
    found = _numbered(made) if isinstance(made, Dataset) else _of_arrays(name, made)
    for split, part in found.splits.items():
        if wrong := _unlike(split, part, found.train) or _wrong(split, part, found.classes):
            raise _gives(name, wrong)
    if found.names and found.classes is not None and len(found.names) != found.classes:
        raise _gives(name, f"{len(found.names)} names for {found.classes} classes")
    if labelled and found.classes is None:
        raise _gives(
            name, "answers that are no whole numbers. For classes number them from 0; for values say loss: mse"
        )
    return replace(found, checksum=tensor_checksum(*found.splits.values()))


def _odd(made: Dataset) -> str:
    """What no split of a data set may be."""
    for split, part in made.splits.items():
        each: tuple[Any, Any] = part.x, part.y
        if not all(isinstance(found, Tensor) for found in each):
            return f"a {split} split that is no pair of tensors"
        if not len(part.x):
            return f"no {split} examples"
    return ""


def _numbered(made: Dataset) -> Dataset:
    """Class numbers of any whole type as torch's losses take them."""
    if made.classes is None:
        return made
    whole = {name: part for name, part in made.splits.items() if not part.y.is_floating_point()}
    return replace(made, **{name: replace(part, y=part.y.long()) for name, part in whole.items()})  # type: ignore[arg-type]


def _of_arrays(name: str, made: Any) -> Dataset:
    if not isinstance(made, (tuple, list)) or len(made) != len(NAMES):
        raise StudyError(f"'{name}' must return a Dataset or (train_x, train_y, test_x, test_y).", key="data")
    tensors = [_tensor(name, called, item) for called, item in zip(NAMES, made, strict=True)]
    if single := next((called for called, found in zip(NAMES, tensors, strict=True) if not found.dim()), ""):
        raise _gives(name, f"{single} that is a single number")
    for split, x, y in (("train", *tensors[:2]), ("test", *tensors[2:])):
        if len(x) != len(y):
            raise _gives(name, f"{len(x)} {split} examples but {len(y)} answers")
        if not len(x):
            raise _gives(name, f"no {split} examples")
    y, test_y = (t if t.is_floating_point() else t.long() for t in tensors[1::2])
    train, test = (Split(_examples(x), answers) for x, answers in ((tensors[0], y), (tensors[2], test_y)))
    if y.is_floating_point():
        return Dataset(name, train, None, test, None, "")
    if (first := int(min(y.min(), test_y.min()))) > 0:
        raise _gives(name, f"labels that begin at {first}; number classes from 0")
    return Dataset(name, train, None, test, int(max(y.max(), test_y.max())) + 1, "")


def _examples(x: Tensor) -> Tensor:
    """Images of bytes are scaled to 0 to 1, those in colour when they are shown; all else is numbers as they are."""
    pictures = x.dtype == torch.uint8 and x.dim() == 4
    if pictures and x.shape[1] == 3:
        return x.contiguous()
    return (x.float() / 255 if pictures else x.float()).contiguous()


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


def _unlike(split: str, part: Split, train: Split) -> str:
    if part.x.dim() < 2:
        return f"{split} examples that are single numbers; give each a list of its own, as x.reshape(-1, 1)"
    for what, mine, theirs in (("examples", part.x, train.x), ("answers", part.y, train.y)):
        if mine.shape[1:] != theirs.shape[1:]:
            return f"{split} {what} of shape {tuple(mine.shape[1:])}, but {tuple(theirs.shape[1:])} to train"
    return ""


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
