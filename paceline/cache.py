"""The user's cache: where it is by the custom of the system, how a file gets into it, how measurements grow old."""

import contextlib
import json
import os
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

KEPT_SECONDS = 30 * 86400.0


class Dated(Protocol):
    """A measurement."""

    @property
    def at(self) -> float:
        """When it was made."""


D = TypeVar("D", bound=Dated)


def user_cache() -> Path:
    """$XDG_CACHE_HOME wins on all but Windows."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif chosen := os.environ.get("XDG_CACHE_HOME"):
        base = Path(chosen)
    else:
        base = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return base / "paceline"


def keep(file: Path, text: str) -> None:
    """Whole or not at all; a cache that cannot be written is done without."""
    beside = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)


def recent(file: Path, read: Callable[[Any], D]) -> dict[str, D]:
    """The measurements of a file, by what was measured, that are not too old; none, if it cannot be read."""
    try:
        found = {kind: read(entry) for kind, entry in json.loads(file.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
    return {kind: entry for kind, entry in found.items() if time.time() - entry.at < KEPT_SECONDS}
