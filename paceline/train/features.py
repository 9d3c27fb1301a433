"""What a frozen base makes of every image, computed once and kept: its head then trains in seconds.

This serves runs whose base stays frozen and whose images are never changed. The seed of a run matters only where its
base has no weights to start from.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from paceline.cache import user_cache
from paceline.data.dataset import Dataset, Split
from paceline.data.entries import Write, entry
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.spec import Run
from paceline.train import build, device, precision
from paceline.train.evaluate import CHUNK_VALUES
from paceline.train.look import look

VERSION = 2


def embedded(run: Run, dataset: Dataset, folder: Path, files: Files) -> Dataset:
    """The data set with features in the place of images, split after split. It has the head of the weights too, for as
    many runs as train on it: reading the file takes longer than some of them."""
    features = _features(run, dataset, folder, files)
    parts = torch.split(features, [len(split) for split in dataset.splits.values()])
    splits = {name: Split(x, split.y) for x, (name, split) in zip(parts, dataset.splits.items(), strict=True)}
    held = {"train": splits["train"], "validation": splits.get("validation"), "test": splits["test"]}
    head = build.head_tensors(run, dataset, folder, files)
    return replace(dataset, **held, base_shape=build.input_shape(run, dataset), base_head=head)  # type: ignore[arg-type]


def _features(run: Run, dataset: Dataset, folder: Path, files: Files) -> Tensor:
    """Of all images, from the cache or computed now; in memory alone where the cache cannot be written."""

    def made(write: Write) -> dict[str, Any]:
        held = 0
        for chunk in _embed(run, dataset, folder, files):
            write(chunk.numpy().view(np.uint8))
            held += chunk.nbytes
        return {"shape": [held], "features": [-1, *chunk.shape[1:]]}

    root = user_cache() / "features"
    try:
        array, meta = entry(root, _key(run, dataset, folder, files), made, lambda: None)
    except OSError:
        return torch.cat(list(_embed(run, dataset, folder, files)))
    return torch.from_numpy(array.view(np.float32)).view(meta["features"])


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
        device.resolve(run.device).type,
        torch.__version__,
    )
    return hashlib.sha256(repr(said).encode()).hexdigest()[:32]


@torch.no_grad()
def _embed(run: Run, dataset: Dataset, folder: Path, files: Files) -> Iterator[Tensor]:
    """float32 chunks of what the base makes of the images, in their order."""
    target = device.resolve(run.device)
    device.prepare(target)
    precision.prepare("fp32", target)
    model: nn.Module = build.network(run, dataset, folder, files).to(target)
    model = model.to(memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
    shown = look(run, dataset)
    copies = build.foreign(run)
    splits = [
        Memory(split, target, torch.float32, True, shown, on_host=True, copies=copies)
        for split in dataset.splits.values()
    ]
    for x in chain(*(_chunks(split) for split in splits)):
        yield model.embed(x).cpu().contiguous()  # type: ignore[operator]


def _chunks(split: Memory) -> Iterator[Tensor]:
    width = max(1, CHUNK_VALUES // max(1, split.chunk(0, 1).numel()))
    return (split.chunk(at, at + width) for at in range(0, len(split), width))
