"""Who else trains on this host: a run is timed `exclusive` only if no other Paceline process trained beside it.

Marks lie in the user's cache, which all processes of a user share whatever their folder for temporary files is.
"""

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from paceline.cache import keep, user_cache
from paceline.record.process import lives, place, started


@contextmanager
def present() -> Iterator[None]:
    """Says that this process trains or measures, for as long as the context lasts."""
    mark = _home() / f"{uuid.uuid4().hex}.json"
    keep(mark, json.dumps({"place": place(), "pid": os.getpid(), "started": started()}))
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            mark.unlink()


def others() -> bool:
    """Whether another process trains here now; those that started this one are no others. The mark of a dead one is
    swept away."""
    found, family = False, {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    for mark in _home().glob("*.json"):
        said = _read(mark)
        if said.get("place") != place():
            continue
        if not lives(said["pid"], said["started"]):
            with contextlib.suppress(OSError):
                mark.unlink()
        elif said["pid"] not in family:
            found = True
    return found


def _read(file: Path) -> dict[str, Any]:
    """Nothing, if it cannot be read or is no mark."""
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        mark = {"place": said["place"], "pid": int(said["pid"]), "started": float(said["started"])}
        return mark if mark["pid"] > 0 else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _home() -> Path:
    return user_cache() / "training"
