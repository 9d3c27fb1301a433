"""The memory loader: a split as tensors on the device, each batch gathered by index into a buffer that is reused."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from paceline.data.augment import augmented
from paceline.data.dataset import Split
from paceline.spec.run import Augment

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Look:
    """How images are shown to the network: their side, and the mean and deviation that become 0 and 1."""

    size: int | None = None
    mean: tuple[float, ...] = ()  # none: as they are, bytes as 0 to 1
    deviation: tuple[float, ...] = ()


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
    ) -> None:
        look = look or Look()
        self._look, self._augment, self._dtype = look, augment, dtype
        self._bytes = split.x.dtype == torch.uint8
        self._pictures = self._bytes or augment is not None or look != Look()
        self._channels_last = channels_last and split.x.dim() == 4
        last = self._channels_last or self._pictures
        x = split.x.permute(0, 2, 3, 1) if last else split.x
        self._x = (x.to(device) if self._bytes else x.to(device, dtype)).contiguous()
        self._y = split.y.to(device) if split.y.dtype == torch.int64 else split.y.to(device, dtype)
        self._buffer = self._x.new_empty(0)
        self._levels = self._scaling() if self._bytes or look.mean else None

    def __len__(self) -> int:
        return len(self._x)

    @property
    def dtype(self) -> torch.dtype:
        """Of the inputs as they are shown."""
        return self._dtype

    @property
    def targets(self) -> Tensor:
        return self._y

    def gather(self, indices: Tensor, key: int | Tensor = 0) -> tuple[Tensor, Tensor]:
        """Inputs and targets; `key` is for the draws of the augmentation."""
        indices = indices.to(self._x.device, non_blocking=True)
        if len(self._buffer) < len(indices):
            self._buffer = self._x.new_empty((len(indices), *self._x.shape[1:]))
        x = torch.index_select(self._x, 0, indices, out=self._buffer[: len(indices)])
        if self._augment is not None:
            key = key.to(indices.device) if isinstance(key, Tensor) else key
            x = augmented(x, self._augment, key, indices)
        return self._shown(x), self._y[indices]

    def chunk(self, start: int, stop: int) -> Tensor:
        """Consecutive inputs, in file order, unchanged: for evaluation."""
        return self._shown(self._x[start:stop])

    def _scaling(self) -> tuple[Tensor, Tensor]:
        """Factor and offset of a row of pixels: short rows of channels alone would be slow."""
        width, channels = self._x.shape[2:]
        unit = 255.0 if self._bytes else 1.0
        mean = torch.tensor(self._look.mean or (0.0,) * channels, dtype=torch.float64)
        deviation = torch.tensor(self._look.deviation or (1.0,) * channels, dtype=torch.float64)
        factor, offset = 1 / (unit * deviation), -mean / deviation
        row = (factor.expand(width, channels), offset.expand(width, channels))
        return tuple(level.reshape(-1).to(self._x.device, self._dtype) for level in row)  # type: ignore[return-value]

    def _shown(self, x: Tensor) -> Tensor:
        if not self._pictures:
            return x.permute(0, 3, 1, 2) if self._channels_last else x
        if self._levels is not None:
            factor, offset = self._levels
            rows = x.to(self._dtype).flatten(2)
            x = torch.addcmul(offset, rows, factor).view(x.shape)
        x = x.permute(0, 3, 1, 2)
        side = self._look.size
        if side is not None and tuple(x.shape[2:]) != (side, side):
            x = F.interpolate(x, (side, side), mode="bilinear", antialias=min(x.shape[2:]) > side, align_corners=False)
        return x if self._channels_last else x.contiguous()
