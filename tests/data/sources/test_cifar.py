import dataclasses
import hashlib
import io
import pickle
import tarfile

import numpy as np
import pytest
import torch

from paceline.data import catalogue
from paceline.data.sources.cifar import cifar10, cifar100
from paceline.errors import DataError

DRAW = np.random.default_rng(0)
PIXELS = DRAW.integers(0, 256, (60, 3072), dtype=np.uint8)


class Evil:
    def __reduce__(self):
        return print, ("called",)


@pytest.fixture
def put(files, monkeypatch):
    """Puts an archive in its place, and its checksum in the catalogue."""

    def write(entry, members):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as out:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                out.addfile(info, io.BytesIO(content))
        raw = buffer.getvalue()
        home = files.home(entry.name)
        home.mkdir(exist_ok=True)
        (home / entry.files[0].name).write_bytes(raw)
        file = dataclasses.replace(entry.files[0], sha256=hashlib.sha256(raw).hexdigest(), size=len(raw))
        monkeypatch.setattr(catalogue, entry.name.upper(), dataclasses.replace(entry, files=(file,)))

    return write


@pytest.fixture
def ten(python2_pickle):
    """Five batches of ten images and one of test images, in the official form."""
    members = {}
    for n, name in enumerate([*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]):
        batch = {b"data": PIXELS[n * 10 : n * 10 + 10], b"labels": [(n + i) % 10 for i in range(10)]}
        members[f"cifar-10-batches-py/{name}"] = python2_pickle(batch)
    names = [b"plane", b"car", b"bird", b"cat", b"deer", b"dog", b"frog", b"horse", b"ship", b"truck"]
    members["cifar-10-batches-py/batches.meta"] = python2_pickle({b"label_names": names})
    return members


def test_cifar10_in_the_official_form(put, ten, files):
    put(catalogue.CIFAR10, ten)
    data = cifar10(files, validation=7)
    assert {name: len(part) for name, part in data.splits.items()} == {"train": 43, "validation": 7, "test": 10}
    assert data.train.x.dtype == torch.uint8
    assert data.train.y.dtype == torch.int64
    assert data.input_shape == (3, 32, 32)
    assert (data.validation.x.numpy().reshape(7, -1) == PIXELS[:7]).all()
    assert (data.test.x.numpy().reshape(10, -1) == PIXELS[50:]).all()
    assert data.test.y.tolist() == [(5 + i) % 10 for i in range(10)]
    assert data.names[9] == "truck"
    assert data.checksum == catalogue.CIFAR10.checksum


def test_cifar100_has_fine_and_coarse_labels(put, python2_pickle, files):
    def part(start, stop):
        n = stop - start
        return python2_pickle(
            {b"data": PIXELS[start:stop], b"fine_labels": list(range(n)), b"coarse_labels": [i // 5 for i in range(n)]}
        )

    meta = {
        b"fine_label_names": [b"f%d" % i for i in range(100)],
        b"coarse_label_names": [b"c%d" % i for i in range(20)],
    }
    put(
        catalogue.CIFAR100,
        {
            "cifar-100-python/train": part(0, 40),
            "cifar-100-python/test": part(40, 60),
            "cifar-100-python/meta": python2_pickle(meta),
        },
    )
    fine, coarse = cifar100(files, validation=0), cifar100(files, validation=0, labels="coarse")
    assert (fine.classes, coarse.classes) == (100, 20)
    assert (fine.names[99], coarse.names[19]) == ("f99", "c19")
    assert fine.test.y.tolist() == list(range(20))
    assert coarse.test.y.tolist() == [i // 5 for i in range(20)]
    assert torch.equal(fine.train.x, coarse.train.x)


def test_a_malicious_pickle_is_refused(put, ten, files, capsys):
    put(catalogue.CIFAR10, {**ten, "cifar-10-batches-py/data_batch_3": pickle.dumps({"data": Evil()}, 2)})
    with pytest.raises(DataError, match=r"data_batch_3 is not as expected: it asks for \S+print"):
        cifar10(files, validation=0)
    assert capsys.readouterr().out == ""


def test_another_archive_is_refused_before_it_is_read(put, ten, files, monkeypatch):
    put(catalogue.CIFAR10, ten)
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"cifar-10-python.tar.gz is not the expected file: it has .* bytes"):
        cifar10(files)


def test_a_missing_archive_says_how_to_get_it(files):
    with pytest.raises(DataError, match=r"lacks the file cifar-100-python.tar.gz[^$]*paceline data get cifar100"):
        cifar100(files)


def test_cifar10_has_its_known_numbers(pack):
    data = cifar10(pack("cifar10"))
    assert {name: len(part) for name, part in data.splits.items()} == {
        "train": 45_000,
        "validation": 5000,
        "test": 10_000,
    }
    assert data.test.y.bincount().tolist() == [1000] * 10
    assert data.validation.y[:5].tolist() == [6, 9, 9, 4, 1]
    assert data.names[:2] == ("airplane", "automobile")
    whole = torch.cat([data.validation.x, data.train.x]).float().div(255)
    assert whole.mean((0, 2, 3)).tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


def test_cifar100_as_sheets(pack):
    data = cifar100(pack("cifar100"), validation=1000)
    assert data.classes == 100
    assert len(data.train) % 1000 == 0
    assert data.test.y.bincount().tolist() == [100] * 100
    assert cifar100(pack("cifar100"), validation=1000, labels="coarse").test.y.bincount().tolist() == [500] * 20
