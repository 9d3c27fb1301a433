"""What a frozen base makes of every image, computed once and kept: its head then trains in seconds.

This serves runs whose base stays frozen and whose images are never changed. The seed of a run matters only where its
base has no weights to start from.
"""

import contextlib
import hashlib
import os
import uuid
from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from paceline.cache import user_cache
from paceline.data.dataset import Dataset, Split
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.spec import Run
from paceline.train import build, device
from paceline.train.evaluate import CHUNK_VALUES
from paceline.train.look import look

VERSION = 1
CACHE_BYTES = 10e9  # of all features kept


def embedded(run: Run, dataset: Dataset, folder: Path, files: Files) -> Dataset:
    """The data set with features in the place of images."""
    file = user_cache() / "features" / f"{_key(run, dataset, folder, files)}.safetensors"
    kept = _read(file)
    if kept is None:
        kept = _compute(run, dataset, folder, files)
        _keep(file, kept)
    splits = {name: Split(kept[name], split.y) for name, split in dataset.splits.items()}
    held = {"train": splits["train"], "validation": splits.get("validation"), "test": splits["test"]}
    return replace(dataset, **held, base_shape=build.input_shape(run, dataset))  # type: ignore[arg-type]


def _key(run: Run, dataset: Dataset, folder: Path, files: Files) -> str:
    start = build.weights(run, folder, files)
    said = (
        VERSION,
        dataset.checksum,
        [len(split) for split in dataset.splits.values()],
        str(run.model),
        start.sha256 if start else run.seed,
        run.image_size,
        look(run, dataset),
        torch.__version__,
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()[:32]


@torch.no_grad()
def _compute(run: Run, dataset: Dataset, folder: Path, files: Files) -> dict[str, Tensor]:
    target = device.resolve(run.device)
    model = build.network(run, dataset, folder, files).to(target).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    model.eval()
    shown = look(run, dataset)
    return {
        name: _embed(model, Memory(split, target, torch.float32, True, shown)) for name, split in dataset.splits.items()
    }


def _embed(model: nn.Module, split: Memory) -> Tensor:
    width = max(1, CHUNK_VALUES // max(1, split.chunk(0, 1).numel()))
    chunks = [model.embed(split.chunk(at, at + width)).cpu() for at in range(0, len(split), width)]  # type: ignore[operator]
    return torch.cat(chunks).contiguous()


def _read(file: Path) -> dict[str, Tensor] | None:
    try:
        kept = load_file(file)
        os.utime(file)
    except (OSError, SafetensorError):
        return None
    return kept


def _keep(file: Path, features: dict[str, Tensor]) -> None:
    """Whole or not at all; the features least lately used make room. A cache that cannot be written is done without."""
    with contextlib.suppress(OSError, SafetensorError):
        file.parent.mkdir(parents=True, exist_ok=True)
        others = sorted(file.parent.glob("*.safetensors"), key=lambda other: other.stat().st_mtime)
        room = CACHE_BYTES - sum(tensor.nbytes for tensor in features.values())
        left = sum(other.stat().st_size for other in others)
        for other in others:
            if left <= room:
                break
            left -= other.stat().st_size
            other.unlink()
        beside = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
        try:
            save_file(features, beside)
            os.replace(beside, file)
        finally:
            beside.unlink(missing_ok=True)
