import gzip
import hashlib
import time

import pytest
import torch

from paceline.data import catalogue, idxfile
from paceline.data.catalogue import Entry, File
from paceline.data.sources.idx import fashion_mnist, mnist, read
from paceline.errors import DataError

IMAGES, LABELS = bytes(range(0, 240, 10)), b"\7\1\4\0"
CONTENTS = {
    catalogue.TRAIN_IMAGES: idxfile.encode((4, 2, 3), IMAGES),
    catalogue.TRAIN_LABELS: idxfile.encode((4,), LABELS),
    catalogue.TEST_IMAGES: idxfile.encode((1, 2, 3), b"\0\0\0\0\0\377"),
    catalogue.TEST_LABELS: idxfile.encode((1,), b"\3"),
}


def put(files, contents):
    """Write a small set and the catalogue entry that describes it."""
    files.home("small").mkdir()
    for name, content in contents.items():
        (files.home("small") / name).write_bytes(gzip.compress(content))
    listed = tuple(File(n, hashlib.sha256(c).hexdigest(), len(c)) for n, c in contents.items())
    return Entry("small", "", "", 5, (1, 2, 3), 10, listed)


def test_a_small_set_is_read(files):
    data = read(put(files, CONTENTS), files, validation=1)
    assert data.train.y.tolist() == [1, 4, 0]
    assert data.validation.y.tolist() == [7]
    assert data.test.y.tolist() == [3]
    assert data.test.x.tolist() == [[[[0, 0, 0], [0, 0, 1]]]]
    assert data.input_shape == (1, 2, 3)
    torch.testing.assert_close(data.validation.x.flatten() * 255, torch.arange(0.0, 60, 10))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (catalogue.TRAIN_IMAGES, idxfile.encode((4,), LABELS), "begins with 00 00 08 01, not 00 00 08 03"),
        (catalogue.TRAIN_LABELS, CONTENTS[catalogue.TRAIN_LABELS][:-1], "says 4 values .* but 3 follow"),
    ],
    ids=["magic", "length"],
)
def test_a_file_of_another_kind_is_refused(files, name, content, says):
    entry = put(files, {**CONTENTS, name: content})
    with pytest.raises(DataError, match=rf"{name} is no idx file of the expected kind: .*{says}"):
        read(entry, files, validation=0)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda packed: packed[:-12], "it is truncated"),
        (lambda packed: gzip.compress(b"x" * 20), "its SHA-256 is"),
        (lambda packed: b"", "it is empty"),
    ],
    ids=["truncated", "other", "empty"],
)
def test_a_spoilt_file_says_what_to_do(files, spoil, says):
    entry = put(files, CONTENTS)
    path = files.home("small") / catalogue.TEST_IMAGES
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DataError, match=says) as caught:
        read(entry, files, validation=0)
    assert str(path) in str(caught.value)
    assert f"Delete it and run `paceline data get small --data {files.writes_to}`." in str(caught.value)


def test_a_missing_set_says_how_to_get_it(files):
    with pytest.raises(DataError, match=r"'mnist' lacks the file train-images-idx3-ubyte.gz"):
        mnist(files)


def test_mnist_is_split_as_in_the_classic_tutorial(mnist_files):
    data = mnist(mnist_files)
    assert {n: len(p) for n, p in data.splits.items()} == {
        "train": 55_000,
        "validation": 5000,
        "test": 10_000,
    }
    whole = mnist(mnist_files, validation=0)
    assert torch.equal(data.validation.x, whole.train.x[:5000])
    assert torch.equal(data.train.y, whole.train.y[5000:])
    assert whole.validation is None
    assert whole.checksum == data.checksum


def test_mnist_has_its_known_numbers(mnist_files):
    data = mnist(mnist_files, validation=0)
    x, y = data.train.x, data.train.y
    assert (data.input_shape, data.outputs, x.dtype, y.dtype) == ((1, 28, 28), 10, torch.float32, torch.int64)
    assert y[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert y.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert data.test.y.bincount().tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert x.mean().item() == pytest.approx(0.1307, abs=5e-5)
    assert x.std().item() == pytest.approx(0.3081, abs=5e-5)
    assert (x.min(), x.max()) == (0, 1)
    assert x.is_contiguous()


def test_mnist_loads_in_seconds(mnist_files):
    start = time.perf_counter()
    mnist(mnist_files)
    assert time.perf_counter() - start < 10


def test_fashion_mnist_has_its_known_numbers(fashion_files):
    data = fashion_mnist(fashion_files, validation=0)
    assert data.train.y[:5].tolist() == [9, 0, 0, 3, 0]
    assert data.train.y.bincount().tolist() == [6000] * 10
    assert data.test.y.bincount().tolist() == [1000] * 10
    assert data.train.x.mean().item() == pytest.approx(0.2860, abs=5e-5)
    assert data.train.x.std().item() == pytest.approx(0.3530, abs=5e-5)
