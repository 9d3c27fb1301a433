"""One process at a time in a folder. The system lifts the lock when its holder ends, however it ends."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

NAME = ".lock"


@contextlib.contextmanager
def alone(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the folder's lock; `waiting` is called once if another process has it.

    A file system that knows no locks is used without.
    """
    with (folder / NAME).open("ab") as handle:
        try:
            _lock(handle, wait=False)
        except BlockingIOError:
            waiting()
            _lock(handle, wait=True)
        except OSError:
            pass
        yield


if sys.platform == "win32":
    import msvcrt
    import time

    def _lock(handle: IO[bytes], *, wait: bool) -> None:
        while True:
            try:
                handle.seek(0)
                return msvcrt.locking(handle.fileno(), msvcrt.LK_NBLCK, 1)
            except PermissionError as error:
                if not wait:
                    raise BlockingIOError from error
                time.sleep(0.1)
else:
    import fcntl

    def _lock(handle: IO[bytes], *, wait: bool) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
