"""Wheel and sdist, really built: the wheel, made from the sdist, is the package tree; the metadata is valid."""

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from packaging.metadata import Metadata
from packaging.utils import parse_sdist_filename, parse_wheel_filename

import paceline

ROOT = Path(__file__).parents[1]
HERE = r"\]\((?![a-z]+:)([^)#]+)"  # the target of a link that is no URL


class Built(NamedTuple):
    source: Path
    sdist: Path
    wheel: Path


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What is no source: made by tools, or of this checkout only."""
    made = {name for name in names if name.startswith(".") or name.endswith(".egg-info")}
    return made | {"__pycache__"} | ({"build", "dist", "runs"} if Path(folder) == ROOT else set())


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    """Both, from a copy of the checkout, the wheel from the sdist."""
    room = tmp_path_factory.mktemp("packaging")
    shutil.copytree(ROOT, room / "source", ignore=_left_out)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(room / "dist"), str(room / "source")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return Built(room / "source", next(room.glob("dist/*.tar.gz")), next(room.glob("dist/*.whl")))


@pytest.fixture(scope="module")
def wheel(built) -> dict[str, bytes]:
    with zipfile.ZipFile(built.wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def sdist(built) -> set[str]:
    with tarfile.open(built.sdist) as archive:
        return {member.name.partition("/")[2] for member in archive if member.isfile()}


def metadata(wheel: dict[str, bytes]) -> bytes:
    return next(content for name, content in wheel.items() if name.endswith(".dist-info/METADATA"))


def test_the_wheel_is_the_package_tree(built, wheel):
    files = [path for path in (built.source / "paceline").rglob("*") if path.is_file()]
    tree = {path.relative_to(built.source).as_posix(): path.read_bytes() for path in files}
    assert {"paceline/py.typed", "paceline/report/page.html", "paceline/gallery/quickstart.yaml"} < tree.keys()
    inside = {name: content for name, content in wheel.items() if ".dist-info/" not in name}
    assert inside.keys() == tree.keys()
    assert inside == tree


def test_the_sdist_has_what_a_reader_needs_and_no_tests(built, sdist):
    assert {"LICENSE", "CHANGELOG.md", "CITATION.cff", "README.md", "docs/README.md", "examples/notebook.ipynb"} < sdist
    assert not [name for name in sdist if name.startswith(("tests/", "bench/")) or "__pycache__" in name]
    links = re.findall(HERE, (built.source / "README.md").read_text())
    assert links
    assert not [to for to in links if to not in sdist and not any(name.startswith(f"{to}/") for name in sdist)]


def test_the_metadata_is_valid(wheel):
    found = Metadata.from_email(metadata(wheel), validate=True)
    assert (found.name, found.license_expression, found.license_files) == ("paceline", "Apache-2.0", ["LICENSE"])
    assert found.description_content_type == "text/markdown"
    assert any(name.endswith("licenses/LICENSE") for name in wheel)
    assert b"paceline = paceline.cli:main" in next(v for k, v in wheel.items() if k.endswith("entry_points.txt"))


def test_the_long_description_leads_nowhere_that_an_index_has_not(built, wheel):
    description = BytesParser().parsebytes(metadata(wheel)).get_payload()
    assert description.startswith("# Paceline")
    assert not re.findall(HERE, description)
    fences = re.compile(r"^```.*$", re.MULTILINE)
    assert fences.findall(description) == fences.findall((built.source / "README.md").read_text())


def test_links_and_pictures_but_not_code_are_taken_out():
    code = (
        f"import runpy, sys; print(runpy.run_path({str(ROOT / 'setup.py')!r})['described'](sys.stdin.read()), end='')"
    )
    text = (
        "# P\n\n![a chart](docs/a.svg)\n\nSee [docs/b.md](docs/b.md#c), [us](https://x.org/y).\n\n```py\na[0](b)\n```\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    assert done.stdout == "# P\n\nSee docs/b.md, [us](https://x.org/y).\n\n```py\na[0](b)\n```\n"


def test_there_is_one_version(built, wheel):
    said = {
        paceline.__version__,
        str(parse_wheel_filename(built.wheel.name)[1]),
        str(parse_sdist_filename(built.sdist.name)[1]),
        str(Metadata.from_email(metadata(wheel)).version),
        yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"],
        re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0],
    }
    assert len(said) == 1, said


def test_the_authors_are_those_to_cite(wheel):
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    found = Metadata.from_email(metadata(wheel))
    assert found.author == ", ".join(author["name"] for author in cited["authors"])
    assert cited["license"] == found.license_expression
