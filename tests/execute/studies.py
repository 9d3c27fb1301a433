"""Small studies, and what they have left on disk."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from paceline import api
from paceline.execute.job import Job
from paceline.execute.session import _settle_packs, open_session
from paceline.record.layout import StudyFolder, make_folder
from paceline.record.reader import read_packs, read_rows, states
from paceline.record.writer import read_statuses

SMALL = {"name": "synthetic", "examples": 60, "validation": 20, "test": 20, "shape": [4], "classes": 3}
BASE: dict[str, Any] = {"data": SMALL, "model": "softmax", "optimizer": "gd", "lr": 0.1, "batch": 20}
SHORT: dict[str, Any] = {**BASE, "steps": 6, "evaluate_every": 2}
ENDLESS: dict[str, Any] = {**BASE, "steps": 10_000_000, "evaluate_every": 200}


def write(folder: Path, base: dict[str, Any], *, name: str = "s", repeat: int = 1, **said: Any) -> Path:
    """A study file; JSON is YAML."""
    file = folder / f"{name}.yaml"
    file.write_text(json.dumps({"name": name, "base": base, "repeat": repeat, **said}))
    return file


def rows(record: Path) -> pl.DataFrame:
    """All that was measured, without what differs from time to time."""
    return read_rows(read_packs(StudyFolder(record))).drop("seconds", "wall_seconds")


def standing(record: Path) -> dict[str, int]:
    return dict(Counter(state.status for state in states(read_packs(StudyFolder(record))).values()))


def lines(record: Path) -> int:
    return sum(file.read_bytes().count(b"\n") for file in record.glob("*/rows.jsonl"))


def files(record: Path) -> set[str]:
    """The names of all files in a study's packs, but for the telemetry, which runs that train alone leave."""
    return {file.name for file in record.glob("*/*")} - {"telemetry.jsonl"}


def job(record: Path, folder: Path, **changes: Any) -> Job:
    """A job for all runs that the packs hold."""
    wanted = frozenset(state.run for pack in read_packs(StudyFolder(record)) for state in pack.runs)
    said = {"data": None, "threads": 1, "timing": "exclusive", "wanted": wanted, **changes}
    return Job(study=record, folder=folder, **said)


def prepare(folder: Path, base: dict[str, Any], *, stack: bool = False, **said: Any) -> tuple[str, Path]:
    """A study's one pack, written and not begun: its id and the study's record."""
    session = open_session(api.load(write(folder, base, **said)), folder / "runs", jobs=1, stack=stack)
    make_folder(session.folder.path)
    (pack,) = _settle_packs(session, session.missing())
    return pack, session.folder.path


def never() -> bool:
    return False


def after(pauses: int) -> Callable[[], bool]:
    """Asks to stop when asked for the n-th time."""
    asked = iter(range(pauses))
    return lambda: next(asked, None) is None


def statuses(record: Path, pack: str) -> dict[str, dict[str, Any]]:
    return read_statuses(StudyFolder(record).pack(pack))
