"""Weights from a file into a network: safetensors, npz, or a torch file, which torch unpickles by its reader of tensors
alone (`weights_only=True`); one that holds more is refused."""

import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from paceline.errors import DataError, StudyError

Tensors = dict[str, Tensor]
_OLD_DENSENET = re.compile(r"^(.*denselayer\d+\.(?:norm|conv))\.([12]\..*)$")


def read(path: Path) -> Tensors:
    try:
        found = _READERS.get(path.suffix, _torch)(path)
    except (OSError, ValueError, RuntimeError, KeyError, EOFError, SafetensorError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read as weights: {str(error).splitlines()[0]}") from None
    return {_OLD_DENSENET.sub(r"\1\2", name): value for name, value in found.items()}


def _npz(path: Path) -> Tensors:
    with np.load(path, allow_pickle=False) as file:
        return {name: torch.from_numpy(file[name]) for name in file.files}


def _torch(path: Path) -> Tensors:
    import pickle

    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError("it holds more than tensors, which would have to be run as code") from None
    held = held.get("state_dict", held) if isinstance(held, dict) else held
    if not isinstance(held, dict) or not all(isinstance(value, Tensor) for value in held.values()):
        raise ValueError("it is no table of tensors by name")
    return held


_READERS: dict[str, Callable[[Path], Tensors]] = {".safetensors": load_file, ".npz": _npz}


@dataclass(frozen=True)
class Fit:
    """Names of the network's tensors that the file gave nothing for: they start as without weights."""

    missing: tuple[str, ...]


@torch.no_grad()
def load(model: nn.Module, tensors: Mapping[str, Tensor], head: nn.Module, source: Path) -> Fit:
    """Copies what the file has. The head may differ in shape and is then left as it was; nothing else may."""
    mine, of_head = model.state_dict(), names_of(head, model)
    unknown = [name for name in tensors if name not in mine]
    if unknown or not any(name in tensors for name in mine):
        strange = f"it has {_some(unknown)}, the model has none such" if unknown else "it has none of its tensors"
        raise StudyError(f"{source} does not fit this model: {strange}.", key="weights")
    fresh_head = any(name in tensors and tensors[name].shape != mine[name].shape for name in of_head)
    missing = []
    for name, value in mine.items():
        if name not in tensors or (fresh_head and name in of_head):
            missing.append(name)
        elif tensors[name].shape != value.shape:
            raise StudyError(
                f"{source} does not fit this model: {name} is {tuple(tensors[name].shape)} there and "
                f"{tuple(value.shape)} here.",
                key="weights",
            )
        else:
            value.copy_(tensors[name])
    counted = {name for name in missing if not name.endswith("num_batches_tracked")}
    return Fit(tuple(name for name in missing if name in counted and name not in of_head))


def names_of(head: nn.Module, model: nn.Module) -> frozenset[str]:
    """What the network calls the tensors of its head."""
    own = {id(value) for value in head.state_dict(keep_vars=True).values()}
    return frozenset(name for name, value in model.state_dict(keep_vars=True).items() if id(value) in own)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
