"""Images flipped and cropped one by one, as a torch Dataset for DataLoader: the usual way, and as fast as by hand.

Both hand out floats, normalised, channels first, and their labels.
"""

import random
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

Levels = tuple[Sequence[float], Sequence[float]]  # mean and deviation of each channel, as 0 to 1
Sample = tuple[Tensor, Tensor]


class Usual(Dataset[Sample]):
    """Every step on every sample, with tensors, as the usual chain of transforms does it."""

    def __init__(self, images: Tensor, labels: Tensor, levels: Levels, crop: int) -> None:
        self.images, self.labels, self.crop = images, labels, crop
        self.mean, self.deviation = (torch.tensor(level).view(-1, 1, 1) for level in levels)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Sample:
        image = self.images[index]
        height, width = image.shape[1:]
        padded = F.pad(image, [self.crop] * 4)
        top, left = random.randrange(2 * self.crop + 1), random.randrange(2 * self.crop + 1)
        cut = padded[:, top : top + height, left : left + width]
        if random.random() < 0.5:
            cut = cut.flip(2)
        return (cut.float() / 255 - self.mean) / self.deviation, self.labels[index]


class Fast(Dataset[tuple[np.ndarray, int]]):
    """Borders are added once, a crop is a view of numpy's, and `collate` normalises a whole batch in the worker."""

    def __init__(self, images: Tensor, labels: Tensor, levels: Levels, crop: int) -> None:
        self.height, self.width, self.crop = *images.shape[2:], crop
        self.images, self.labels = F.pad(images, [crop] * 4).numpy(), labels.tolist()
        mean, deviation = (torch.tensor(level, dtype=torch.float64) for level in levels)
        self.factor, self.offset = ((1 / (255 * deviation)).float(), (-mean / deviation).float())

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[np.ndarray, int]:
        top, left = random.randrange(2 * self.crop + 1), random.randrange(2 * self.crop + 1)
        cut = self.images[index, :, top : top + self.height, left : left + self.width]
        return (cut[:, :, ::-1] if random.random() < 0.5 else cut), self.labels[index]

    def collate(self, samples: list[tuple[np.ndarray, int]]) -> Sample:
        cuts, labels = zip(*samples, strict=True)
        x = torch.from_numpy(np.stack(cuts)).float()
        return torch.addcmul(self.offset.view(-1, 1, 1), x, self.factor.view(-1, 1, 1)), torch.tensor(labels)


def loader(samples: Usual | Fast, batch: int, workers: int) -> DataLoader[Sample]:
    return DataLoader(
        samples,  # type: ignore[arg-type]
        batch,
        shuffle=True,
        num_workers=workers,
        persistent_workers=workers > 0,
        collate_fn=samples.collate if isinstance(samples, Fast) else None,
    )
