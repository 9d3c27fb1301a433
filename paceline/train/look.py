"""How a run's images are shown to its network: scaled, and with which mean and deviation."""

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from paceline.data.dataset import Dataset
from paceline.data.show import IMAGENET, Look
from paceline.errors import StudyError
from paceline.spec import Run

CHUNK = 1000
_levels: WeakKeyDictionary[Dataset, Look] = WeakKeyDictionary()


def look(run: Run, dataset: Dataset) -> Look:
    """Unsaid, images are normalised as those were that the weights come from, colour images else by their own levels,
    and all others are shown as they are, from 0 to 1."""
    x = dataset.train.x
    if dataset.base_shape is not None:  # what a frozen base made of them
        return Look()
    asked = run.image_size is not None or run.augment is not None or run.normalize in ("data", "imagenet")
    if x.dim() != 4:
        if asked:
            field = "augment" if run.augment else "image_size" if run.image_size else "normalize"
            raise StudyError(
                f"this is for images; an example of {run.data.name} has the shape {dataset.input_shape}.", key=field
            )
        return Look()
    how: str = run.normalize
    if how == "auto":
        own = "data" if x.dtype == torch.uint8 and x.shape[1] == 3 else "none"
        how = "imagenet" if run.weights != "none" else own
    if how == "none":
        return Look(run.image_size)
    if how == "imagenet":
        if x.shape[1] != 3:
            raise StudyError(
                f"imagenet's levels are of three colours; {run.data.name} has {x.shape[1]}.", key="normalize"
            )
        return Look(run.image_size, *IMAGENET)
    mean, deviation = levels(dataset)
    return Look(run.image_size, mean, deviation)


def levels(dataset: Dataset) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation of each channel of the training images, as 0 to 1."""
    if dataset not in _levels:
        x = dataset.train.x
        sums = torch.zeros(2, x.shape[1], dtype=torch.float64)
        for at in range(0, len(x), CHUNK):
            sums += _moments(x[at : at + CHUNK])
        mean, square = sums / (x.numel() / x.shape[1])
        deviation = (square - mean**2).clamp(min=1e-12).sqrt()
        _levels[dataset] = Look(None, tuple(mean.tolist()), tuple(deviation.tolist()))
    kept = _levels[dataset]
    return kept.mean, kept.deviation


def _moments(x: Tensor) -> Tensor:
    values = x.float() / 255 if x.dtype == torch.uint8 else x.float()
    return torch.stack([values.sum((0, 2, 3)), values.square().sum((0, 2, 3))]).double()
