"""One image file to a square of bytes: decoded, turned upright, resized and cropped."""

import functools
import io

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

VERSION = 1  # of what is done to an image: a new one makes every cache anew
SUFFIXES = frozenset(
    (
        *(".avif", ".bmp", ".gif", ".ico", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg", ".pbm"),
        *(".pgm", ".png", ".pnm", ".ppm", ".tga", ".tif", ".tiff", ".webp"),
    )
)
FORMATS = ("AVIF", "BMP", "GIF", "ICO", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP")
DEEP = ("I", "I;16", "I;16B", "I;16L", "I;16N")  # modes of 16-bit grey


class CorruptError(Exception):
    """The bytes are no whole image; `str()` says how."""


def is_image(name: str) -> bool:
    """By its suffix: what has one of these and cannot be decoded is a corrupt image."""
    return name[name.rfind(".") :].lower() in SUFFIXES if "." in name else False


def square(raw: bytes, size: int) -> np.ndarray:
    """uint8 [3, size, size]: the middle of the image, its shorter side resized to `size`, in RGB.

    A JPEG is decoded at the least scale that has twice that size.
    """
    try:
        with Image.open(io.BytesIO(raw), formats=_formats()) as image:
            image.draft("RGB", (2 * size, 2 * size))
            upright = _rgb(ImageOps.exif_transpose(image))
        (width, height), side = upright.size, min(upright.size)
        left, top = (width - side) / 2, (height - side) / 2
        box = (left, top, left + side, top + side)
        fitted = upright.resize((size, size), Image.Resampling.BICUBIC, box=box)
    except UnidentifiedImageError as error:
        raise CorruptError("it is no image of a known format") from error
    except Exception as error:  # decoders raise whatever broken bytes lead them to
        raise CorruptError(str(error).replace("\n", " ") or type(error).__name__) from error
    return np.ascontiguousarray(np.asarray(fitted).transpose(2, 0, 1))


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode in DEEP:
        image = Image.fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return image.convert("RGB")


@functools.cache
def _formats() -> tuple[str, ...]:
    """Of the formats read here, those that this Pillow knows; none of them calls another program."""
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)
