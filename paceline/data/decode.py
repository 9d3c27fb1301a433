"""Single images decoded when they are asked for, as a loader with workers does for every example it gives."""

from dataclasses import dataclass

import torch
from torch import Tensor

from paceline.data.imagefiles import Collection
from paceline.data.images import CorruptError, square
from paceline.errors import DataError


@dataclass(frozen=True, eq=False)
class Decoder:
    """The images of a split, by their place in it: uint8 [3, size, size], as the image cache has them."""

    files: Collection
    names: tuple[str, ...]
    size: int

    def __call__(self, index: int) -> Tensor:
        name = self.names[index]
        try:
            return torch.from_numpy(square(self.files.bytes_of(name), self.size))
        except (CorruptError, KeyError) as error:
            raise DataError(f"{name} has changed since it was first read: {error}.") from error
