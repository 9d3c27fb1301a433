"""How images are shown to a network: bytes scaled to floats, normalised, resized; the same for every loader."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from paceline.data.dataset import Split
from paceline.spec.run import Augment

IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Look:
    """How images are shown to the network: their side, and the mean and deviation that become 0 and 1."""

    size: int | None = None
    mean: tuple[float, ...] = ()  # none: as they are, bytes as 0 to 1
    deviation: tuple[float, ...] = ()


def are_pictures(split: Split, look: Look, augment: Augment | None) -> bool:
    """Whether examples have to be shown: bytes that become floats, or images that are changed on the way."""
    return split.x.dtype == torch.uint8 or augment is not None or look != Look()


def answers(split: Split, dtype: torch.dtype) -> Tensor:
    """Labels as they are, values in the type that the run computes in."""
    return split.y if split.y.dtype == torch.int64 else split.y.to(dtype)


class Show:
    """[n, height, width, channels] images, bytes or floats, as [n, channels, height, width] of the given type.

    What it gives stays valid until the next call: memory that is new each time would take longer than the arithmetic.
    """

    def __init__(
        self, look: Look, images: Tensor, device: torch.device, dtype: torch.dtype, channels_last: bool
    ) -> None:
        """`images`: any that are like those to be shown."""
        self._size, self._channels_last = look.size, channels_last
        self._room = torch.empty(0, dtype=dtype, device=device)
        whole = images.dtype == torch.uint8
        self._levels = _scaling(look, images, whole, device, dtype) if whole or look.mean else None

    def __call__(self, x: Tensor) -> Tensor:
        if self._levels is not None:
            factor, offset = self._levels
            if self._room.numel() < x.numel():
                self._room = self._room.new_empty(x.numel())
            rows = self._room[: x.numel()].view(*x.shape[:2], -1).copy_(x.flatten(2))
            x = torch.addcmul(offset, rows, factor, out=rows).view(x.shape)
        else:
            x = x.to(self._room.dtype)
        x = x.permute(0, 3, 1, 2)
        side = self._size
        if side is not None and tuple(x.shape[2:]) != (side, side):
            x = F.interpolate(x, (side, side), mode="bilinear", antialias=min(x.shape[2:]) > side, align_corners=False)
        return x if self._channels_last else x.contiguous()


def _scaling(
    look: Look, images: Tensor, whole: bool, device: torch.device, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Factor and offset of a row of pixels: short rows of channels alone would be slow."""
    width, channels = images.shape[2:]
    unit = 255.0 if whole else 1.0
    mean = torch.tensor(look.mean or (0.0,) * channels, dtype=torch.float64)
    deviation = torch.tensor(look.deviation or (1.0,) * channels, dtype=torch.float64)
    factor, offset = 1 / (unit * deviation), -mean / deviation
    row = (factor.expand(width, channels), offset.expand(width, channels))
    return tuple(level.reshape(-1).to(device, dtype) for level in row)  # type: ignore[return-value]
