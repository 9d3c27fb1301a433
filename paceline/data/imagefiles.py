"""Many image files in one place: a folder of them, or an archive. What they hash to, and their bytes in order."""

import functools
import hashlib
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from paceline.cache import keep, user_cache
from paceline.errors import DataError

LARGEST = 500_000_000  # bytes that one member of an archive may have
Load = Callable[[], bytes]


class Collection(Protocol):
    @property
    def count(self) -> int | None:
        """How many images there are, if that is known before they are read."""

    def fingerprint(self) -> str:
        """Cheap: changes whenever a file is written."""

    def content(self) -> str:
        """SHA-256 of all names and bytes."""

    def read(self) -> Iterator[tuple[str, Load]]:
        """Every file: its name and what gives its bytes; the latter may be called in another thread."""

    def bytes_of(self, name: str) -> bytes:
        """Of one file."""


def content_of(files: Collection) -> str:
    """What the files hash to; files that have not been written since are not read again."""
    known = user_cache() / "images" / "index" / files.fingerprint()
    try:
        return known.read_text(encoding="utf-8")
    except OSError:
        content = files.content()
        keep(known, content)
        return content


def threads() -> int:
    """As many as there are cores for this process."""
    return getattr(os, "process_cpu_count", os.cpu_count)() or 1


@dataclass(frozen=True)
class Tree:
    """Files under a folder, by their names relative to it, in the order in which they are to be."""

    root: Path
    names: tuple[str, ...]

    @property
    def count(self) -> int | None:
        return len(self.names)

    def fingerprint(self) -> str:
        digest = hashlib.sha256(str(self.root.resolve()).encode(errors="surrogateescape"))
        for name in self.names:
            digest.update(f"\n{name}\0{_stamp(self.root / name)}".encode(errors="surrogateescape"))
        return digest.hexdigest()

    def content(self) -> str:
        digest = hashlib.sha256()
        with ThreadPoolExecutor(threads()) as pool:
            for name, sha256 in zip(self.names, pool.map(self._sha256, self.names), strict=True):
                digest.update(f"{sha256}  {name}\n".encode(errors="surrogateescape"))
        return digest.hexdigest()

    def read(self) -> Iterator[tuple[str, Load]]:
        for name in self.names:
            yield name, (self.root / name).read_bytes

    def bytes_of(self, name: str) -> bytes:
        try:
            return (self.root / name).read_bytes()
        except OSError as error:
            raise DataError(f"{self.root / name} cannot be read: {error.strerror or error}.") from error

    def _sha256(self, name: str) -> str:
        try:
            return hashlib.sha256((self.root / name).read_bytes()).hexdigest()
        except OSError:
            return "unreadable"


@dataclass(frozen=True)
class Archive:
    """A tar file, of any compression; nothing is unpacked to disk."""

    path: Path

    @property
    def count(self) -> int | None:
        return None

    def fingerprint(self) -> str:
        return hashlib.sha256(f"{self.path.resolve()}\0{_stamp(self.path)}".encode()).hexdigest()

    def content(self) -> str:
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror or error}.") from error

    def read(self) -> Iterator[tuple[str, Load]]:
        try:
            with tarfile.open(self.path, "r|*") as archive:
                for member in archive:
                    if member.isfile():
                        raw = self._bytes(archive, member)
                        yield member.name.removeprefix("./"), lambda raw=raw: raw  # type: ignore[misc]
        except (OSError, tarfile.TarError, EOFError, zlib.error) as error:
            raise DataError(f"{self.path} is no sound archive: {error}. Get it anew.") from error

    def bytes_of(self, name: str) -> bytes:
        return _members(self)[name]

    def _bytes(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
        inside = archive.extractfile(member)
        if inside is None or member.size > LARGEST:
            raise DataError(f"{self.path}: {member.name} is too large to be an image.")
        return inside.read()


@functools.lru_cache(maxsize=1)
def _members(archive: Archive) -> dict[str, bytes]:
    """All files of an archive as they are: a compressed one can only be read from its beginning."""
    return {name: load() for name, load in archive.read()}


def _stamp(path: Path) -> str:
    """Of a file as the folder lists it; `gone` for one that is not there."""
    try:
        found = path.stat()
    except OSError:
        return "gone"
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
