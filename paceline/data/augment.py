"""Training images changed at random: whole batches at once, on the device they are on.

What is drawn for an example is a function of the run's seed, the step and the example's index. Flips, shifts and
crops move pixels and touch no value; turns and zooms interpolate.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from paceline.data.draws import uniforms
from paceline.spec.run import Augment

DRAWS = 10
MOVING_DRAWS = 6  # the first of them: flips, shifts and crops


def augmented(images: Tensor, how: Augment, key: int | Tensor, indices: Tensor) -> Tensor:
    """[n, h, w, c] images, bytes or floats, as they were or changed; never in place."""
    draws = uniforms(key, indices, DRAWS if how.rotate or how.zoom or how.cutout else MOVING_DRAWS)
    images = _moved(images, how, draws)
    if how.rotate or how.zoom:
        images = _turned(images, how, draws[6:8])
    if how.cutout:
        images = images * ~_square(images, how.cutout, draws[8:10]).unsqueeze(3)
    return images


def _moved(images: Tensor, how: Augment, draws: Tensor) -> Tensor:
    """Flips, shifts and crops."""
    moves = how.flip != "none" or how.shift or how.crop
    by_rows = images.device.type == "cpu" and not (how.shift and how.crop)
    return (_moved_by_rows if by_rows else _moved_by_pixels)(images, how, draws) if moves else images


def _moved_by_rows(images: Tensor, how: Augment, draws: Tensor) -> Tensor:
    """Windows of a larger picture, copied row by row: on a CPU several times as fast as pixel by pixel."""
    height, width, channels = images.shape[1:]
    down, across = (how.crop or _most(how, side) for side in (height, width))
    for dim, draw, kinds in ((1, draws[0], ("vertical", "both")), (2, draws[3], ("horizontal", "both"))):
        if how.flip in kinds:
            images = _flipped(images, draw < 0.5, dim)
    if not down and not across:
        return images
    framed = _framed(images, down, across, repeat=how.crop == 0)
    which = 2 if how.crop else 1
    top, left = down + _whole(draws[which], down), across + _whole(draws[3 + which], across)
    first = torch.arange(len(images)).unsqueeze(1) * framed.shape[1] + top
    starts = ((first + torch.arange(height)) * framed.shape[2] + left) * channels
    flat, length = framed.flatten(), width * channels
    rows = flat.as_strided((flat.numel() - length + 1, length), (1, 1))  # one begins at every number
    return rows.index_select(0, starts.flatten()).view(images.shape)


def _flipped(images: Tensor, which: Tensor, dim: int) -> Tensor:
    """Some of the images mirrored: appended and chosen, which takes half the time of writing them back."""
    mirrored = images.index_select(0, which.nonzero().squeeze(1)).flip(dim)
    place = torch.where(which, len(images) - 1 + which.cumsum(0), torch.arange(len(images)))
    return torch.cat([images, mirrored]).index_select(0, place)


def _framed(images: Tensor, down: int, across: int, repeat: bool) -> Tensor:
    """A copy with a border, black or of the repeated edge."""
    if not repeat:
        return F.pad(images, (0, 0, across, across, down, down))
    for dim, border in ((2, across), (1, down)):
        sizes = [-1, -1, -1, -1]
        sizes[dim] = border
        first, last = images.narrow(dim, 0, 1), images.narrow(dim, images.shape[dim] - 1, 1)
        images = torch.cat([first.expand(sizes), images, last.expand(sizes)], dim)
    return images


def _most(how: Augment, side: int) -> int:
    """Pixels by which a side is shifted at most."""
    return int(how.shift) if how.shift >= 1 else round(how.shift * side)


def _moved_by_pixels(images: Tensor, how: Augment, draws: Tensor) -> Tensor:
    """In one look-up: row and column from which each pixel comes. It never asks the device for a number."""
    height, width = images.shape[1:3]
    vertical, horizontal = how.flip in ("vertical", "both"), how.flip in ("horizontal", "both")
    rows, row_inside = _sources(height, how, draws[0:3], vertical)
    columns, column_inside = _sources(width, how, draws[3:6], horizontal)
    if rows is None and columns is None:
        return images
    every = torch.arange(max(height, width), device=images.device)
    rows = every[:height].unsqueeze(0) if rows is None else rows
    columns = every[:width].unsqueeze(0) if columns is None else columns
    place = torch.arange(len(images), device=images.device).view(-1, 1, 1) * height
    flat = ((place + rows.unsqueeze(2)) * width + columns.unsqueeze(1)).flatten()
    found = images.reshape(-1, images.shape[3]).index_select(0, flat).view(images.shape)
    if row_inside is not None and column_inside is not None:
        found.mul_((row_inside.unsqueeze(2) & column_inside.unsqueeze(1)).unsqueeze(3))
    return found


def _sources(side: int, how: Augment, draws: Tensor, flip: bool) -> tuple[Tensor | None, Tensor | None]:
    """[n, side] places from which each place's pixel comes, and whether that is inside the cropped picture."""
    most = _most(how, side)
    if not (flip or most or how.crop):
        return None, None
    places = torch.arange(side, device=draws.device).unsqueeze(0)
    inside = None
    if how.crop:
        places = places + _whole(draws[2], how.crop)
        inside = (places >= 0) & (places < side)
    if most:
        places = places + _whole(draws[1], most)
    places = places.clamp(0, side - 1)
    if flip:
        places = torch.where((draws[0] < 0.5).unsqueeze(1), side - 1 - places, places)
    return places, inside


def _whole(draws: Tensor, most: int) -> Tensor:
    """Whole numbers from -most to most, one a row."""
    return ((draws * (2 * most + 1)).long() - most).unsqueeze(1)


def _turned(images: Tensor, how: Augment, draws: Tensor) -> Tensor:
    """Rotated and zoomed about the centre; beyond the edge, the edge is repeated."""
    angle = (draws[0] * 2 - 1) * math.radians(how.rotate)
    scale = 1 + (draws[1] * 2 - 1) * how.zoom
    height, width = images.shape[1:3]
    cos, sin, none = angle.cos() / scale, angle.sin() / scale, torch.zeros_like(angle)
    across = torch.stack([cos, -sin * (height / width), none], 1)
    down = torch.stack([sin * (width / height), cos, none], 1)
    pictures = images.permute(0, 3, 1, 2)
    values = pictures if images.is_floating_point() else pictures.float()
    grid = F.affine_grid(torch.stack([across, down], 1).to(values.dtype), list(values.shape), align_corners=False)
    found: Tensor = F.grid_sample(values, grid, mode="bilinear", padding_mode="border", align_corners=False)
    found = found if images.is_floating_point() else found.round().to(images.dtype)
    return found.permute(0, 2, 3, 1)


def _square(images: Tensor, side: int, draws: Tensor) -> Tensor:
    """[n, h, w], true inside a square whose centre is anywhere in the picture."""
    inside: list[Tensor] = []
    for length, draw in zip(images.shape[1:3], draws, strict=True):
        first = (draw * length).long().unsqueeze(1) - side // 2
        places = torch.arange(length, device=images.device).unsqueeze(0)
        inside.append((places >= first) & (places < first + side))
    return inside[0].unsqueeze(2) & inside[1].unsqueeze(1)
