"""Where the time, memory and power of runs went, read back as one table."""

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from paceline.errors import RecordError
from paceline.record.layout import PackFolder, StudyFolder
from paceline.record.writer import is_telemetry

_SECONDS = ("seconds", "loader", "copy", "forward", "backward", "exchange", "optimizer", "evaluation", "checkpoint")
_LATER = {"exchange": 0.0}  # what records of earlier versions do not say
_BYTES = ("resident_bytes", "allocated_bytes", "reserved_bytes", "device_used_bytes", "device_bytes")
_POWER = ("utilisation", "power_watts", "energy_joules")
TELEMETRY: dict[str, Any] = {
    "run": pl.String,
    "step": pl.Int64,
    "examples": pl.Int64,
    **dict.fromkeys(_SECONDS, pl.Float64),
    **dict.fromkeys(_BYTES, pl.Int64),
    **dict.fromkeys(_POWER, pl.Float64),
}


def read_telemetry(folder: StudyFolder, packs: Iterable[tuple[str, str]]) -> pl.DataFrame:
    """The lines that stand, by run and step; `packs` says which runs are asked for, each with the pack it is read from.

    A line stands until one of the same step or an earlier one is written after it, as rows do. A run without telemetry
    is not there.
    """
    wanted: dict[str, set[str]] = {}
    for run, pack in packs:
        wanted.setdefault(pack, set()).add(run)
    lines = [line for pack, runs in wanted.items() for line in _standing(folder.pack(pack), runs)]
    return pl.DataFrame(lines, schema=TELEMETRY).sort("run", "step")


def _standing(folder: PackFolder, runs: set[str]) -> list[dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in _lines(folder):
        if line["run"] in runs:
            before = found.setdefault(line["run"], [])
            while before and before[-1]["step"] >= line["step"]:
                before.pop()
            before.append(line)
    return [line for several in found.values() for line in several]


def _lines(folder: PackFolder) -> Iterator[dict[str, Any]]:
    """The file's lines with the columns of the table, without a torn last one."""
    data = folder.telemetry.read_bytes() if folder.telemetry.exists() else b""
    lines = data.split(b"\n")
    for number, text in enumerate(lines, 1):
        if is_telemetry(text) and _whole(line := {**_LATER, **json.loads(text)}):
            yield {name: line.get(name) for name in TELEMETRY}
        elif text.strip() and (number < len(lines) or is_telemetry(text)):
            raise RecordError(
                f"{folder.telemetry}:{number}: does not say where the time of a run went. Was it edited by hand? "
                "Take the line out: the report does without it."
            )


def _whole(line: dict[str, Any]) -> bool:
    """Whether counts are whole, seconds are there, and what may be missing is missing or a number of at least 0."""
    sizes = [value for name in _BYTES if (value := line.get(name)) is not None]
    power = [value for name in _POWER if (value := line.get(name)) is not None]
    counts = [line["step"], line.get("examples"), *sizes]
    seconds = [line.get(name) for name in _SECONDS]
    return all(isinstance(n, int) for n in counts) and all(map(_is_amount, [*counts, *seconds, *power]))


def _is_amount(value: Any) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(value) and 0 <= value < 2**63
