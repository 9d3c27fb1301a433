"""Records read back: which runs stand how, and all rows as one Polars table."""

import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from paceline.errors import RecordError
from paceline.record.claim import alive
from paceline.record.layout import PackFolder, StudyFolder, read_json, unreadable
from paceline.record.machine import read_machine
from paceline.record.writer import ENDED, is_row, read_statuses
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
_BLANK = json.dumps(dict.fromkeys(SCHEMA)).encode() + b"\n"  # a first row with every column, which a file may lack


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


_SAID = {"folder": str, "scale": str, "changed": str, "part": bool}  # of a study, beside itself


def read_study(folder: StudyFolder) -> Study:
    """The study as it was resolved when it was run."""
    stored = read_json(folder.study)
    if "study" not in stored or not all(isinstance(stored.get(key), kind) for key, kind in _SAID.items()):
        raise RecordError(f"{folder.study}: has no study in it. Run the study again: that writes it anew.")
    document = Document(str(folder.study), stored["study"])
    changed, part = stored["changed"], stored["part"]
    return from_document(document, Path(stored["folder"]), stored["scale"], changed=changed, part=part)


def read_packs(folder: StudyFolder) -> list[PackState]:
    return [_pack_state(pack) for pack in folder.packs() if pack.pack.exists()]


def _pack_state(folder: PackFolder) -> PackState:
    pack = read_json(folder.pack)
    statuses = read_statuses(folder)
    try:
        ids = [entry["run"] for entry in pack["runs"]]
    except (KeyError, TypeError):
        ids = [None]
    if not all(isinstance(run, str) for run in ids):
        raise unreadable(folder.pack, "it has no list of runs")
    if any(statuses.get(run, {}).get("status") in ENDED for run in ids) and not folder.rows.exists():
        raise unreadable(folder.rows, "it is gone, and runs have ended that wrote it")
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


def read_machines(folder: StudyFolder) -> dict[str, list[dict[str, Any]]]:
    """What each pack was trained with, then the earlier machines of a resumed pack; a spoilt file is passed over."""
    found = {}
    for pack in folder.packs():
        try:
            machine = read_machine(pack)
        except RecordError:
            continue
        found[pack.id] = [machine, *(machine.get("earlier") or [])]
    return found


def read_rows(packs: Iterable[PackState]) -> pl.DataFrame:
    """Every row that stands, by run and step.

    A resumed run repeats some rows, a run started anew all: a row stands until one of the same step or an earlier one
    is written after it. Where several packs hold a run, its rows are those of the pack that got furthest. A run that
    has ended has rows up to its end.
    """
    packs = list(packs)
    known = states(packs)
    owner = {run: state.pack for run, state in known.items()}
    alone = all(owner[state.run] == pack.folder for pack in packs for state in pack.runs)
    groups = [packs] if alone else [[pack] for pack in packs]
    tables = []
    for group in groups:
        others = [state.run for pack in group for state in pack.runs if owner[state.run] != pack.folder]
        tables.append(_table(group).filter(~pl.col("run").is_in(others)))
    rows = pl.concat([pl.DataFrame(schema=SCHEMA), *tables], how="diagonal").sort("run", "step")
    _check_ends(rows, known.values())
    return rows


def _check_ends(rows: pl.DataFrame, known: Iterable[RunState]) -> None:
    last = dict(rows.group_by("run").agg(pl.col("step").max()).iter_rows())
    for state in known:
        end = state.details.get("step")
        if state.ended and end is not None and last.get(state.run) != end:
            raise RecordError(
                f"{state.pack.rows}: not whole: run {state.run} ended at step {end}, and its rows at "
                f"{last.get(state.run, 'none')}. Was it copied while it was written? Copy {state.pack.path} again, or "
                "delete it to train its runs again."
            )


def _table(packs: list[PackState]) -> pl.DataFrame:
    text = _BLANK + b"".join(_whole_lines(pack.folder.rows) for pack in packs)
    try:
        rows = pl.read_ndjson(io.BytesIO(text), infer_schema_length=None, schema_overrides=SCHEMA)[1:]
        extras = sorted(set(rows.columns) - set(SCHEMA))
        rows = rows.select(*SCHEMA, *(pl.col(name).cast(pl.Float64) for name in extras))
    except pl.exceptions.PolarsError:
        raise _spoilt(packs) from None
    if rows["run"].null_count() or rows["step"].null_count():
        raise _spoilt(packs)
    following = pl.col("step").shift(-1).reverse().cum_min().reverse().over("run")
    return rows.filter(following.is_null() | (pl.col("step") < following))


def _whole_lines(path: Path) -> bytes:
    """A file's rows without a torn last line."""
    data = path.read_bytes() if path.exists() else b""
    end = data.rfind(b"\n") + 1
    return data + b"\n" if is_row(data[end:]) else data[:end]


def _spoilt(packs: Iterable[PackState]) -> RecordError:
    for pack in packs:
        for number, line in enumerate(_whole_lines(pack.folder.rows).splitlines(), 1):
            if line.strip() and not (is_row(line) and _numbers(json.loads(line))):
                return RecordError(
                    f"{pack.folder.rows}:{number}: not a row. Was it edited by hand? Take the line out, or delete "
                    f"{pack.folder.path} to train its runs again."
                )
    return RecordError("The rows cannot be read as one table: a column has values of several types.")


def _numbers(row: dict[str, Any]) -> bool:
    """Whether all but the run's name are finite numbers, flags or missing."""
    values = (value for name, value in row.items() if name != "run")
    return all(value is None or (isinstance(value, (int, float)) and math.isfinite(value)) for value in values)
