"""Writes a pack's rows and status so that a crash at any moment leaves something readable."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from paceline.record.layout import FORMAT, PackFolder, cannot_write, read_json, unreadable, write_json
from paceline.record.shapes import Shape, count, misfit, named, number, text

ENDED = ("done", "diverged")
OVER = (*ENDED, "failed")
STATUSES = ("queued", "running", *OVER, "interrupted")
_DETAILS: dict[str, Shape] = {
    **dict.fromkeys(("reason", "traceback", "timing", "data"), text),
    "sources": named(text),
    **dict.fromkeys(("step", "threads", "devices", "hosts", "peak_bytes", "memory_bytes", "sent_bytes"), count),
    **dict.fromkeys(("evaluation_seconds", "turnaround_seconds", "compile_seconds"), number),
    **dict.fromkeys(("samples_per_second", "telemetry_share", "imbalance"), number),
    **dict.fromkeys(("work", "probe"), named(number)),
}


class PackWriter:
    """Appends rows to one pack and keeps its status; use it as a context."""

    def __init__(self, folder: PackFolder) -> None:
        self._folder = folder
        self._runs: dict[str, dict[str, Any]] = read_statuses(folder)
        self._examined: int | None = None  # opened when first written to
        self._pictured: set[Any] = set()  # examples, each with the data that have it
        self._telemetry: int | None = None  # opened when first written to

    def __enter__(self) -> "PackWriter":
        self._rows = _open(self._folder.rows, is_row)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._rows, self._examined, self._telemetry):
            if file is not None:
                os.close(file)

    def row(self, values: dict[str, Any]) -> None:
        self.rows([values])

    def rows(self, several: Iterable[dict[str, Any]]) -> None:
        _write(self._rows, b"".join(map(_line, several)), self._folder.rows)

    def examined(self, line: dict[str, Any]) -> None:
        """What a run got wrong: run, data, names, matrix, worst (docs/reference/records.md). The last line of a run
        stands. An example of the same data that has been pictured in this file is not pictured again."""
        keys = [(line.get("data"), mistake.get("index")) for mistake in line["worst"]]
        known, self._pictured = self._pictured, self._pictured.union(keys)
        again = [{**m, "png": None} if key in known else m for key, m in zip(keys, line["worst"], strict=True)]
        text = _line({**line, "worst": again})
        assert is_examined(text)
        if self._examined is None:
            self._examined = _open(self._folder.examined, is_examined)
        _write(self._examined, text, self._folder.examined)

    def telemetry(self, line: dict[str, Any]) -> None:
        """Where the time of a run went up to a row: run, step, seconds and their parts (docs/reference/records.md)."""
        text = _line(line)
        assert is_telemetry(text)
        if self._telemetry is None:
            self._telemetry = _open(self._folder.telemetry, is_telemetry)
        _write(self._telemetry, text, self._folder.telemetry)

    def sync(self) -> None:
        """Brings what was written to disk, before something says that it is there."""
        folder = self._folder
        files = (self._rows, folder.rows), (self._examined, folder.examined), (self._telemetry, folder.telemetry)
        for file, path in files:
            try:
                if file is not None:
                    os.fsync(file)
            except OSError as error:
                raise cannot_write(path, error) from None

    def status(self, run: str, status: str, **details: Any) -> None:
        """How a run stands now; details are kept beside it (reason, step, traceback)."""
        self.statuses({run: {"status": status, **details}})

    def statuses(self, runs: dict[str, dict[str, Any]]) -> None:
        """The same for several runs at once."""
        assert all(details["status"] in STATUSES for details in runs.values())
        if any(details["status"] != "running" for details in runs.values()):
            self.sync()
        self._runs.update(runs)
        write_json(self._folder.status, {"format": FORMAT, "runs": self._runs})


def _line(values: dict[str, Any]) -> bytes:
    return json.dumps(values, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _open(path: Path, whole: Callable[[bytes], bool]) -> int:
    """A file to append lines to, its last one mended."""
    try:
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    except OSError as error:
        raise cannot_write(path, error) from None
    try:
        _mend_last_line(file, whole)
    except OSError as error:
        os.close(file)
        raise cannot_write(path, error) from None
    return file


def _write(file: int, text: bytes, path: Path) -> None:
    try:
        while text:
            text = text[os.write(file, text) :]
    except OSError as error:
        raise cannot_write(path, error) from None


def _mend_last_line(file: int, whole: Callable[[bytes], bool]) -> None:
    """A line cut short by a crash would spoil the next one: cut it off, it is measured again."""
    size = os.lseek(file, 0, os.SEEK_END)
    keep = size
    while keep:
        at = max(0, keep - 4096)
        newline = os.pread(file, keep - at, at).rfind(b"\n")
        if newline >= 0:
            keep = at + newline + 1
            break
        keep = at
    if whole(os.pread(file, size - keep, keep)):
        os.write(file, b"\n")
    elif keep < size:
        os.ftruncate(file, keep)


def is_row(line: bytes) -> bool:
    """Whether a line is a whole row, which the beginning of one never is."""
    row = _mapping(line)
    return isinstance(row.get("run"), str) and isinstance(row.get("step"), int)


def is_examined(line: bytes) -> bool:
    """Whether a line says what a run got wrong; the beginning of one never does."""
    said = _mapping(line)
    lists = [said.get(name) for name in ("names", "matrix", "worst")]
    return isinstance(said.get("run"), str) and all(isinstance(found, list) for found in lists)


def is_telemetry(line: bytes) -> bool:
    """Whether a line says where the time of a run went; the beginning of one never does."""
    said = _mapping(line)
    seconds = said.get("seconds")
    return is_row(line) and isinstance(seconds, (int, float)) and not isinstance(seconds, bool)


def _mapping(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_statuses(folder: PackFolder) -> dict[str, dict[str, Any]]:
    if not folder.status.exists():
        return {}
    runs = read_json(folder.status).get("runs")
    if not isinstance(runs, dict):
        raise unreadable(folder.status, "it has no runs")
    for run, details in runs.items():
        if not isinstance(details, dict) or details.get("status") not in STATUSES:
            raise unreadable(folder.status, f"run {run} has no status out of {', '.join(STATUSES)}")
        if wrong := misfit(details, _DETAILS):
            raise unreadable(folder.status, f"run {run}: {wrong} is not what a run notes there")
    return runs
