import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.data.idxfile import IdxError, decode, encode, from_csv

shapes = st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple)


@given(shapes, st.randoms(use_true_random=False))
def test_decode_undoes_encode(shape, random):
    content = random.randbytes(math.prod(shape))
    assert decode(encode(shape, content), len(shape)) == (shape, content)


@given(shapes, st.data())
def test_no_cut_or_lengthened_file_passes(shape, data):
    raw = encode(shape, bytes(math.prod(shape)))
    cut = data.draw(st.integers(0, len(raw) - 1))
    for broken in (raw[:cut], raw + b"\0"):
        with pytest.raises(IdxError):
            decode(broken, len(shape))


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(raw):
    try:
        shape, values = decode(raw, 1)
    except IdxError:
        return
    assert encode(shape, bytes(values)) == raw


def test_the_header_is_that_of_the_format():
    assert encode((2, 1, 3), b"abcdef").hex() == "00000803000000020000000100000003" + "616263646566"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "begins with nothing, not 00 00 08 01"),
        (bytes.fromhex("00000803"), "begins with 00 00 08 03, not 00 00 08 01"),
        (bytes.fromhex("00000d01 00000001 00000000"), "begins with 00 00 0d 01"),
        (bytes.fromhex("00000801 0000"), "cut off after 6 of 8 bytes"),
        (bytes.fromhex("00000801 00000003 0102"), r"says 3 values \(3,\), but 2 follow"),
    ],
)
def test_a_broken_file_says_how(raw, says):
    with pytest.raises(IdxError, match=says):
        decode(raw, 1)


def test_content_must_fill_the_shape():
    with pytest.raises(IdxError, match="5 bytes do not fill"):
        encode((2, 3), b"abcde")


rows = st.lists(st.lists(st.integers(0, 255), min_size=7, max_size=7), max_size=8)


@given(rows, st.sampled_from(["\n", "\r\n"]))
def test_csv_becomes_the_idx_files_it_was_made_from(table, newline):
    lines = ["label," + ",".join("123456"), *(",".join(map(str, row)) for row in table)]
    images, labels = from_csv([(line + newline).encode() for line in lines], (2, 3))
    assert decode(labels, 1) == ((len(table),), bytes(row[0] for row in table))
    assert decode(images, 3) == ((len(table), 2, 3), bytes(v for row in table for v in row[1:]))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (b"1,2,3", "line 2 has 3 cells, not 5"),
        (b"1,2,3,4,256", "line 2 holds b'256'"),
        (b"1,2,,4,5", "line 2 holds b''"),
        (b"1,2,3,4,-1", "line 2 holds b'-1'"),
    ],
)
def test_a_broken_csv_says_where(row, says):
    with pytest.raises(IdxError, match=says):
        from_csv([b"header\n", row], (2, 2))
