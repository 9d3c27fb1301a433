"""The memory loader: a split as tensors on the device, each batch gathered by index into a buffer that is reused.

One that is only evaluated may stay on the host where the device has no room for it.
"""

from collections.abc import Generator
from itertools import islice

import torch
from torch import Tensor

from paceline.data.augment import augmented
from paceline.data.batches import Batch, Composition
from paceline.data.dataset import Split
from paceline.data.draws import key as draw_key
from paceline.data.show import Look, Show, answers, are_pictures
from paceline.data.transfer import moved
from paceline.spec.run import Augment

TOGETHER_VALUES = 2_000_000  # of inputs that are changed at a time
MOST_TOGETHER = 32  # batches


class Memory:
    """Gathers batches of one split on one device. A batch stays valid until the next is gathered."""

    def __init__(
        self,
        split: Split,
        device: torch.device,
        dtype: torch.dtype,
        channels_last: bool,
        look: Look | None = None,
        augment: Augment | None = None,
        on_host: bool = False,
        copies: bool = False,
    ) -> None:
        """`on_host`: only chunks of it are asked for, and moved to the device one by one. `copies`: chunks and targets
        are, for code that may write into them."""
        look, home = look or Look(), torch.device("cpu") if on_host else device
        self._augment, self._dtype, self._device, self._copies = augment, dtype, device, copies
        whole = split.x.dtype == torch.uint8
        pictures = are_pictures(split, look, augment)
        self._channels_last = channels_last and split.x.dim() == 4
        x = split.x.permute(0, 2, 3, 1) if self._channels_last or pictures else split.x
        x = x.contiguous()
        self._x = x.to(home) if whole else x.to(home, dtype)
        self._y = answers(split, dtype).to(device)
        self._buffer = self._x.new_empty(0)
        self._show = Show(look, self._x, device, dtype, self._channels_last) if pictures else None

    def __len__(self) -> int:
        return len(self._x)

    @property
    def dtype(self) -> torch.dtype:
        """Of the inputs as they are shown."""
        return self._dtype

    @property
    def targets(self) -> Tensor:
        return self._y.clone() if self._copies else self._y

    def batches(self, composition: Composition, start: int) -> Generator[tuple[Batch, Tensor, Tensor]]:
        """Every batch from step `start` on, with its inputs and targets. Small ones are changed several at a time: the
        calling of so many operations would take longer than what they do."""
        several = self._together(composition.width(0))
        coming = composition.batches(start)
        while True:
            group = list(islice(coming, several))
            keys = [draw_key(composition.run.seed, "augment", batch.step) for batch in group]
            if several == 1:
                yield group[0], *self.gather(group[0].indices, keys[0])
                continue
            sizes = [len(batch.indices) for batch in group]
            each = torch.tensor(keys).repeat_interleave(torch.tensor(sizes))
            x, y = self.gather(torch.cat([batch.indices for batch in group]), each)
            yield from zip(group, torch.split(x, sizes), torch.split(y, sizes), strict=True)

    def _together(self, width: int) -> int:
        """How many batches of so many examples are changed at a time."""
        if self._augment is None:
            return 1
        shown = self.chunk(0, 1).numel()  # larger than what is held, where images are enlarged
        return max(1, min(MOST_TOGETHER, TOGETHER_VALUES // (width * max(shown, self._x[0].numel(), 1))))

    def gather(self, indices: Tensor, key: int | Tensor = 0) -> tuple[Tensor, Tensor]:
        """Inputs and targets; `key` is for the draws of the augmentation."""
        indices = moved(indices, self._x.device)
        if len(self._buffer) < len(indices):
            self._buffer = self._x.new_empty((len(indices), *self._x.shape[1:]))
        x = torch.index_select(self._x, 0, indices, out=self._buffer[: len(indices)])
        if self._augment is not None:
            key = moved(key, indices.device) if isinstance(key, Tensor) else key
            x = augmented(x, self._augment, key, indices)
        return self._shown(x), self._y[indices]

    def chunk(self, start: int, stop: int) -> Tensor:
        """Consecutive inputs, in file order, unchanged: for evaluation."""
        shown = self._shown(moved(self._x[start:stop], self._device))
        return shown.clone() if self._copies else shown

    def _shown(self, x: Tensor) -> Tensor:
        if self._show is not None:
            return self._show(x)
        return x.permute(0, 3, 1, 2) if self._channels_last else x
