import tarfile

import pytest

from paceline.data.sources.caltech import caltech101, caltech256
from paceline.errors import DataError


def sizes(data):
    return {name: len(part) for name, part in data.splits.items()}


@pytest.fixture
def archive(image_folder, files, own_cache):
    """Two classes and the background, with the lists of a course, in a tar."""
    root = image_folder({"ant": 10, "bass": 10, "BACKGROUND_Google": 5})
    names = [f"{c}/{i:03}.png" for c in ("ant", "bass") for i in range(10)]
    (root / "train.txt").write_text("\n".join([*names[::2], "BACKGROUND_Google/001.png", ""]))
    (root / "test.txt").write_text("\n".join(names[1::2]))
    home = files.home("caltech101")
    home.mkdir()
    with tarfile.open(home / "small.tar.gz", "w:gz") as out:
        for path in sorted(root.rglob("*.*")):
            out.add(path, path.relative_to(root).as_posix())
    return root


def test_the_split_of_the_course(archive, files):
    data = caltech101(files, size=16, validation=0.2)
    assert sizes(data) == {"train": 8, "validation": 2, "test": 10}
    assert data.names == ("ant", "bass")
    assert all(int(name[-5]) % 2 for name in data.test.files)


def test_a_random_split_draws_from_all_but_the_background(archive, files):
    data = caltech101(files, size=16, split="random", test=0.5, validation=0.0)
    assert sizes(data) == {"train": 10, "test": 10}
    assert data.test.y.bincount().tolist() == [5, 5]
    other = caltech101(files, size=16, split="random", test=0.5, validation=0.0, split_seed=1)
    assert data.test.files != other.test.files
    assert data.checksum != other.checksum


def test_the_official_folder_has_no_course(archive, files):
    home = files.home("caltech101")
    (home / "small.tar.gz").unlink()
    for list_ in ("train.txt", "test.txt"):
        (archive / list_).unlink()
    archive.rename(home / "101_ObjectCategories")
    with pytest.raises(DataError, match=r"has no train\.txt and test\.txt\. Say split: random"):
        caltech101(files, size=16)
    data = caltech101(files, size=16, split="random", test=0.5, validation=0.2)
    assert sizes(data) == {"train": 8, "validation": 2, "test": 10}


def test_caltech256_keeps_the_clutter_and_looks_no_deeper(image_folder, files, own_cache):
    root = image_folder(
        {"001.ak47": 10, "257.clutter": 10, "001.ak47/deeper": 3}, files.home("caltech256") / "256_ObjectCategories"
    )
    data = caltech256(files, size=16, validation=0.25)
    assert sizes(data) == {"train": 12, "validation": 4, "test": 4}
    assert data.names == ("001.ak47", "257.clutter")
    assert root.is_dir()


@pytest.mark.parametrize("source", [caltech101, caltech256])
def test_without_the_files_it_says_where_to_get_them(source, files):
    with pytest.raises(DataError, match=r"cannot be downloaded automatically.*Looked for:[^$]*data\.caltech\.edu"):
        source(files)


def test_caltech101_has_its_known_numbers(pack):
    data = caltech101(pack("caltech101"), size=64)
    assert sizes(data) == {"train": 5206, "validation": 578, "test": 2893}
    assert data.classes == 101
    assert data.names[:3] == ("Faces", "Faces_easy", "Leopards")
    assert int(data.test.y.bincount().min()) >= 9
    assert data.notes == ()
