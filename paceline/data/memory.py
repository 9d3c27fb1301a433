"""The memory loader: the training set as tensors, each batch gathered by index into a buffer that is reused."""

import torch
from torch import Tensor

from paceline.data.dataset import Split


class Memory:
    """Gathers batches of one split on one device. A batch stays valid until the next is gathered."""

    def __init__(self, split: Split, device: torch.device, dtype: torch.dtype, channels_last: bool) -> None:
        self._channels_last = channels_last and split.x.dim() == 4
        x = split.x.permute(0, 2, 3, 1) if self._channels_last else split.x
        self._x = x.to(device, dtype).contiguous()
        self._y = split.y.to(device) if split.y.dtype == torch.int64 else split.y.to(device, dtype)
        self._buffer = self._x.new_empty(0)

    def __len__(self) -> int:
        return len(self._x)

    @property
    def targets(self) -> Tensor:
        return self._y

    def gather(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        indices = indices.to(self._x.device, non_blocking=True)
        if len(self._buffer) < len(indices):
            self._buffer = self._x.new_empty((len(indices), *self._x.shape[1:]))
        x = torch.index_select(self._x, 0, indices, out=self._buffer[: len(indices)])
        return self._shaped(x), self._y[indices]

    def chunk(self, start: int, stop: int) -> Tensor:
        """Consecutive inputs, in file order: a view, for evaluation."""
        return self._shaped(self._x[start:stop])

    def _shaped(self, x: Tensor) -> Tensor:
        return x.permute(0, 3, 1, 2) if self._channels_last else x
