"""One run of a pack: trained by the plain loop, written down as it goes."""

import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from paceline.errors import DataError, DeviceError, PacelineError, RecordError
from paceline.execute import checkpoints, datasets, origins, outcome
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.record.layout import PackFolder
from paceline.record.writer import PackWriter
from paceline.spec import Run

Stop = Callable[[], bool]


def train_one(name: str, run: Run, folder: PackFolder, writer: PackWriter, job: Job, stop: Stop) -> Iterator[Event]:
    yield Event("began", folder.id, name)
    try:
        yield from _record(name, run, folder, writer, job, stop)
    except (DataError, DeviceError, RecordError):
        raise
    except (Exception, SystemExit) as error:
        reason = str(error) if isinstance(error, PacelineError) else f"{type(error).__name__}: {error}"
        writer.status(name, "failed", reason=reason, traceback=traceback.format_exc(), timing=job.timing)
        yield Event("ended", folder.id, name, status="failed", reason=reason)


def _record(name: str, run: Run, folder: PackFolder, writer: PackWriter, job: Job, stop: Stop) -> Iterator[Event]:
    from paceline.train.loop import train
    from paceline.train.rows import Outcome, Row, Spent

    dataset = datasets.dataset(run, job)
    yield from datasets.notes(folder, dataset)
    origin = origins.origin(name, run, dataset.checksum, job)
    origins.note_machine(folder, run, dataset, origin, job)
    resume = checkpoints.resume(folder, origin)
    timing = outcome.timing(job, resume["timing"] if resume else job.timing)
    noted = {"timing": timing, **origins.noted(origin)}
    writer.status(name, "running", step=resume["position"]["step"] if resume else 0, **noted)
    files = datasets.files(job)
    items = train(run, dataset, job.folder, resume, cores=job.threads, files=files, timed=job.timed)
    saved, kept = time.monotonic(), resume is not None
    saving = float(resume.get("saving", 0.0)) if resume else 0.0  # seconds spent on checkpoints
    row: dict[str, Any] | None = None
    for item in items:
        if isinstance(item, Row):
            row = outcome.plain_row(item)
            writer.row({"run": name, **row})
        elif isinstance(item, Spent):
            writer.telemetry({"run": name, **outcome.spent(item), "checkpoint": saving})
        elif isinstance(item, Outcome):
            noted["timing"] = outcome.timing(job, noted["timing"])
            if item.examined is not None:
                writer.examined(outcome.examined(name, run, item.examined, job))
            writer.status(name, item.status, **outcome.ended(item), **noted)
            if kept:
                folder.checkpoint.unlink(missing_ok=True)
            yield Event("ended", folder.id, name, step=item.step, status=item.status, reason=item.reason, row=row)
        else:
            stopping = stop()
            if stopping or time.monotonic() - saved > checkpoints.CHECKPOINT_SECONDS:
                writer.sync()
                noted["timing"] = outcome.timing(job, noted["timing"])
                begun = time.perf_counter()
                state = {**item.snapshot(), **origin, "timing": noted["timing"], "saving": saving}
                checkpoints.save(folder.checkpoint, state)
                writer.status(name, "running", step=item.step, **noted)
                saving += time.perf_counter() - begun
                saved, kept = time.monotonic(), True
            if stopping:
                items.close()  # type: ignore[attr-defined]
                writer.status(name, "interrupted", step=item.step, **noted)
                yield Event("ended", folder.id, name, (), item.step, item.total, "interrupted", "stopped", row)
                return
            yield Event("progress", folder.id, name, step=item.step, total=item.total, row=row)
