"""The idx format of MNIST: 0 0 type rank, the sizes as big-endian uint32, then the bytes."""

import math
import struct
from collections.abc import Iterable

UBYTE = 0x08


class IdxError(Exception):
    """The bytes are no idx file of unsigned bytes; `str()` says why."""


def encode(shape: tuple[int, ...], content: bytes) -> bytes:
    """An idx file of unsigned bytes."""
    if len(content) != math.prod(shape):
        raise IdxError(f"{len(content)} bytes do not fill the shape {shape}")
    return bytes((0, 0, UBYTE, len(shape))) + struct.pack(f">{len(shape)}I", *shape) + content


def decode(raw: bytes, rank: int) -> tuple[tuple[int, ...], memoryview]:
    """The shape and the bytes of an idx file that must hold unsigned bytes in `rank` dimensions."""
    start = 4 + 4 * rank
    if raw[:4] != bytes((0, 0, UBYTE, rank)):
        raise IdxError(f"it begins with {raw[:4].hex(' ') or 'nothing'}, not 00 00 08 {rank:02x}")
    if len(raw) < start:
        raise IdxError(f"its header is cut off after {len(raw)} of {start} bytes")
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    if len(raw) - start != math.prod(shape):
        raise IdxError(f"its header says {math.prod(shape):,} values {shape}, but {len(raw) - start:,} follow")
    return shape, memoryview(raw)[start:]


def from_csv(lines: Iterable[bytes], shape: tuple[int, int]) -> tuple[bytes, bytes]:
    """(images, labels) as idx files, from a CSV with a header line and rows of label, pixel, pixel, ..."""
    value = {str(v).encode(): v for v in range(256)}
    labels, pixels, width = bytearray(), bytearray(), 1 + math.prod(shape)
    rows = iter(lines)
    next(rows, None)
    for number, line in enumerate(rows, start=2):
        cells = line.strip().split(b",")
        if len(cells) != width:
            raise IdxError(f"line {number} has {len(cells)} cells, not {width}")
        try:
            row = bytes(map(value.__getitem__, cells))
        except KeyError as error:
            raise IdxError(f"line {number} holds {error.args[0]!r}, not 0 to 255") from None
        labels.append(row[0])
        pixels += row[1:]
    return encode((len(labels), *shape), bytes(pixels)), encode((len(labels),), bytes(labels))
