"""Speeds measured on this machine, kept in the user's cache: a file a machine, an entry a kind of runs."""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paceline import cache
from paceline.plan.choose import Speed, Speeds
from paceline.record.machine import fingerprint


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

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "_Entry":
        speeds = {way: Speed(float(one["step"]), float(one["evaluation"])) for way, one in said["speeds"].items()}
        return cls(float(said["at"]), speeds)


def _entries() -> dict[str, _Entry]:
    return cache.recent(_file(), _Entry.of)


def _file() -> Path:
    return cache.user_cache() / f"speeds-{fingerprint()}.json"
