"""A study through Paceline itself: planned, trained, recorded; data and libraries are in memory already."""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paceline.api import load
from paceline.execute.calibrate import calibrate
from paceline.execute.session import Session, execute, open_session
from paceline.record.writer import ENDED


def session_of(study: Mapping[str, Any], out: Path, jobs: int | None = None, stack: bool | None = None) -> Session:
    return open_session(load(study), out, jobs=jobs, stack=stack)


def seconds(study: Mapping[str, Any], *, jobs: int | None = None, stack: bool | None = None) -> float:
    """From the plan to the last row on disk. Every run must end as it should."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        session = session_of(study, Path(folder), jobs, stack)
        refused = [event.reason for event in execute(session) if event.kind in ("refused", "stopped")]
        taken = time.perf_counter() - begun
        standing = session_of(study, Path(folder)).standing()
    if refused or set(standing) - set(ENDED):
        raise RuntimeError(f"{study['name']}: {refused or standing}")
    return taken


def calibrated(study: Mapping[str, Any]) -> Session:
    """The session as `paceline run` would open it: this machine is measured first, if that pays."""
    with tempfile.TemporaryDirectory() as folder:
        session = session_of(study, Path(folder))
        for line in calibrate(session, session.missing()):
            print(line, flush=True)
        return session_of(study, Path(folder))
