"""Vega, Vega-Lite and Vega-Embed as one script, from vl-convert: no network, ever."""

import contextlib
from importlib import metadata

import vl_convert

from paceline.cache import keep, user_cache


def vega() -> str:
    """The bundle. It takes seconds to make, so it is kept in the user's cache, by the version that made it."""
    kept = user_cache() / f"vega-{metadata.version('vl-convert-python')}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    made = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    keep(kept, made)
    return made
