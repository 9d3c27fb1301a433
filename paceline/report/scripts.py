"""Vega, Vega-Lite and Vega-Embed as one script, from vl-convert: no network, ever."""

import contextlib
import os
import sys
import uuid
from importlib import metadata
from pathlib import Path

import vl_convert


def vega() -> str:
    """The bundle. It takes seconds to make, so it is kept in the user's cache, by the version that made it."""
    kept = _cache() / f"vega-{metadata.version('vl-convert-python')}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    made = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    beside = kept.with_name(f".{kept.name}.{uuid.uuid4().hex}")
    with contextlib.suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(made, encoding="utf-8")
        os.replace(beside, kept)
    return made


def _cache() -> Path:
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    else:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "paceline"
