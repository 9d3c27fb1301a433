"""Who else trains on this host: a run is timed `exclusive` only if no other Paceline process trained beside it."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil


@contextmanager
def present() -> Iterator[None]:
    """Says that this process trains, for as long as the context lasts."""
    mark = _home() / str(os.getpid())
    with contextlib.suppress(OSError):
        mark.touch()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            mark.unlink()


def others() -> bool:
    """Whether another process trains here now; those that started this one are no others. The mark of a dead one is
    swept away."""
    found, family = False, {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    with contextlib.suppress(OSError):
        for mark in _home().iterdir():
            if mark.name.isdigit() and int(mark.name) in family:
                continue
            if mark.name.isdigit() and psutil.pid_exists(int(mark.name)):
                found = True
            else:
                mark.unlink()
    return found


def _home() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else 0
    home = Path(tempfile.gettempdir()) / f"paceline-training-{user}"
    with contextlib.suppress(OSError):
        home.mkdir(exist_ok=True)
    return home
