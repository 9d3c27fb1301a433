"""One example as a small PNG, for a page."""

import base64
import io

import torch
from torch import Tensor

SIDE = 64
COLOURS = 64


def png(x: Tensor) -> str | None:
    """Base64 of an image of one or three channels, bytes or 0 to 1; None for what is no image."""
    if x.dim() != 3 or x.shape[0] not in (1, 3):
        return None
    from PIL import Image

    values = x if x.dtype == torch.uint8 else (x.clamp(0, 1) * 255).round().to(torch.uint8)
    pixels = values.permute(1, 2, 0).squeeze(2) if x.shape[0] == 1 else values.permute(1, 2, 0)
    picture = Image.fromarray(pixels.contiguous().numpy())
    picture.thumbnail((SIDE, SIDE))
    picture = picture.quantize(COLOURS) if x.shape[0] == 3 else picture
    held = io.BytesIO()
    picture.save(held, "PNG", optimize=True)
    return base64.b64encode(held.getvalue()).decode()
