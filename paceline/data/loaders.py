"""Which loader feeds a run: the memory loader, or torch's DataLoader with workers; and where its held-out sets lie."""

from collections.abc import Generator
from typing import Protocol

import torch
from torch import Tensor

from paceline.data.batches import Batch, Composition
from paceline.data.dataset import Dataset, Split
from paceline.data.memory import Memory
from paceline.data.room import needed, room
from paceline.data.show import Look
from paceline.spec import Run


class Feed(Protocol):
    def batches(self, composition: Composition, start: int) -> Generator[tuple[Batch, Tensor, Tensor]]:
        """Every batch from step `start` on, with inputs and targets, on the device or on the host. Both stay valid
        until the next batch is asked for."""


def feed(run: Run, split: Split, device: torch.device, dtype: torch.dtype, channels_last: bool, look: Look) -> Feed:
    if run.loader is not None:
        from paceline.data.workers import Workers

        return Workers(split, dtype, look, run.augment, run.loader)
    if device.type == "cuda":
        from paceline.data.streamed import Streamed, fits

        if not fits(split, device, dtype):
            return Streamed(split, device, dtype, channels_last, look, run.augment)
    return Memory(split, device, dtype, channels_last, look, run.augment)


def held_out(
    dataset: Dataset,
    device: torch.device,
    dtype: torch.dtype,
    channels_last: bool,
    look: Look,
    limit: float | None = None,
    copies: bool = False,
) -> dict[str, Memory]:
    """Validation and test, on the device as long as they take no more than `limit` bytes together (unsaid: its room).
    What does not fit stays on the host, and an evaluation moves it chunk by chunk."""
    left = room(device) if limit is None else limit
    found = {}
    for name, split in dataset.splits.items():
        if name == "train":
            continue
        size = needed(split, dtype)
        found[name] = Memory(split, device, dtype, channels_last, look, on_host=size > left, copies=copies)
        left -= size if size <= left else 0
    return found
