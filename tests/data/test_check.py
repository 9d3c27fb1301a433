import shutil
import sys

import pytest

from paceline.cli import main
from paceline.data.catalogue import ENTRIES
from paceline.data.check import check
from paceline.errors import DataError
from paceline.spec.parts import TABLE


def test_every_set_of_the_catalogue_can_be_checked():
    assert TABLE["data"].keys() == ENTRIES.keys()


def test_digits_in_rows(files):
    found = check("digits", files)
    train, validation, test = found.rows
    assert found.leaks is None
    assert "only colour images are compared" in found.verdict
    assert (train["split"], train["examples"], train["classes"]) == ("train", 1137, 10)
    assert validation["examples"] == 300
    assert (test["fewest_a_class"], test["most_a_class"]) == (35, 37)
    assert train["checksum"] == "right"
    assert train["path"].is_dir()


def test_made_sets_have_no_path(files):
    train, test = check("line", files).rows
    assert (train["examples"], test["examples"], train["classes"]) == (4, 4, None)
    assert (train["fewest_a_class"], train["path"], train["checksum"]) == (None, None, "made here")
    assert check("synthetic", files).rows[0]["most_a_class"] == 200


def test_mnist_in_rows(mnist_files):
    rows = check("mnist", mnist_files).rows
    assert [r["examples"] for r in rows] == [55_000, 5000, 10_000]
    assert (rows[2]["fewest_a_class"], rows[2]["most_a_class"]) == (892, 1135)
    assert rows[0]["path"].name == "mnist"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mnist", "lacks the file"),
        ("mnits", "No data set is called"),
        ("fruits", "cannot be downloaded"),
        ("folder", "needs the argument"),
        ("folder:gone", "is no folder"),
    ],
)
def test_a_set_that_is_not_there_raises(files, name, says):
    with pytest.raises(DataError, match=says):
        check(name, files)


def test_a_folder_with_a_leak_and_a_corrupt_file(files, image_folder, own_cache):
    root = image_folder({"train/cat": 30, "train/dog": 20, "test/cat": 6, "test/dog": 5})
    shutil.copy(root / "train/dog/003.png", root / "test/cat/copy.png")
    (root / "train/cat/broken.jpg").write_bytes(b"no image")
    found = check(f"folder:{root}", files)
    train, validation, test = found.rows
    assert (train["examples"], validation["examples"], test["examples"]) == (45, 5, 12)
    assert (train["fewest_of"], train["most_of"], test["most_a_class"]) == ("dog", "cat", 7)
    assert train["path"] == root
    assert (
        "1 corrupt image file was left out:\n  train/cat/broken.jpg: it is no image of a known format" in found.notes[0]
    )
    assert found.leaks is not None
    assert found.leaks.copies == 1
    (pair,) = found.pairs
    assert (pair["test"], pair["seen"]) == ("test/cat/copy.png", "train/dog/003.png")
    assert (pair["similarity"], pair["test_image"], pair["labels"]) == (1.0, "as it is", "DIFFER")
    assert "WARNING: 12 test images compared with 50 of training and validation: 1 (8.3%)" in found.verdict
    assert check(f"folder:{root}", files, compare=False).leaks is None


def test_a_folder_without_a_leak(files, image_folder, own_cache):
    found = check(f"folder:{image_folder({'cat': 30, 'dog': 20})}", files)
    assert found.verdict.endswith("10 test images compared with 40 of training and validation: no near-duplicates.")


@pytest.fixture
def cli(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["paceline", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return call


def test_the_verb_warns_and_ends_well(cli, image_folder, own_cache, monkeypatch):
    root = image_folder({"cat": 30, "dog": 20})
    shutil.copytree(root / "cat", root / "cow")
    monkeypatch.chdir(root.parent)
    code, out, err = cli("data", "check", "folder:pictures")
    assert (code, err) == (0, "")
    assert "WARNING: 16 test images compared with 64" in out
    assert "The closest pairs:" in out
    assert "DIFFER" in out
    code, out, _ = cli("data", "check", "folder:pictures", "--no-leakage")
    assert code == 0
    assert "compared" not in out
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["train", "validation", "test"]
    code, _, err = cli("data", "get", "fruits")
    assert code == 2
    assert "cannot be downloaded automatically" in err
