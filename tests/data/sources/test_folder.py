import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from paceline.data.sources.folder import folder
from paceline.errors import DataError


@pytest.fixture(autouse=True)
def _cache(own_cache):
    pass


def sizes(data):
    return {name: len(part) for name, part in data.splits.items()}


def test_shares_are_held_out_by_class(files, image_folder):
    data = folder(files, path=str(image_folder({"dog": 40, "cat": 60})), size=16)
    assert sizes(data) == {"train": 72, "validation": 8, "test": 20}
    assert data.names == ("cat", "dog")
    assert data.classes == data.outputs == 2
    assert data.test.y.bincount().tolist() == [12, 8]
    assert data.validation.y.bincount().tolist() == [5, 3]
    assert (data.train.x.dtype, data.train.y.dtype) == (torch.uint8, torch.int64)
    assert data.input_shape == (3, 16, 16)
    assert data.notes == ()


def test_a_path_begins_beside_the_study(files, image_folder, tmp_path, monkeypatch):
    root = image_folder({"dog": 10, "cat": 10})
    here = folder(files, path=str(root), size=16)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    beside = folder(replace(files, beside=root.parent), path=root.name, size=16)
    assert beside.checksum == here.checksum
    with pytest.raises(DataError, match=root.name):
        folder(files, path=root.name, size=16)


def test_every_image_is_in_one_split_with_its_own_label(files, image_folder, scene):
    root = image_folder({"cat": 30, "dog": 20})
    data = folder(files, path=str(root), size=24)
    names = [name for part in data.splits.values() for name in part.files]
    assert sorted(names) == sorted(p.relative_to(root).as_posix() for p in root.rglob("*.png"))
    for part in data.splits.values():
        for x, y, name in zip(part.x, part.y, part.files, strict=True):
            kind, number = name.removesuffix(".png").split("/")
            assert data.names[int(y)] == kind
            expected = scene(int(number) + (30 if kind == "dog" else 0), 24)
            assert (x.numpy() == expected.transpose(2, 0, 1)).all()


def test_the_seed_draws_the_split_and_the_checksum_sees_it(files, image_folder):
    path = str(image_folder({"cat": 30, "dog": 20}))
    a, same, other = (folder(files, path=path, size=16, split_seed=s) for s in (0, 0, 1))
    assert a.test.files == same.test.files
    assert a.checksum == same.checksum
    assert a.test.files != other.test.files
    seen = {
        folder(files, path=path, **{"size": 16, **d}).checksum
        for d in ({"test": 0.3}, {"validation": 0.0}, {"size": 8})
    }
    assert len({a.checksum, other.checksum} | seen) == 5
    assert folder(files, path=path, size=16, validation=0.0).validation is None


def test_sub_trees_are_the_splits(files, image_folder):
    root = image_folder({"train/cat": 10, "train/dog": 10, "test/cat": 3, "test/dog": 4})
    data = folder(files, path=str(root), size=16, validation=0.2)
    assert sizes(data) == {"train": 16, "validation": 4, "test": 7}
    assert all(name.startswith("test/") for name in data.test.files)
    assert "The splits are the folders train/, test/." in data.notes
    shutil.copytree(root / "test", root / "val")
    assert sizes(folder(files, path=str(root), size=16)) == {"train": 20, "test": 7, "validation": 7} | {"train": 20}


def test_the_path_is_relative_to_here_or_to_home(files, image_folder, monkeypatch):
    root = image_folder({"cat": 10, "dog": 10})
    monkeypatch.chdir(root.parent)
    here = folder(files, path="pictures", size=16)
    monkeypatch.setenv("HOME", str(root.parent))
    assert folder(files, path="~/pictures", size=16).checksum == here.checksum
    with pytest.raises(DataError, match=rf"{root.parent}/nothing is no folder"):
        folder(files, path="nothing")


def test_some_corrupt_files_are_noted_and_many_refused(files, image_folder):
    root = image_folder({"cat": 50, "dog": 50})
    for i in range(5):
        (root / f"cat/{i:03}.png").write_bytes(b"rubbish")
    data = folder(files, path=str(root), size=16)
    assert sum(sizes(data).values()) == 95
    assert data.notes[0].startswith("5 corrupt image files were left out:\n  cat/000.png: it is no image")
    for i in range(5, 12):
        (root / f"cat/{i:03}.png").write_bytes(b"rubbish")
    with pytest.raises(
        DataError, match=r"12 of 100 image files are corrupt\.\n  cat/000.png: [^$]*\n  and 2 more\nMend"
    ):
        folder(files, path=str(root), size=16)


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({"cat": 5}, "all images are of one class, 'cat'"),
        ({"train/cat": 5, "train/dog": 5, "test/cow": 1}, "the class 'cow' of the test split has no training image"),
        ({"cat": 1, "dog": 1}, "no image is left for the test split"),
    ],
)
def test_what_cannot_be_split_is_refused(files, image_folder, counts, says):
    with pytest.raises(DataError, match=says):
        folder(files, path=str(image_folder(counts)), size=16)


def test_a_class_that_is_held_out_whole_is_refused(files, image_folder):
    path = str(image_folder({"cat": 20, "dog": 1}))
    with pytest.raises(DataError, match=r"no training image is left of the class 'dog'. Hold out less"):
        folder(files, path=path, size=16, test=0.9, validation=0.0)


def test_images_are_mapped(files, image_folder):
    data = folder(files, path=str(image_folder({"cat": 10, "dog": 10})), size=16)
    data.train.x[0] = 0  # stays in memory
    again = folder(files, path=str(data.name.removeprefix("folder:")), size=16)
    assert np.asarray(again.train.x[0]).any()
