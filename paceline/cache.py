"""Where the user's cache is, by the custom of the system."""

import os
import sys
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
