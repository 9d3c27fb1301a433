import contextlib
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from paceline.data import entries
from paceline.errors import DataError, PacelineError


def maker(value, n=10, calls=None):
    def build(write):
        if calls is not None:
            calls.append(value)
        write(np.full((4, n), value, np.uint8))
        write(np.full((2, n), value + 1, np.uint8))
        return {"shape": [6, n], "said": value}

    return build


@pytest.fixture
def get(tmp_path):
    return lambda key, build: entries.entry(tmp_path, key, build, lambda: None)


@pytest.fixture(autouse=True)
def _unlimited(monkeypatch):
    monkeypatch.delenv("PACELINE_CACHE_GB", raising=False)


def keys(root):
    return sorted(path.name for path in root.iterdir() if (path / "meta.json").exists())


def test_an_entry_is_built_once_and_mapped(get, tmp_path):
    calls = []
    made, again = get("k", maker(7, calls=calls)), get("k", maker(7, calls=calls))
    assert calls == [7]
    assert made.array.tolist() == again.array.tolist() == [[7] * 10] * 4 + [[8] * 10] * 2
    assert again.meta["said"] == 7
    assert isinstance(again.array, np.memmap)
    assert not list(tmp_path.glob(".new-*"))


def test_writing_to_a_mapped_array_leaves_the_file(get):
    get("k", maker(7)).array[:] = 0
    assert get("k", maker(7)).array[0, 0] == 7


@pytest.mark.parametrize("spoil", ["array.bin", "meta.json"])
def test_a_spoilt_entry_is_built_anew(get, tmp_path, spoil):
    get("k", maker(7))
    with (tmp_path / "k" / spoil).open("r+b") as file:
        file.truncate(5)
    calls = []
    assert get("k", maker(7, calls=calls)).array[0, 0] == 7
    assert calls == [7]


def test_a_build_that_fails_leaves_nothing(get, tmp_path):
    def fail(write):
        write(np.zeros(3, np.uint8))
        raise DataError("no")

    with pytest.raises(DataError, match="no"):
        get("k", fail)
    assert not keys(tmp_path)
    assert not list(tmp_path.glob(".new-*"))


def test_an_empty_array_is_not_kept(get, tmp_path):
    assert get("k", lambda write: {"shape": [0, 3]}).array.shape == (0, 3)
    assert not keys(tmp_path)


def test_the_least_recently_used_go_first_and_those_in_use_never(get, tmp_path, monkeypatch):
    for age, key in enumerate(("old", "older", "oldest")):
        get(key, maker(1, n=1000))
        os.utime(tmp_path / key / "meta.json", (1000 - age, 1000 - age))
    monkeypatch.setattr(entries, "_used", {"oldest"})
    monkeypatch.setenv("PACELINE_CACHE_GB", "20e-6")  # three of 6,000 bytes and a little
    get("new", maker(2, n=1000))
    assert keys(tmp_path) == ["new", "old", "oldest"]
    monkeypatch.setenv("PACELINE_CACHE_GB", "0")
    get("newer", maker(2, n=1000))
    assert keys(tmp_path) == ["new", "newer", "oldest"]
    assert not list(tmp_path.glob(".old-*"))


def test_use_keeps_an_entry_young(get, tmp_path, monkeypatch):
    for key in ("a", "b"):
        get(key, maker(1, n=1000))
        os.utime(tmp_path / key / "meta.json", (1000, 1000))
    get("a", maker(1))
    monkeypatch.setattr(entries, "_used", set())
    monkeypatch.setenv("PACELINE_CACHE_GB", "13e-6")
    get("c", maker(1, n=1000))
    assert keys(tmp_path) == ["a", "c"]


@pytest.mark.parametrize("said", ["much", "nan", "-1"])
def test_a_limit_that_is_no_number_is_refused(get, monkeypatch, said):
    monkeypatch.setenv("PACELINE_CACHE_GB", said)
    with pytest.raises(PacelineError, match=rf"\$PACELINE_CACHE_GB is '{said}'; give a number"):
        get("k", maker(1))


def test_what_was_left_unfinished_goes_after_a_day(get, tmp_path):
    for name, age in ((".new-dead", 100_000), (".new-alive", 1000)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    get("k", maker(1))
    assert [path.name for path in tmp_path.glob(".new-*")] == [".new-alive"]


def test_a_folder_that_cannot_be_written_raises(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        entries.entry(tmp_path / "file" / "images", "k", maker(1), lambda: None)


TWO = """
import sys, time, pathlib, numpy as np
from paceline.data.entries import entry
root = pathlib.Path(sys.argv[1])
def build(write):
    (root / f"built-{sys.argv[2]}").touch()
    time.sleep(0.5)
    write(np.arange(100, dtype=np.uint8))
    return {"shape": [100]}
root.mkdir(exist_ok=True)
print(int(entry(root, "k", build, lambda: None).array.sum()))
"""


def test_two_processes_build_one_entry(tmp_path):
    root = tmp_path / "images"
    both = [
        subprocess.Popen([sys.executable, "-c", TWO, str(root), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(2)
    ]
    assert [process.communicate(timeout=60)[0] for process in both] == ["4950\n"] * 2
    assert len(list(root.glob("built-*"))) == 1
    assert keys(root) == ["k"]


def test_where_there_are_no_locks_the_second_finds_what_the_first_made(get, tmp_path, monkeypatch):
    monkeypatch.setattr(entries, "alone", lambda folder, waiting: contextlib.nullcontext())

    def late(write):
        get("k", maker(7))
        return maker(7)(write)

    assert get("k", late).array[0, 0] == 7
    assert keys(tmp_path) == ["k"]
