import contextlib
import gzip
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.data.catalogue import File
from paceline.data.verify import ContentError, is_right, read_verified, verified
from paceline.errors import DataError

CONTENT = bytes(range(256)) * 40
FILE = File("f.gz", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
PACKED = gzip.compress(CONTENT, mtime=0)


def test_any_gzip_of_the_content_passes():
    halves = gzip.compress(CONTENT[:77], 1, mtime=5) + gzip.compress(CONTENT[77:], 9, mtime=6)
    for packed in (PACKED, gzip.compress(CONTENT, 1, mtime=9), halves):
        assert verified(packed, FILE) == CONTENT


@given(st.integers(0, len(PACKED) - 1))
def test_no_truncated_file_passes(size):
    with pytest.raises(ContentError):
        verified(PACKED[:size], FILE)


@given(st.integers(10, len(PACKED) - 1), st.integers(0, 7))
def test_a_flipped_bit_never_gives_other_content(place, bit):
    broken = bytearray(PACKED)
    broken[place] ^= 1 << bit
    with contextlib.suppress(ContentError):
        assert verified(bytes(broken), FILE) == CONTENT


@pytest.mark.parametrize(
    ("packed", "says"),
    [
        (b"", "it is empty"),
        (PACKED[:-9], "it is truncated"),
        (b"<html>please log in</html>", "no sound gzip file"),
        (PACKED + b"rubbish", "no sound gzip file"),
        (gzip.compress(CONTENT[:-1] + b"?"), rf"SHA-256 is \w{{12}}\.\.\., not {FILE.sha256[:12]}"),
        (gzip.compress(CONTENT + b"!"), "more than the expected 10,240 bytes"),
        (gzip.compress(bytes(10_000_000)), "more than the expected 10,240 bytes"),
    ],
)
def test_wrong_content_says_how(packed, says, tmp_path):
    with pytest.raises(ContentError, match=says):
        verified(packed, FILE)
    path = tmp_path / "f.gz"
    path.write_bytes(packed)
    assert not is_right(path, FILE)
    with pytest.raises(DataError, match=rf"f\.gz is not the expected file: .*{says}.* Do this\."):
        read_verified(path, FILE, "Do this.")


def test_a_right_file_is_read(tmp_path):
    path = tmp_path / "f.gz"
    path.write_bytes(PACKED)
    assert is_right(path, FILE)
    assert read_verified(path, FILE, "") == CONTENT


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    assert not is_right(tmp_path, FILE)
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_verified(tmp_path, FILE, "")


def test_a_packed_file_is_held_to_its_own_bytes():
    file = File("f.tar.gz", hashlib.sha256(PACKED).hexdigest(), len(PACKED), packed=True)
    assert verified(PACKED, file) == PACKED
    with pytest.raises(ContentError, match="it has 10 bytes, not"):
        verified(PACKED[:10], file)
    with pytest.raises(ContentError, match="its SHA-256 is"):
        verified(PACKED[:-1] + b"?", file)
