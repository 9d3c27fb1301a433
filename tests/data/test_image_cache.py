import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from paceline.data import image_cache
from paceline.data.image_cache import stored
from paceline.data.imagefiles import Tree
from paceline.data.tree import find


@pytest.fixture
def pictures(image_folder):
    root = image_folder({"a": 5, "b": 4})
    return Tree(root, find(root).names)


@pytest.fixture
def decoded(monkeypatch):
    """Counts the images that are decoded."""
    count = []

    def noting(raw, size):
        count.append(1)
        return image_cache_square(raw, size)

    image_cache_square = image_cache.square
    monkeypatch.setattr(image_cache, "square", noting)
    return count


def test_images_are_decoded_once(pictures, own_cache, decoded):
    made, again = stored(pictures, 16, "x"), stored(pictures, 16, "x")
    assert len(decoded) == 9
    assert made.names == again.names == pictures.names
    assert made.images.shape == (9, 3, 16, 16)
    assert (made.images == again.images).all()
    expected = Image.open(pictures.root / "b/002.png").resize((16, 16), Image.Resampling.BICUBIC)
    assert (again.images[7] == np.asarray(expected).transpose(2, 0, 1)).all()
    assert stored(pictures, 8, "x").key != made.key


def test_a_second_start_reads_no_file(pictures, own_cache, monkeypatch):
    key = stored(pictures, 16, "x").key
    monkeypatch.setattr(Tree, "content", None)
    monkeypatch.setattr(Tree, "read", None)
    assert stored(pictures, 16, "x").key == key


def test_touching_costs_no_decoding_and_new_content_does(pictures, own_cache, decoded):
    key = stored(pictures, 16, "x").key
    os.utime(pictures.root / "a/000.png", (1, 1))
    assert stored(pictures, 16, "x").key == key
    assert len(decoded) == 9
    Image.fromarray(np.zeros((20, 20, 3), np.uint8)).save(pictures.root / "a/000.png")
    changed = stored(pictures, 16, "x")
    assert changed.key != key
    assert not changed.images[0].any()


def test_a_corrupt_file_is_left_out_and_named(pictures, own_cache):
    (pictures.root / "a/002.png").write_bytes((pictures.root / "a/002.png").read_bytes()[:100])
    (pictures.root / "b/000.png").unlink()
    for _ in range(2):
        found = stored(pictures, 16, "x")
        assert len(found.images) == len(found.names) == 7
        assert [name for name, _ in found.corrupt] == ["a/002.png", "b/000.png"]
        assert "cannot be read: No such file" in found.corrupt[1][1]


def test_a_cache_that_cannot_be_written_is_done_without(pictures, tmp_path, monkeypatch, own_cache):
    kept = stored(pictures, 16, "x")
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found = stored(pictures, 16, "x")
    assert (found.images == kept.images).all()
    assert found.key == kept.key
    assert "cannot be written (Not a directory): every process decodes for itself" in found.notes[0]
    chosen = np.array([0, 2, 5])
    assert (found.rows(chosen).numpy() == kept.rows(chosen).numpy()).all()


def test_a_full_disk_is_done_without(pictures, own_cache, monkeypatch):
    def full(out, block):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("paceline.data.entries._write", full)
    found = stored(pictures, 16, "x")
    assert len(found.images) == 9
    assert "No space left on device" in found.notes[0]


def test_rows_are_mapped_a_stretch_as_it_is_and_others_from_a_copy(pictures, own_cache):
    found = stored(pictures, 16, "x")
    stretch, others = found.rows(np.arange(2, 6)), found.rows(np.array([1, 3, 8]))
    assert (stretch.numpy() == found.images[2:6]).all()
    assert (others.numpy() == found.images[[1, 3, 8]]).all()
    assert others.is_contiguous()
    assert len([path for path in own_cache.iterdir() if (path / "meta.json").exists()]) == 2
    assert len(found.rows(np.array([], dtype=np.int64))) == 0


def test_progress_is_told(pictures, own_cache, monkeypatch):
    monkeypatch.setattr(image_cache, "EVERY", -1.0)
    events = []
    stored(pictures, 16, "pets", events.append)
    assert [(e.kind, e.line, e.done, e.total) for e in events] == [("images", "pets", 9, 9)] * 2


TWO = """
import sys, pathlib
from paceline.data.image_cache import stored
from paceline.data.imagefiles import Tree
from paceline.data.tree import find
root = pathlib.Path(sys.argv[1])
found = stored(Tree(root, find(root).names), 16, "x")
print(found.key, int(found.images.sum()))
"""


def test_two_processes_at_once_make_one_cache(image_folder, own_cache):
    root = image_folder({"a": 150, "b": 150})
    both = [
        subprocess.Popen([sys.executable, "-c", TWO, str(root)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    first, second = (process.communicate(timeout=60)[0] for process in both)
    assert first == second
    assert first.split()
    assert len(list(own_cache.glob("*/array.bin"))) == 1
    assert not list(own_cache.glob(".*"))
