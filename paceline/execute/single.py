"""One run of a pack: trained by the plain loop and written down as it goes, by one process or by each of a team."""

import time
import traceback
from collections.abc import Iterator
from typing import Any

from paceline.errors import BrokenDeviceError, DataError, DeviceError, PacelineError, RecordError
from paceline.execute import checkpoints, datasets, origins, outcome
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.stop import Stop
from paceline.record.layout import PackFolder
from paceline.record.machine import usable_cores
from paceline.record.writer import PackWriter
from paceline.spec import Run


def train_one(
    name: str, run: Run, folder: PackFolder, writer: PackWriter | None, job: Job, stop: Stop, team: Any = None
) -> Iterator[Event]:
    """`team`: the processes that train it together, each of which calls this; only the first of them has a writer. A
    run that fails by itself has failed; one that lost its team is tried again, by whoever started the team."""
    from paceline.train import device
    from paceline.train.parallel.team import lost

    yield Event("began", folder.id, name)
    try:
        yield from _record(name, run, folder, writer, job, stop, team)
    except (DataError, DeviceError, RecordError):
        raise
    except (Exception, SystemExit) as error:
        if team is not None and lost(error):
            raise
        reason = str(error) if isinstance(error, PacelineError) else f"{type(error).__name__}: {error}"
        where = traceback.format_exc()
        if writer is not None:
            writer.status(name, "failed", reason=reason, traceback=where, timing=job.timing)
        yield Event("ended", folder.id, name, status="failed", reason=reason, traceback=where if team else "")
        if device.broken(error):
            raise BrokenDeviceError(reason) from None


def _record(
    name: str, run: Run, folder: PackFolder, writer: PackWriter | None, job: Job, stop: Stop, several: Any
) -> Iterator[Event]:
    from paceline.train import device
    from paceline.train.loop import train
    from paceline.train.parallel.team import ALONE
    from paceline.train.rows import Outcome, Row, Spent

    team, here = several or ALONE, device.resolve(run.device)
    dataset = datasets.dataset(run, job)
    yield from datasets.notes(folder, dataset)
    origin = origins.origin(name, run, dataset.checksum, job)
    kept = checkpoints.OfTeam(folder, team, here) if several else checkpoints.OfOne(folder)
    resume = kept.resume(origin)
    crowded = here.type == "cpu" and team.size // team.hosts * job.threads > usable_cores()
    timing = "oversubscribed" if crowded else outcome.timing(job, resume["timing"] if resume else job.timing)
    shared = {"devices": team.size, "hosts": team.hosts} if several else {}
    noted = {"timing": timing, **origins.noted(origin), **shared}
    if writer is not None:
        origins.note_machine(folder, run, dataset, origin, job)
        writer.status(name, "running", step=resume["position"]["step"] if resume else 0, **noted)
    cores = None if several else job.threads
    items = train(run, dataset, job.folder, resume, cores, datasets.files(job), timed=job.timed, team=team)
    saved, saving = time.monotonic(), float(resume.get("saving", 0.0)) if resume else 0.0  # seconds of checkpoints
    row: dict[str, Any] | None = None
    for item in items:
        if isinstance(item, Row):
            row = outcome.plain_row(item)
            if writer is not None:
                writer.row({"run": name, **row})
        elif isinstance(item, Spent):
            if writer is not None:
                writer.telemetry({"run": name, **outcome.spent(item), "checkpoint": saving})
        elif isinstance(item, Outcome):
            noted["timing"] = outcome.timing(job, noted["timing"])
            if writer is not None:
                if item.examined is not None:
                    writer.examined(outcome.examined(name, run, item.examined, job))
                writer.status(name, item.status, **outcome.ended(item), **noted)
            kept.drop()
            yield Event("ended", folder.id, name, step=item.step, status=item.status, reason=item.reason, row=row)
        else:
            late = time.monotonic() - saved > checkpoints.CHECKPOINT_SECONDS
            stopping, save = team.any([team.first and stop(), team.first and late], here)
            if stopping or save:
                begun = time.perf_counter()
                if writer is not None:
                    writer.sync()
                noted["timing"] = outcome.timing(job, noted["timing"])
                kept.save(item.step, {**item.snapshot(), **origin, "timing": noted["timing"], "saving": saving})
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
