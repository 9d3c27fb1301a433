import pytest

from paceline.data.tree import find
from paceline.errors import DataError


def put(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def test_a_sub_folder_a_class_however_deep(tmp_path):
    put(tmp_path, "b/2.jpg", "a/deep/1.PNG", "b/1.jpg", "b/notes.txt", "b/.hidden.jpg", ".git/x.jpg", "top.jpg")
    found = find(tmp_path)
    assert found.names == ("a/deep/1.PNG", "b/1.jpg", "b/2.jpg")
    assert found.splits == {}
    assert found.others == 1


@pytest.mark.parametrize(
    ("extra", "splits"),
    [
        ("other/a/1.jpg", {"train": "train", "test": "test"}),
        ("val/a/1.jpg", {"train": "train", "test": "test", "validation": "val"}),
        ("validation/a/1.jpg", {"train": "train", "test": "test", "validation": "validation"}),
    ],
)
def test_sub_trees_are_splits(tmp_path, extra, splits):
    found = find(put(tmp_path, "train/a/1.jpg", "test/a/2.jpg", extra))
    assert found.splits == splits
    assert {name.split("/")[0] for name in found.names} == set(splits.values())


def test_a_class_may_be_called_train(tmp_path):
    found = find(put(tmp_path, "train/1.jpg", "plane/1.jpg"))
    assert found.splits == {}
    assert len(found.names) == 2


def test_what_cannot_be_read_says_what_is_needed(tmp_path):
    with pytest.raises(DataError, match=r"gone is no folder\. Give the one that has a sub-folder"):
        find(tmp_path / "gone")
    with pytest.raises(DataError, match="has no images in sub-folders"):
        find(put(tmp_path, "1.jpg"))
    with pytest.raises(DataError, match=r"has train/ but no test/\. Add one, or give .*train"):
        find(put(tmp_path, "train/a/1.jpg", "val/a/1.jpg"))
