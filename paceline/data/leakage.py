"""Near-duplicates between two sets of colour images: copies flipped, turned by quarters, slightly shifted or noisy.

Every test image, in its eight positions, is compared with every training image by the low frequencies of small
thumbnails (matrix products in blocks). The few nearest are then laid over each other, shifted to fit, and held to be
copies if the finer structure, which unlike things do not share, agrees.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

SIDE = 32  # of a thumbnail
FREQUENCIES = 6  # of the cosines along each side
FLATTEN = 0.5  # how far the amplitudes of the frequencies are evened out: 0 not, 1 wholly
NEAREST = 24  # training images looked at closely for each test image
SHIFT = 3  # pixels of a thumbnail, either way
FAINT = 0.01  # detail below this, of the range from black to white, counts less
COPY = 0.8  # agreement from which two images are copies of each other
FULL = 0.7  # of images with less detail than this, on a scale to 1, more agreement is asked
MOST_TRAIN, MOST_TEST = 50_000, 10_000  # compared at most
CLOSEST = 10
CHUNK = 2048  # thumbnails at a time
VALUES = 30_000_000  # of images at a time
BLOCK = 8192  # training images at a time

TURNS = (
    "as it is",
    "mirrored",
    "upside down",
    "turned by a half",
    "transposed",
    "turned a quarter right",
    "turned a quarter left",
    "transposed the other way",
)  # position = 4 * transposed + 2 * flipped vertically + flipped horizontally: how a test image comes to fit


class Pair(NamedTuple):
    """Indices into the two sets, how well the two agree, and what makes the test image fit."""

    train: int
    test: int
    similarity: float
    change: str


@dataclass(frozen=True)
class Leakage:
    train: int  # images compared
    test: int
    sampled: bool  # whether these are fewer than there are
    copies: int  # test images with a near-duplicate in training
    closest: tuple[Pair, ...]

    @property
    def share(self) -> float:
        return self.copies / self.test


def leakage(train: Sequence[Tensor], test: Tensor) -> Leakage:
    """Of uint8 [n, 3, h, w] images; of more than the most that are compared, evenly spread ones.

    `train` may be in several parts, whose images are counted through.
    """
    trained = sum(map(len, train))
    of_train, of_test = _spread(trained, MOST_TRAIN), _spread(len(test), MOST_TEST)
    found = [
        pair._replace(train=int(of_train[pair.train]), test=int(of_test[pair.test]))
        for pair in _pairs(_thumbnails(train, of_train), _thumbnails([test], of_test))
    ]
    found.sort(key=lambda pair: -pair.similarity)
    sampled = len(of_train) < trained or len(of_test) < len(test)
    return Leakage(len(of_train), len(of_test), sampled, len(found), tuple(found[:CLOSEST]))


def _pairs(train: Tensor, test: Tensor) -> list[Pair]:
    """The test thumbnails that are copies, each with the training one that agrees best."""
    nearest, positions = _candidates(train, test)
    fine_train, fine_test = _fine(train), _fine(test)
    asked_train, asked_test = _asked(fine_train), _asked(fine_test)
    pairs = []
    for start in range(0, len(test), CHUNK // NEAREST):
        rows = slice(start, start + CHUNK // NEAREST)
        similarity, shifts = _agreement(fine_train, fine_test[rows], nearest[rows], positions[rows])
        margin = similarity - torch.maximum(asked_train[nearest[rows]], asked_test[rows, None])
        best = margin.argmax(1)
        for i in (margin.amax(1) >= 0).nonzero()[:, 0].tolist():
            j = int(best[i])
            change = _change(int(positions[start + i, j]), int(shifts[i, j]))
            pairs.append(Pair(int(nearest[start + i, j]), start + i, float(similarity[i, j]), change))
    return pairs


def _asked(fine: Tensor) -> Tensor:
    """The agreement that makes copies: outlines alone, before an empty background, are soon alike."""
    detail = torch.cat([some.float().pow(2).mean((1, 2, 3)) for some in torch.split(fine, CHUNK)])
    return 1 - (1 - COPY) * (detail / FULL).clamp(max=1)


def _change(position: int, shift: int) -> str:
    down, right = (d - SHIFT for d in divmod(shift, 2 * SHIFT + 1))
    moved = f", shifted by {math.hypot(down, right) / SIDE:.0%} of its side" if down or right else ""
    return TURNS[position] + moved


def _spread(n: int, most: int) -> Tensor:
    return torch.arange(n) if n <= most else torch.linspace(0, n - 1, most, dtype=torch.float64).round().long()


def _thumbnails(parts: Sequence[Tensor], chosen: Tensor) -> Tensor:
    """uint8 [n, 3, SIDE, SIDE] of the chosen images, whose numbers ascend."""
    made, first = [], 0
    for images in parts:
        own = chosen[(chosen >= first) & (chosen < first + len(images))] - first
        first += len(images)
        for some in torch.split(own, max(1, VALUES // images[0].numel())):
            made.append(_thumbnail(images[some]))
    return torch.cat(made)


def _thumbnail(images: Tensor) -> Tensor:
    if images.shape[-2:] == (SIDE, SIDE):
        return images
    small = functional.interpolate(images.float(), (SIDE, SIDE), mode="bilinear", antialias=True)
    return small.round().clamp(0, 255).byte()


def _candidates(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """For each test thumbnail, the NEAREST training ones by low frequencies, and the positions in which they are."""
    low_train, low_test = _low(train), _low(test)
    scale = low_train.pow(2).mean((0, 1)).sqrt()
    scale = ((scale + scale.T) / 2).clamp(min=1e-6).pow(-FLATTEN)  # alike for both directions: a turn swaps them
    flat_train = _unit(low_train * scale)
    turned = torch.stack([_unit(_position(low_test * scale, position)) for position in range(len(TURNS))], 1)
    k = min(NEAREST, len(train))
    values, chosen = torch.empty((len(test), 0)), torch.empty((len(test), 0), dtype=torch.int64)
    for start in range(0, len(train), BLOCK):
        block = flat_train[start : start + BLOCK]
        found = [_best(some, block, min(k, len(block))) for some in torch.split(turned, 256)]
        values = torch.cat([values, torch.cat([value for value, _ in found])], 1)
        chosen = torch.cat([chosen, torch.cat([index for _, index in found]) + start], 1)
        values, kept = values.topk(min(k, values.shape[1]), 1)
        chosen = chosen.gather(1, kept)
    positions = [
        torch.einsum("npd,nkd->nkp", t, flat_train[c]).argmax(2)
        for t, c in zip(torch.split(turned, 256), torch.split(chosen, 256), strict=True)
    ]
    return chosen, torch.cat(positions)


def _best(turned: Tensor, block: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Values and indices of the k training images nearest to each test image in the best of its positions."""
    similar = (turned.flatten(0, 1) @ block.T).view(len(turned), len(TURNS), len(block))
    values, indices = similar.amax(1).topk(k, 1)
    return values, indices


def _low(thumbnails: Tensor) -> Tensor:
    """The low frequencies [n, 3, f, f] of every channel, without the mean."""
    place = (torch.arange(SIDE) + 0.5) * math.pi / SIDE
    basis = torch.cos(torch.arange(FREQUENCIES)[:, None] * place)
    parts = [
        torch.einsum("nchw,fh,gw->ncfg", some.float() / 255, basis, basis) for some in torch.split(thumbnails, CHUNK)
    ]
    low = torch.cat(parts)
    low[:, :, 0, 0] = 0
    return low


def _position(low: Tensor, position: int) -> Tensor:
    """Low frequencies of the image in another position: a flip changes the sign of the odd ones."""
    transposed, vertical, horizontal = position & 4, position & 2, position & 1
    odd = 1.0 - 2.0 * (torch.arange(FREQUENCIES) % 2)
    low = low.transpose(2, 3) if transposed else low
    low = low * odd[:, None] if vertical else low
    return low * odd if horizontal else low


def _turn(images: Tensor, position: int) -> Tensor:
    """[n, c, h, w] in another position: transposed first, then flipped."""
    images = images.transpose(2, 3) if position & 4 else images
    sides = [dim for dim, bit in ((2, 2), (3, 1)) if position & bit]
    return images.flip(sides) if sides else images


def _unit(low: Tensor) -> Tensor:
    return functional.normalize(low.flatten(1), dim=1, eps=1e-6)


def _fine(thumbnails: Tensor) -> Tensor:
    """Half-precision [n, 1, SIDE, SIDE], in grey: lightly smoothed against noise, without the coarse, and evened out.

    Without the last, an outline before an empty background would outweigh all that is inside it.
    """
    parts = []
    for some in torch.split(thumbnails, CHUNK):
        image = some.float().mean(1, keepdim=True) / 255
        detail = _blur(image, 1) - _blur(image, 2)
        around = _blur(detail.pow(2), 2)
        parts.append((detail / (around + FAINT**2).sqrt()).half())
    return torch.cat(parts)


def _blur(image: Tensor, radius: int) -> Tensor:
    padded = functional.pad(image, (radius,) * 4, mode="replicate")
    return functional.avg_pool2d(padded, 2 * radius + 1, stride=1)


def _agreement(train: Tensor, test: Tensor, nearest: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """For each candidate, the best correlation over small shifts, and which shift that is."""
    turned = torch.stack([_turn(test.float(), position)[:, 0] for position in range(len(TURNS))], 1)
    rows = torch.arange(len(test))[:, None].expand_as(positions)
    a, b = turned[rows, positions].flatten(0, 1), train[nearest.flatten()].float()[:, 0]
    window, shifts = SIDE - 2 * SHIFT, 2 * SHIFT + 1
    middle = b[:, SHIFT : SIDE - SHIFT, SHIFT : SIDE - SHIFT]
    padded = functional.pad(middle, (0, 2 * SHIFT, 0, 2 * SHIFT))
    products = torch.fft.rfft2(a) * torch.fft.rfft2(padded).conj()
    overlaps = torch.fft.irfft2(products, (SIDE, SIDE))[:, :shifts, :shifts]
    energy = functional.avg_pool2d(a.pow(2), window, stride=1) * window**2
    lengths = (energy * middle.pow(2).sum((1, 2))[:, None, None]).sqrt()
    best, shift = (overlaps / lengths.clamp(min=1e-4)).flatten(1).max(1)
    return best.view(nearest.shape), shift.view(nearest.shape)
