"""The files of an own part: its module and what that imports from beside the study."""

import hashlib
from pathlib import Path

import pytest

from paceline.spec.part import Part
from paceline.spec.sources import source_files, source_hash

NET = Part("model", "my_models:Net")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "my_models.py").write_text("import torch, blocks\n\ndef Net():\n    from lab.heads import linear\n")
    (tmp_path / "blocks.py").write_text("from lab import sizes\nimport my_models\n")
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "heads.py").write_text("from . import sizes\nfrom .init import scale\n")
    (tmp_path / "lab" / "sizes.py").write_text("WIDTH = 3\n")
    (tmp_path / "lab" / "init.py").write_text("scale = 1\n")
    (tmp_path / "unused.py").write_text("")
    return tmp_path


def test_what_is_imported_from_beside_the_study_belongs_to_it(own: Path) -> None:
    names = source_files(NET, own)
    assert next(iter(names)) == "my_models"
    assert set(names) == {"my_models", "blocks", "lab", "lab.heads", "lab.sizes", "lab.init"}
    assert all(file.is_relative_to(own) for file in names.values())


@pytest.mark.parametrize("file", ["my_models.py", "blocks.py", "lab/__init__.py", "lab/sizes.py", "lab/init.py"])
def test_the_hash_follows_every_file(own: Path, file: str) -> None:
    before = source_hash(NET, own)
    assert before == source_hash(NET, own)
    (own / file).write_text((own / file).read_text() + "\n")
    assert source_hash(NET, own) not in (None, before)


def test_other_files_do_not_matter(own: Path) -> None:
    before = source_hash(NET, own)
    (own / "unused.py").write_text("x = 1\n")
    assert source_hash(NET, own) == before


def test_of_one_file_the_hash_is_its_own(own: Path) -> None:
    (own / "alone.py").write_text("import json, torch\n")
    content = (own / "alone.py").read_bytes()
    assert source_hash(Part("model", "alone:Net"), own) == hashlib.sha256(content).hexdigest()[:16]


def test_what_is_installed_is_known_by_its_version(own: Path) -> None:
    (own / "torch").mkdir()
    assert list(source_files(Part("optimizer", "torch.optim:Adam"), own)) == ["torch.optim"]


def test_a_compiled_module_has_no_source(own: Path) -> None:
    (own / "lab" / "fast").mkdir()
    assert source_hash(Part("model", "lab.fast:Net"), own) is None
