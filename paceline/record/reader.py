"""Records read back: which runs stand how, and all rows as one Polars table."""

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from paceline.errors import RecordError
from paceline.record.claim import alive
from paceline.record.layout import PackFolder, StudyFolder, read_json
from paceline.record.writer import ENDED, read_statuses
from paceline.spec import Study
from paceline.spec.document import Document
from paceline.spec.study import from_document

SCHEMA: dict[str, Any] = {
    "run": pl.String,
    "step": pl.Int64,
    "epoch": pl.Int64,
    "examples": pl.Int64,
    "seconds": pl.Float64,
    "wall_seconds": pl.Float64,
    "train_loss": pl.Float64,
    "train_accuracy": pl.Float64,
    "loss": pl.Float64,
    "accuracy": pl.Float64,
    "validation_loss": pl.Float64,
    "validation_accuracy": pl.Float64,
    "lr": pl.Float64,
    "nonfinite": pl.Boolean,
}


@dataclass(frozen=True)
class RunState:
    """How a run stands, by its pack's files."""

    run: str
    pack: PackFolder
    status: str
    details: dict[str, Any]

    @property
    def ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True)
class PackState:
    folder: PackFolder
    pack: dict[str, Any]
    runs: tuple[RunState, ...]


def read_study(folder: StudyFolder) -> Study:
    """The study as it was resolved when it was run."""
    stored = read_json(folder.study)
    return from_document(Document(str(folder.study), stored["study"]), Path(stored["folder"]))


def read_packs(folder: StudyFolder) -> list[PackState]:
    return [_pack_state(pack) for pack in folder.packs() if pack.pack.exists()]


def _pack_state(folder: PackFolder) -> PackState:
    pack = read_json(folder.pack)
    statuses = read_statuses(folder)
    try:
        ids = [entry["run"] for entry in pack["runs"]]
    except (KeyError, TypeError):
        raise RecordError(f"{folder.pack}: has no list of runs. Delete {folder.path} to train them again.") from None
    return PackState(folder, pack, tuple(_run_state(folder, run, statuses.get(run, {})) for run in ids))


def _run_state(folder: PackFolder, run: str, details: dict[str, Any]) -> RunState:
    status = details.get("status", "queued")
    if status == "running" and not alive(folder.claim):
        status = "interrupted"
    return RunState(run, folder, status, details)


def states(packs: Iterable[PackState]) -> dict[str, RunState]:
    """One state a run: where several packs hold it, the one that got furthest."""
    best: dict[str, RunState] = {}
    rank = {"done": 3, "diverged": 3, "failed": 2, "running": 2, "interrupted": 1, "queued": 0}
    for pack in packs:
        for state in pack.runs:
            if state.run not in best or rank[state.status] > rank[best[state.run].status]:
                best[state.run] = state
    return best


def read_rows(packs: Iterable[PackState]) -> pl.DataFrame:
    """Every row, the last of each (run, step): a resumed pack may repeat some."""
    pieces = [piece for pack in packs if (piece := _whole_lines(pack.folder.rows))]
    if not pieces:
        return pl.DataFrame(schema=SCHEMA)
    try:
        rows = pl.read_ndjson(io.BytesIO(b"".join(pieces)), infer_schema_length=None, schema_overrides=SCHEMA)
    except pl.exceptions.PolarsError:
        raise _spoilt(packs) from None
    extras = sorted(set(rows.columns) - set(SCHEMA))
    rows = rows.select(*SCHEMA, *(pl.col(name).cast(pl.Float64) for name in extras))
    return rows.unique(["run", "step"], keep="last", maintain_order=True).sort("run", "step")


def _whole_lines(path: Path) -> bytes:
    """A file's rows without a torn last line."""
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1]


def _spoilt(packs: Iterable[PackState]) -> RecordError:
    for pack in packs:
        for number, line in enumerate(_whole_lines(pack.folder.rows).splitlines(), 1):
            try:
                ok = isinstance(json.loads(line), dict)
            except ValueError:
                ok = False
            if not ok:
                return RecordError(
                    f"{pack.folder.rows}:{number}: not a row. Was it edited by hand? Take the line out, or delete "
                    f"{pack.folder.path} to train its runs again."
                )
    return RecordError("The rows cannot be read as one table: a column has values of several types.")
