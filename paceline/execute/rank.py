"""One process of the team that trains a run on several devices. torchrun starts it, on one host or on many.

torchrun --nproc-per-node=N -m paceline.execute.rank JOB PACK     JOB: a file; events go to stdout

Every process keeps its own state in a checkpoint, all at the same step. After a process has died torchrun starts all of
them again, and they go on from the newest step that all of them have.
"""

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from paceline.errors import DataError, DeviceError, PacelineError, RecordError
from paceline.execute import checkpoints, datasets, origins, outcome
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.single import Stop
from paceline.execute.waiting import missing
from paceline.record.layout import PackFolder, StudyFolder
from paceline.record.machine import usable_cores
from paceline.record.writer import PackWriter
from paceline.spec import Run

STOP = "stop"  # a file beside the job's: training ends at the next beat


def main() -> None:
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever own parts print goes to stderr, not among the events
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    file, pack = Path(sys.argv[1]), sys.argv[2]
    job = Job.loads(file.read_text())
    try:
        for event in work(StudyFolder(job.study).pack(pack), job, file.with_name(STOP).exists):
            print(json.dumps(event.plain()), file=events)
    except PacelineError as error:
        print(json.dumps(Event("refused", pack, reason=str(error)).plain()), file=events)
        sys.exit(error.exit_code)


def work(folder: PackFolder, job: Job, stop: Stop, room: str = "team") -> Iterator[Event]:
    """Trains what is missing of the pack; only the first process writes and tells, but for a run that fails by what
    another does. `room`: where the team meets."""
    import torch

    from paceline.train import device
    from paceline.train.parallel.team import gathered

    torch.set_num_threads(job.threads)
    for name, run in missing(folder, job):
        with (
            gathered(device.resolve(run.device).type, run.devices, room) as team,
            contextlib.ExitStack() as exits,
        ):
            writer = exits.enter_context(PackWriter(folder)) if team.first else None
            for event in _train(name, run, folder, writer, job, team, stop):
                if team.first or event.status == "failed":
                    yield event
        if stop():
            return


def _train(
    name: str, run: Run, folder: PackFolder, writer: PackWriter | None, job: Job, team: Any, stop: Stop
) -> Iterator[Event]:
    """A run that fails by itself has failed; one that lost its team is tried again, by whoever started the team."""
    from paceline.train.parallel.team import lost

    yield Event("began", folder.id, name)
    try:
        yield from _record(name, run, folder, writer, job, team, stop)
    except (DataError, DeviceError, RecordError):
        raise
    except (Exception, SystemExit) as error:
        if lost(error):
            raise
        reason = str(error) if isinstance(error, PacelineError) else f"{type(error).__name__}: {error}"
        where = traceback.format_exc()
        if writer is not None:
            writer.status(name, "failed", reason=reason, traceback=where, timing=job.timing)
        yield Event("ended", folder.id, name, status="failed", reason=reason, traceback=where)


def _record(
    name: str, run: Run, folder: PackFolder, writer: PackWriter | None, job: Job, team: Any, stop: Stop
) -> Iterator[Event]:
    from paceline.train import device
    from paceline.train.loop import train
    from paceline.train.rows import Outcome, Row, Spent

    dataset = datasets.dataset(run, job)
    yield from datasets.notes(folder, dataset)
    origin = origins.origin(name, run, dataset.checksum, job)
    here = device.resolve(run.device)
    at = _newest(folder, team, here)
    resume = checkpoints.load(_kept(folder, at, team.rank), checkpoints.RUN) if at else None
    changed = resume is not None and any(resume[key] != value for key, value in origin.items())
    if team.any([changed], here)[0]:
        resume = None
    crowded = here.type == "cpu" and team.size // team.hosts * job.threads > usable_cores()
    timing = "oversubscribed" if crowded else outcome.timing(job, resume["timing"] if resume else job.timing)
    noted = {"timing": timing, **origins.noted(origin), "devices": team.size, "hosts": team.hosts}
    if writer is not None:
        origins.note_machine(folder, run, dataset, origin, job)
        writer.status(name, "running", step=resume["position"]["step"] if resume else 0, **noted)
    files = datasets.files(job)
    saved, row = time.monotonic(), None
    saving = float(resume.get("saving", 0.0)) if resume else 0.0  # seconds spent on checkpoints
    items = train(run, dataset, job.folder, resume, files=files, timed=job.timed, team=team)
    for item in items:
        if isinstance(item, Row):
            row = outcome.plain_row(item)
            if writer is not None:
                writer.row({"run": name, **row})
        elif isinstance(item, Spent):
            if writer is not None:
                writer.telemetry({"run": name, **outcome.spent(item), "checkpoint": saving})
        elif isinstance(item, Outcome):
            if not crowded:
                noted["timing"] = outcome.timing(job, noted["timing"])
            if writer is not None:
                if item.examined is not None:
                    writer.examined(outcome.examined(name, run, item.examined, job))
                writer.status(name, item.status, **outcome.ended(item), **noted)
            team.wait()
            _drop(folder, team.rank)
            yield Event("ended", folder.id, name, step=item.step, status=item.status, reason=item.reason, row=row)
        else:
            late = time.monotonic() - saved > checkpoints.CHECKPOINT_SECONDS
            stopping, save = team.any([team.first and stop(), team.first and late], here)
            if stopping or save:
                begun = time.perf_counter()
                if writer is not None:
                    writer.sync()
                if not crowded:
                    noted["timing"] = outcome.timing(job, noted["timing"])
                kept = {**item.snapshot(), **origin, "timing": noted["timing"], "saving": saving}
                checkpoints.save(_kept(folder, item.step, team.rank), kept)
                team.wait()
                _drop(folder, team.rank, but=item.step)
                if writer is not None:
                    writer.status(name, "running", step=item.step, **noted)
                saved, saving = time.monotonic(), saving + time.perf_counter() - begun
            if stopping:
                items.close()  # type: ignore[attr-defined]
                if writer is not None:
                    writer.status(name, "interrupted", step=item.step, **noted)
                yield Event("ended", folder.id, name, (), item.step, item.total, "interrupted", "stopped", row)
                return
            yield Event("progress", folder.id, name, step=item.step, total=item.total, row=row)


def _kept(folder: PackFolder, step: int, rank: int) -> Path:
    return folder.checkpoint.with_name(f"{folder.checkpoint.name}-{step}-{rank}")


def _steps(folder: PackFolder, rank: int) -> list[int]:
    """At which this process has kept its state."""
    names = (path.name.split("-") for path in folder.path.glob(f"{folder.checkpoint.name}-*-{rank}"))
    return sorted(int(parts[-2]) for parts in names if parts[-2].isdigit())


def _newest(folder: PackFolder, team: Any, here: Any) -> int:
    """The newest step that all processes have; 0 if there is none."""
    own = _steps(folder, team.rank)
    before, newest = [0, 0, *own][-2:]
    told = [[int(step) for step in steps] for steps in team.spread([newest, before], here)]
    common = set.intersection(*map(set, told)) - {0}
    return max(common, default=0)


def _drop(folder: PackFolder, rank: int, but: int = 0) -> None:
    for step in _steps(folder, rank):
        if step != but:
            _kept(folder, step, rank).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
