import gzip
import io
import os
import tarfile

import pytest

from paceline.data.imagefiles import Archive, Tree
from paceline.errors import DataError


def archive(path, members):
    with tarfile.open(path, "w:gz") as out:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            out.addfile(info, io.BytesIO(content))
    return path


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1").write_bytes(b"one")
    (tmp_path / "a" / "2").write_bytes(b"two")
    return Tree(tmp_path, ("a/1", "a/2"))


def test_a_tree_gives_its_files_in_order(tree):
    assert [(name, load()) for name, load in tree.read()] == [("a/1", b"one"), ("a/2", b"two")]
    assert tree.count == 2


def test_writing_a_file_changes_fingerprint_and_content_and_touching_it_only_the_fingerprint(tree, tmp_path):
    before = tree.fingerprint(), tree.content()
    assert (tree.fingerprint(), tree.content()) == before
    os.utime(tmp_path / "a" / "1", (1, 1))
    touched = tree.fingerprint(), tree.content()
    assert touched[0] != before[0]
    assert touched[1] == before[1]
    (tmp_path / "a" / "1").write_bytes(b"ONE")
    assert tree.fingerprint() != touched[0]
    assert tree.content() != touched[1]


def test_names_are_part_of_the_content_and_the_place_is_not(tree, tmp_path):
    tree.root.joinpath("a").rename(tmp_path / "b")
    assert Tree(tmp_path, ("b/1", "b/2")).content() != Tree(tmp_path, ("a/1", "a/2")).content()
    (tmp_path / "deep").mkdir()
    (tmp_path / "b").rename(tmp_path / "deep" / "a")
    moved = Tree(tmp_path / "deep", ("a/1", "a/2"))
    assert len(moved.content()) == 64
    assert moved.fingerprint() != Tree(tmp_path, ("a/1", "a/2")).fingerprint()


def test_a_file_that_is_gone_is_noticed(tree):
    before = tree.content()
    (tree.root / "a" / "2").unlink()
    assert tree.content() != before
    assert len(tree.fingerprint()) == 64


def test_an_archive_gives_its_files_in_order(tmp_path):
    path = archive(tmp_path / "a.tar.gz", {"./b/x.png": b"x", "a.txt": b"text"})
    read = Archive(path)
    assert [(name, load()) for name, load in list(read.read())] == [("b/x.png", b"x"), ("a.txt", b"text")]
    assert read.count is None
    before = read.fingerprint(), read.content()
    archive(path, {"b/x.png": b"y"})
    assert read.fingerprint() != before[0]
    assert read.content() != before[1]


def test_a_broken_archive_is_refused(tmp_path):
    path = archive(tmp_path / "a.tar.gz", {"a.png": os.urandom(50_000)})
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(DataError, match=r"a\.tar\.gz is no sound archive: .* Get it anew"):
        list(Archive(path).read())
    path.write_bytes(gzip.compress(b"no tar"))
    with pytest.raises(DataError, match="no sound archive"):
        list(Archive(path).read())
    with pytest.raises(DataError, match="cannot be read"):
        Archive(tmp_path).content()
