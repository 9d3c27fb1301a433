"""Which files a data set of the user's own comes from, and what they hash to."""

from pathlib import Path
from typing import Any

import pytest

from paceline.execute.datafiles import files_hash, weights_hash
from paceline.spec.part import read


def hashed(folder: Path, source: str, **said: Any) -> str | None:
    (folder / "own_of_test_datafiles.py").write_text(source)
    return files_hash(read("data", {"name": "own_of_test_datafiles:load", **said}), folder)


@pytest.mark.parametrize(
    "source",
    [
        'def load():\n    return open("deep/table.csv")\n',
        'HERE = Path(__file__).parent\ndef load():\n    return HERE / "deep" / "table.csv"\n',
        'def load():\n    return open(os.path.join(HERE, "deep", "table.csv"))\n',
        'def load():\n    return Path("deep") / "table.csv"\n',
        'def load(path="deep/table.csv"):\n    return path\n',
    ],
)
def test_a_file_that_the_source_names(tmp_path: Path, source: str) -> None:
    file = tmp_path / "deep" / "table.csv"
    file.parent.mkdir()
    assert hashed(tmp_path, source) is None
    file.write_text("1,2\n")
    one = hashed(tmp_path, source)
    file.write_text("1,3\n")
    assert one not in (None, hashed(tmp_path, source))
    file.write_text("1,2\n")
    assert hashed(tmp_path, source) == one


def test_files_that_the_study_names(tmp_path: Path) -> None:
    source = "def load(paths):\n    return paths\n"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(name)
    both = hashed(tmp_path, source, paths=["a.csv", "b.csv"])
    assert len({both, hashed(tmp_path, source, paths=["a.csv"]), None}) == 3
    (tmp_path / "b.csv").write_text("other")
    assert hashed(tmp_path, source, paths=["a.csv", "b.csv"]) != both


@pytest.mark.parametrize("said", ["line", "mnist", {"name": "synthetic", "examples": 60}, "folder:nowhere"])
def test_of_other_sets_no_file_is_known(tmp_path: Path, said: Any) -> None:
    assert files_hash(read("data", said), tmp_path) is None


def test_odd_texts_name_no_file(tmp_path: Path) -> None:
    odd = ["", ".", "/", "a\0b", "x" * 5000, "own_of_test_datafiles.py"]
    assert hashed(tmp_path, f"def load(odd={odd!r}):\n    return odd\n", also=odd[1:]) is None


def test_a_source_that_is_no_python_names_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1")
    assert hashed(tmp_path, 'def load(:\n    return "a.csv"\n') is None


def test_weights_of_the_users_own(tmp_path: Path) -> None:
    assert [weights_hash(said, tmp_path) for said in ("none", "imagenet", "mine.safetensors")] == [None] * 3
    sums = []
    for content in (b"1", b"2"):
        (tmp_path / "mine.safetensors").write_bytes(content)
        sums.append(weights_hash("mine.safetensors", tmp_path))
    assert None not in sums
    assert sums[0] != sums[1]
    (tmp_path / "data" / "weights").mkdir(parents=True)
    (tmp_path / "data" / "weights" / "other.safetensors").write_bytes(b"1")
    assert weights_hash("other.safetensors", tmp_path) is None
    assert weights_hash("other.safetensors", tmp_path, tmp_path / "data") == sums[0], "where --data says"
