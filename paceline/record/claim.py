"""Who is training a pack now. Two `run`s on one study train each pack once; the claim of a dead one expires.

A claim is a file made with O_EXCL and touched while its owner lives. It is dead at once if its process is gone from
this host, and after LEASE seconds without a touch if it came from another host. A dead claim is never removed by who
takes over: its heir is a second claim, named by the dead one's token and made with O_EXCL too, so of several takers
one wins. The last of that chain holds; when it is done it removes the first file, then the others.
"""

import contextlib
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from paceline.record.layout import cannot_write
from paceline.record.process import lives, place, started

BEAT = 5.0
LEASE = 60.0
POLL = 0.1


@dataclass(frozen=True)
class _Owner:
    place: str
    pid: int
    started: float
    token: str


@dataclass(frozen=True)
class _Link:
    """A claim as it was when it was looked at; judged, and followed, by that one look."""

    path: Path
    owner: _Owner | None  # None if it is being written this instant, or was left half written
    touched: float
    token: str

    @property
    def heir(self) -> Path:
        return self.path.with_name(f".claim.{self.token}")


class Claim:
    """Holds a claim while the context lasts; `held` is False if somebody alive has it.

    `lost` turns True if another host has taken over meanwhile, which it may after LEASE seconds of silence.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mine: Path | None = None
        self._over = threading.Event()
        self.lost = False

    @property
    def held(self) -> bool:
        return self._mine is not None

    def __enter__(self) -> "Claim":
        self._mine = _take(self._path)
        if self.held:
            threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            chain = _chain(self._path)
            if self.held and _last(chain) == self._mine:
                for link in chain:
                    _remove(link.path)

    def _beat(self) -> None:
        while self._mine and not self._over.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(self._mine)
                if last := _last(_chain(self._path)):
                    self.lost = last != self._mine


@contextlib.contextmanager
def waited(path: Path) -> Iterator[None]:
    """Holds a claim, however long somebody alive has it first."""
    while True:
        with Claim(path) as claim:
            if claim.held:
                yield
                return
        time.sleep(POLL)


def alive(path: Path) -> bool:
    """Whether a claim is there and its owner lives, or may live: one that cannot be read."""
    try:
        chain = _chain(path)
    except OSError:
        return True
    return bool(chain) and _lives(chain[-1])


def _take(path: Path) -> Path | None:
    """The file that makes the claim ours, or None."""
    try:
        chain = _chain(path)
    except OSError:
        return None
    if chain and _lives(chain[-1]):
        return None
    mine = chain[-1].heir if chain else path
    if not _make(mine):
        return None
    with contextlib.suppress(OSError):
        if _last(_chain(path)) == mine:
            return mine
    _remove(mine)  # the one that we saw dead has been followed, and that one has released, while we looked
    return None


def _make(path: Path) -> bool:
    me = _Owner(place(), os.getpid(), started(), uuid.uuid4().hex)
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(me), file)
    except OSError as error:
        _remove(path)
        raise cannot_write(path, error) from None
    return True


def _chain(path: Path) -> list[_Link]:
    """The claim and its heirs, oldest first; empty if there is none. OSError if one is there and cannot be read."""
    chain: list[_Link] = []
    link = _look(path)
    while link and link not in chain:
        chain.append(link)
        link = _look(link.heir)
    return chain


def _last(chain: list[_Link]) -> Path | None:
    return chain[-1].path if chain else None


def _look(path: Path) -> _Link | None:
    try:
        with path.open("rb") as file:
            stat, text = os.fstat(file.fileno()), file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    owner = _owner(text)
    return _Link(path, owner, stat.st_mtime, owner.token if owner else f"{stat.st_ino}-{stat.st_mtime_ns}")


def _owner(text: bytes) -> _Owner | None:
    try:
        said = json.loads(text)
        owner = _Owner(str(said["place"]), int(said["pid"]), float(said["started"]), str(said["token"]))
    except (ValueError, KeyError, TypeError):
        return None
    return owner if owner.pid > 0 and owner.token.isalnum() else None


def _lives(link: _Link) -> bool:
    owner = link.owner
    if owner is None or owner.place != place():
        return _now(link.path.parent) - link.touched < LEASE
    return lives(owner.pid, owner.started)


def _now(folder: Path) -> float:
    """The time by the filesystem's own clock, which may differ from this host's."""
    probe = folder / f".now.{uuid.uuid4().hex}"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        _remove(probe)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
