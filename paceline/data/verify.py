"""Read a file whole and hold what it contains to its catalogue checksum."""

import hashlib
import zlib
from pathlib import Path

from paceline.data.catalogue import File
from paceline.errors import DataError

GZIP = 16 + zlib.MAX_WBITS


class ContentError(Exception):
    """The bytes are not the ones expected; `str()` says how, not what to do."""


def gunzip(packed: bytes, limit: int) -> bytes:
    """All members of a gzip file; refuses a broken one and one that holds more than `limit` bytes."""
    parts, left, rest = [], limit, packed
    while rest:
        member = zlib.decompressobj(GZIP)
        try:
            parts.append(member.decompress(rest, left + 1))
        except zlib.error as error:
            raise ContentError(f"it is no sound gzip file ({error})") from error
        left -= len(parts[-1])
        if left < 0:
            raise ContentError(f"it holds more than the expected {limit:,} bytes")
        if not member.eof:
            raise ContentError("it is truncated")
        rest = member.unused_data
    return parts[0] if len(parts) == 1 else b"".join(parts)


def verified(packed: bytes, file: File) -> bytes:
    """The content of a file (of a gzip file, what is inside), if it is the content the catalogue knows."""
    if not packed:
        raise ContentError("it is empty")
    content = _whole(packed, file) if file.packed else gunzip(packed, file.size)
    found = hashlib.sha256(content).hexdigest()
    if not found.startswith(file.sha256):
        raise ContentError(f"its SHA-256 is {found[:12]}..., not {file.sha256[:12]}...")
    return content


def _whole(packed: bytes, file: File) -> bytes:
    if len(packed) > file.size or (file.exact and len(packed) < file.size):
        raise ContentError(f"it has {len(packed):,} bytes, not {file.size:,}")
    return packed


def read_verified(path: Path, file: File, remedy: str) -> bytes:
    """The content of the file at `path`, or a DataError with the remedy."""
    try:
        return verified(path.read_bytes(), file)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ContentError as error:
        raise DataError(f"{path} is not the expected file: {error}. {remedy}") from error


def is_right(path: Path, file: File) -> bool:
    try:
        return bool(verified(path.read_bytes(), file))
    except (OSError, ContentError):
        return False
