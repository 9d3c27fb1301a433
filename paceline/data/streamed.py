"""The memory loader for a set that is too large for the GPU: it stays in RAM, and the copy of each batch is under way
while the one before it trains.

Two pinned buffers on the host and a stream of its own: a batch is gathered by the CPU, copied by the GPU's copy
engine, and changed and shown on the device as the memory loader does it.
"""

from collections.abc import Generator
from itertools import cycle

import torch
from torch import Tensor

from paceline.data.augment import augmented
from paceline.data.batches import Batch, Composition
from paceline.data.dataset import Split
from paceline.data.draws import key
from paceline.data.room import needed, room
from paceline.data.show import Look, Show, answers, are_pictures
from paceline.data.transfer import moved
from paceline.spec.run import Augment


def fits(split: Split, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a split may live on a GPU, floats as `dtype`."""
    return needed(split, dtype) <= room(device)


class _Buffer:
    """A batch on the host, pinned, and the event after which it may be written again."""

    def __init__(self, like: Tensor) -> None:
        self._like, self._pinned = like, like.new_empty(0)
        self.copied = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def gather(self, indices: Tensor) -> Tensor:
        self.copied.synchronize()
        if len(self._pinned) < len(indices):
            shape = (len(indices), *self._like.shape[1:])
            self._pinned = torch.empty(shape, dtype=self._like.dtype, pin_memory=True)
        return torch.index_select(self._like, 0, indices, out=self._pinned[: len(indices)])


class Streamed:
    """Batches of a split that stays in RAM, copied one ahead of the one that trains."""

    def __init__(
        self,
        split: Split,
        device: torch.device,
        dtype: torch.dtype,
        channels_last: bool,
        look: Look,
        augment: Augment | None,
    ) -> None:
        pictures = are_pictures(split, look, augment)
        self._x = (split.x.permute(0, 2, 3, 1) if pictures else split.x).contiguous()
        self._y = answers(split, dtype)
        self._device, self._dtype, self._augment = device, dtype, augment
        last = channels_last and split.x.dim() == 4
        self._layout = torch.channels_last if last else torch.preserve_format
        self._show = Show(look, self._x, device, dtype, channels_last) if pictures else None
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._buffers = cycle([_Buffer(self._x), _Buffer(self._x)])

    def batches(self, composition: Composition, start: int) -> Generator[tuple[Batch, Tensor, Tensor]]:
        ahead = None
        for batch in composition.batches(start):
            under_way = self._copy(batch)
            if ahead is not None:
                yield self._arrived(composition, *ahead)
            ahead = under_way

    def _copy(self, batch: Batch) -> tuple[Batch, Tensor, Tensor, torch.cuda.Event]:
        buffer = next(self._buffers)
        host = buffer.gather(batch.indices)
        with torch.cuda.stream(self._stream):
            x = moved(host, self._device)
            y = moved(self._y[batch.indices].pin_memory(), self._device)
            buffer.copied.record(self._stream)
        return batch, x, y, buffer.copied

    def _arrived(
        self, composition: Composition, batch: Batch, x: Tensor, y: Tensor, copied: torch.cuda.Event
    ) -> tuple[Batch, Tensor, Tensor]:
        """The training stream waits for the copy; the memory is not reused before that stream is done with it."""
        training = torch.cuda.current_stream(self._device)
        training.wait_event(copied)
        for tensor in (x, y):
            tensor.record_stream(training)
        if self._augment is not None:
            indices = moved(batch.indices, self._device)
            x = augmented(x, self._augment, key(composition.run.seed, "augment", batch.step), indices)
        return batch, self._show(x) if self._show else x.to(self._dtype, memory_format=self._layout), y
