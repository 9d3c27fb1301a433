"""The user's cache: where it is by the custom of the system, and how a file gets into it."""

import contextlib
import os
import sys
import uuid
from pathlib import Path


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
