"""Who is training a pack now. Two `run`s on one study train each pack once; the claim of a dead one expires.

A claim is a file made with O_EXCL and touched while its owner lives. It is dead at once if its process is gone from
this host, and after LEASE seconds without a touch if it came from another host. A dead claim is taken over by
renaming it away, which only one of several takers can do.
"""

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from types import TracebackType

import psutil

from paceline.record.layout import cannot_write

BEAT = 5.0
LEASE = 60.0


class Claim:
    """Holds a claim while the context lasts; `held` is False if somebody alive has it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.held = False
        self._over = threading.Event()

    def __enter__(self) -> "Claim":
        self.held = _take(self._path)
        if self.held:
            threading.Thread(target=self._beat, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self.held:
            self._path.unlink(missing_ok=True)

    def _beat(self) -> None:
        while not self._over.wait(BEAT):
            with contextlib.suppress(OSError):
                os.utime(self._path)


def alive(path: Path) -> bool:
    """Whether a claim is there and its owner lives."""
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
        age = _now(path.parent) - path.stat().st_mtime
    except OSError:
        return False
    except ValueError:
        return True  # being written this instant
    if owner["host"] != socket.gethostname():
        return age < LEASE
    try:
        return bool(abs(psutil.Process(owner["pid"]).create_time() - owner["started"]) < 2)
    except psutil.NoSuchProcess:
        return False


def _take(path: Path) -> bool:
    if path.exists() and not alive(path):
        with contextlib.suppress(FileNotFoundError):
            stale = path.with_name(f".claim.{uuid.uuid4().hex}")
            os.rename(path, stale)
            stale.unlink()
    me = {"host": socket.gethostname(), "pid": os.getpid(), "started": psutil.Process().create_time()}
    try:
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return False
    except OSError as error:
        raise cannot_write(path, error) from None
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(me, file)
    return True


def _now(folder: Path) -> float:
    """The time by the filesystem's own clock, which may differ from this host's."""
    probe = folder / f".now.{uuid.uuid4().hex}"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        probe.unlink(missing_ok=True)
