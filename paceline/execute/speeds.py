"""Speeds measured on this machine, kept in the user's cache: a file a machine, an entry a kind of runs."""

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from paceline import cache
from paceline.plan.choose import Speed, Speeds
from paceline.record.machine import fingerprint

KEPT_SECONDS = 30 * 86400.0


def load() -> Speeds:
    """What is known and not too old."""
    return {kind: entry.speeds for kind, entry in _entries().items()}


def keep(kind: str, speeds: dict[str, Speed]) -> None:
    """Adds to what is known of these runs; where the cache cannot be written, the next `run` measures again."""
    entries, file = _entries(), _file()
    before = entries.get(kind, _Entry(time.time(), {}))
    entries[kind] = _Entry(before.at, {**before.speeds, **speeds})
    cache.keep(file, json.dumps({kind: asdict(entry) for kind, entry in entries.items()}, indent=1))


@dataclass(frozen=True)
class _Entry:
    at: float  # when the first of them was measured
    speeds: dict[str, Speed]  # by way


def _entries() -> dict[str, _Entry]:
    """Nothing, if the file cannot be read."""
    try:
        said = json.loads(_file().read_text(encoding="utf-8"))
        found = {kind: _Entry(float(entry["at"]), _speeds(entry["speeds"])) for kind, entry in said.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
    return {kind: entry for kind, entry in found.items() if time.time() - entry.at < KEPT_SECONDS}


def _speeds(said: dict[str, dict[str, float]]) -> dict[str, Speed]:
    return {way: Speed(float(speed["step"]), float(speed["evaluation"])) for way, speed in said.items()}


def _file() -> Path:
    return cache.user_cache() / f"speeds-{fingerprint()}.json"
