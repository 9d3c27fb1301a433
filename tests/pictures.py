"""Small images for tests."""

import torch

from paceline.data.dataset import Dataset, Split


def coloured(train: int, validation: int, test: int) -> Dataset:
    """Their colours tell the class; bytes, as image sets have them."""
    draw = torch.Generator().manual_seed(1)

    def split(count: int) -> Split:
        y = torch.randint(0, 3, (count,), generator=draw)
        x = torch.randint(0, 120, (count, 3, 16, 16), generator=draw)
        x[torch.arange(count), y] += 100
        return Split(x.to(torch.uint8), y)

    return Dataset("pictures", split(train), split(validation), split(test), 3, "sha256:pictures", ("r", "g", "b"))
