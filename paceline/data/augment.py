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


def augmented(images: Tensor, how: Augment, key: int | Tensor, indices: Tensor) -> Tensor:
    """[n, h, w, c] images, bytes or floats, as they were or changed; never in place."""
    draws = uniforms(key, indices, DRAWS)
    images = _moved(images, how, draws)
    if how.rotate or how.zoom:
        images = _turned(images, how, draws[6:8])
    if how.cutout:
        images = images * ~_square(images, how.cutout, draws[8:10]).unsqueeze(3)
    return images


def _moved(images: Tensor, how: Augment, draws: Tensor) -> Tensor:
    """Flips, shifts and crops in one look-up: row and column from which each pixel comes."""
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
    most = int(how.shift) if how.shift >= 1 else round(how.shift * side)
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
