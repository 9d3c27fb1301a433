import io

import numpy as np
import pytest
from PIL import Image

from paceline.data.images import CorruptError, is_image, square


def packed(image, form="PNG", **said):
    buffer = io.BytesIO()
    image.save(buffer, form, **said)
    return buffer.getvalue()


def thirds(width, height):
    """Red, green and blue stripes, from left to right."""
    pixels = np.zeros((height, width, 3), np.uint8)
    for channel in range(3):
        pixels[:, channel * width // 3 : (channel + 1) * width // 3, channel] = 255
    return Image.fromarray(pixels)


def test_the_middle_of_the_image_at_the_size_asked_for():
    made = square(packed(thirds(90, 30)), 10)
    assert (made.shape, made.dtype, made.flags.c_contiguous) == ((3, 10, 10), np.uint8, True)
    assert (made[1, :, 2:-2] == 255).all()
    assert not made[[0, 2], :, 2:-2].any()
    assert square(packed(thirds(30, 90)), 10)[0, :, 0].tolist() == [255] * 10


def test_it_is_what_resizing_and_cropping_give(scene):
    image = Image.fromarray(scene(1, 64)).crop((0, 0, 64, 48))
    by_hand = np.asarray(image.resize((32, 24), Image.Resampling.BICUBIC).crop((4, 0, 28, 24))).transpose(2, 0, 1)
    assert np.abs(square(packed(image), 24).astype(int) - by_hand).max() <= 1


def test_a_small_image_is_enlarged_and_one_of_the_right_size_untouched(scene):
    assert square(packed(Image.fromarray(scene(2, 8))), 20).shape == (3, 20, 20)
    assert (square(packed(Image.fromarray(scene(2, 20))), 20) == scene(2, 20).transpose(2, 0, 1)).all()


def test_exif_says_which_side_is_up(scene):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    image = Image.fromarray(scene(3, 40))
    turned = square(packed(image.rotate(90), "JPEG", quality=95, exif=exif), 20)
    expected = square(packed(image), 20)
    assert np.abs(turned.astype(int) - expected).mean() < 6
    assert np.abs(np.rot90(turned, 1, (1, 2)).astype(int) - expected).mean() > 20


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
def test_any_mode_becomes_rgb(mode):
    if mode == "I;16":
        image = Image.fromarray(np.full((8, 8), 200 << 8, np.uint16))
    else:
        image = Image.new("RGB", (8, 8), (200, 200, 200)).convert(mode)
    made = square(packed(image, "TIFF"), 8)
    assert made.shape == (3, 8, 8)
    assert mode in ("1", "P") or abs(made.astype(int) - 200).max() <= 2


def test_a_palette_with_transparency_warns_of_nothing():
    image = Image.new("P", (8, 8))
    assert square(packed(image, transparency=b"\x00\x80"), 8).shape == (3, 8, 8)


def test_a_large_jpeg_is_much_the_same_decoded_small(scene):
    image = Image.fromarray(scene(4, 800))
    made, exact = square(packed(image, "JPEG", quality=95), 32), square(packed(image), 32)
    assert np.abs(made.astype(int) - exact).mean() < 2


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>not found</html>",
        packed(thirds(90, 30))[:-40],
        packed(thirds(90, 30), "JPEG")[:300],
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n",
    ],
    ids=["empty", "text", "cut png", "cut jpeg", "postscript"],
)
def test_what_is_no_whole_image_is_corrupt(raw):
    with pytest.raises(CorruptError, match=r".+"):
        square(raw, 8)


def test_images_are_known_by_their_suffix():
    assert is_image("a/b.JPG")
    assert is_image("x.tar.webp")
    assert not any(map(is_image, ["jpg", "a.txt", "Thumbs.db", "a.eps", "a.jpg/readme"]))
