"""Writes a pack's rows and status so that a crash at any moment leaves something readable."""

import json
import os
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from paceline.record.layout import FORMAT, PackFolder, cannot_write, read_json, unreadable, write_json

ENDED = ("done", "diverged")
STATUSES = ("queued", "running", *ENDED, "failed", "interrupted")


class PackWriter:
    """Appends rows to one pack and keeps its status; use it as a context."""

    def __init__(self, folder: PackFolder) -> None:
        self._folder = folder
        self._runs: dict[str, dict[str, Any]] = read_statuses(folder)

    def __enter__(self) -> "PackWriter":
        try:
            self._rows = os.open(self._folder.rows, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
        except OSError as error:
            raise cannot_write(self._folder.rows, error) from None
        try:
            self._mend_last_line()
        except OSError as error:
            os.close(self._rows)
            raise cannot_write(self._folder.rows, error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._rows)

    def row(self, values: dict[str, Any]) -> None:
        self.rows([values])

    def rows(self, several: Iterable[dict[str, Any]]) -> None:
        lines = (json.dumps(values, separators=(",", ":"), allow_nan=False) for values in several)
        text = "".join(f"{line}\n" for line in lines).encode()
        try:
            while text:
                text = text[os.write(self._rows, text) :]
        except OSError as error:
            raise cannot_write(self._folder.rows, error) from None

    def sync(self) -> None:
        """Brings the rows to disk, before something says that they are there."""
        try:
            os.fsync(self._rows)
        except OSError as error:
            raise cannot_write(self._folder.rows, error) from None

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

    def _mend_last_line(self) -> None:
        """A row cut short by a crash would spoil the next one: cut it off, it is measured again."""
        size = os.lseek(self._rows, 0, os.SEEK_END)
        keep = size
        while keep:
            at = max(0, keep - 4096)
            newline = os.pread(self._rows, keep - at, at).rfind(b"\n")
            if newline >= 0:
                keep = at + newline + 1
                break
            keep = at
        if is_row(os.pread(self._rows, size - keep, keep)):
            os.write(self._rows, b"\n")
        elif keep < size:
            os.ftruncate(self._rows, keep)


def is_row(line: bytes) -> bool:
    """Whether a line is a whole row, which the beginning of one never is."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and isinstance(row.get("run"), str) and isinstance(row.get("step"), int)


def read_statuses(folder: PackFolder) -> dict[str, dict[str, Any]]:
    if not folder.status.exists():
        return {}
    runs = read_json(folder.status).get("runs")
    if not isinstance(runs, dict):
        raise unreadable(folder.status, "it has no runs")
    for run, details in runs.items():
        if not isinstance(details, dict) or details.get("status") not in STATUSES:
            raise unreadable(folder.status, f"run {run} has no status out of {', '.join(STATUSES)}")
    return runs
