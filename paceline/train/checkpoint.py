"""A run's state in one safetensors file: tensors as tensors, everything else as JSON in its header. No pickle."""

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from paceline.errors import RecordError


def save(path: Path, state: dict[str, Any]) -> None:
    """Written beside and renamed: a checkpoint is whole or it is the one before."""
    tensors: dict[str, Tensor] = {}
    shape = json.dumps(_pack(state, tensors))
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        save_file(tensors, beside, {"state": shape})
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def load(path: Path) -> dict[str, Any]:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            shape = json.loads(file.metadata()["state"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise RecordError(
            f"{path}: not a checkpoint ({error}). Delete it and run again; the run starts anew."
        ) from None
    state: dict[str, Any] = _unpack(shape, tensors)
    return state


def restore(optimizers: dict[str, torch.optim.Optimizer], state: dict[str, Any]) -> None:
    """Into the tensors that are there already, so that their layout in memory stays what it was."""
    for name, optimizer in optimizers.items():
        inner = getattr(optimizer, "optim", optimizer)  # of one that is divided, the part of this device
        parameters = [p for group in inner.param_groups for p in group["params"]]
        for index, values in state[name]["state"].items():
            for key, value in values.items():
                if isinstance(value, Tensor) and value.shape == parameters[index].shape and value.dim():
                    values[key] = torch.empty_like(parameters[index], dtype=value.dtype).copy_(value)
        optimizer.load_state_dict(state[name])


def _pack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        name = f"t{len(tensors)}"
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        return {"pairs": [[key, _pack(item, tensors)] for key, item in value.items()]}
    return [_pack(item, tensors) for item in value] if isinstance(value, (list, tuple)) else value


def _unpack(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if "tensor" in value:
            return tensors[value["tensor"]]
        return {key: _unpack(item, tensors) for key, item in value["pairs"]}
    return [_unpack(item, tensors) for item in value] if isinstance(value, list) else value
