from pathlib import Path

import pytest

from paceline.data.locate import Files
from paceline.data.pretrained import IMAGENET, expected_start, find
from paceline.errors import DataError
from paceline.spec.parts import TABLE


def test_every_named_file_is_of_a_model_and_promises_a_checksum():
    assert set(IMAGENET) <= set(TABLE["model"])
    assert all(len(expected_start(name)) == 8 for name in IMAGENET.values())


def test_a_file_is_found_beside_the_study_first_then_among_the_data(tmp_path: Path):
    root, study = tmp_path / "data", tmp_path / "study"
    (root / "weights").mkdir(parents=True)
    study.mkdir()
    (root / "weights" / "a.npz").write_bytes(b"1")
    files = Files((root,), root)
    assert find("a.npz", "mlp", files, study).path == root / "weights" / "a.npz"
    (study / "a.npz").write_bytes(b"2")
    found = find("a.npz", "mlp", files, study)
    assert found.path == study / "a.npz"
    assert found.sha256.startswith("d4735e3a265e16ee")


def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path):
    (tmp_path / "net-6b86b273.pth").write_bytes(b"1")
    files = Files((tmp_path,), tmp_path)
    assert find("net-6b86b273.pth", "mlp", files, tmp_path).sha256.startswith("6b86b273")
    (tmp_path / "net-00000000.pth").write_bytes(b"1")
    with pytest.raises(DataError, match="is not the file its name says"):
        find("net-00000000.pth", "mlp", files, tmp_path)


def test_what_is_missing_is_said_with_the_way_to_get_it(tmp_path: Path):
    files = Files((tmp_path,), tmp_path)
    with pytest.raises(DataError, match=r"paceline data get resnet18-f37072fd.pth"):
        find("imagenet", "resnet18", files, tmp_path)
    with pytest.raises(DataError, match="No imagenet weights are known for lab_cnn"):
        find("imagenet", "lab_cnn", files, tmp_path)
