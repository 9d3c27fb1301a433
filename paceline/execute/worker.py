"""The one worker: trains a pack's runs and writes what the trainer yields. Every executor starts this.

python -m paceline.execute.worker     reads a job, then pack ids, from stdin; writes events to stdout
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from paceline.errors import DataError, DeviceError, PacelineError, RecordError
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.record import machine
from paceline.record.claim import Claim
from paceline.record.layout import FORMAT, PackFolder, StudyFolder, cannot_write, read_json, write_json
from paceline.record.writer import ENDED, PackWriter, read_statuses
from paceline.spec import Run, run_id

CHECKPOINT_SECONDS = 30.0
Stop = Callable[[], bool]


def work(pack: str, job: Job, stop: Stop) -> Iterator[Event]:
    """Trains what is missing of a pack, unless somebody alive has claimed it."""
    folder = StudyFolder(job.study).pack(pack)
    with Claim(folder.claim) as claim:
        if not claim.held:
            yield Event("skipped", pack)
            return
        with PackWriter(folder) as writer:
            for run_name, run in _missing(folder, job):
                if stop():
                    return
                yield from _train(run_name, run, folder, writer, job, stop)
        _tidy(folder, job)


def _missing(folder: PackFolder, job: Job) -> list[tuple[str, Run]]:
    entries = read_json(folder.pack)["runs"]
    statuses = read_statuses(folder)
    todo = []
    for entry in entries:
        run = Run.model_validate(entry["config"])
        if run_id(run) != entry["run"]:
            raise RecordError(
                f"{folder.pack}: run {entry['run']} does not have the id of its settings. Was it edited by hand? "
                f"Delete {folder.path} to train its runs again."
            )
        if entry["run"] in job.wanted and statuses.get(entry["run"], {}).get("status") not in ENDED:
            todo.append((entry["run"], run))
    return todo


def _tidy(folder: PackFolder, job: Job) -> None:
    if not _missing(folder, job):
        folder.checkpoint.unlink(missing_ok=True)


def _train(name: str, run: Run, folder: PackFolder, writer: PackWriter, job: Job, stop: Stop) -> Iterator[Event]:
    yield Event("began", folder.id, name)
    try:
        yield from _record(name, run, folder, writer, job, stop)
    except (DataError, DeviceError, RecordError):
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, PacelineError) else f"{type(error).__name__}: {error}"
        writer.status(name, "failed", reason=reason, traceback=traceback.format_exc(), timing=job.timing)
        yield Event("ended", folder.id, name, status="failed", reason=reason)


def _record(name: str, run: Run, folder: PackFolder, writer: PackWriter, job: Job, stop: Stop) -> Iterator[Event]:
    from paceline.train import checkpoint
    from paceline.train.loop import Outcome, Row, train

    dataset = _dataset(run, job)
    _note_machine(folder, run, dataset.checksum, job)
    resume = _resume(folder, name)
    writer.status(name, "running", timing=job.timing)
    items = train(run, dataset, job.folder, resume)
    saved = time.monotonic()
    row: dict[str, Any] | None = None
    for item in items:
        if isinstance(item, Row):
            row = {**item.__dict__, **item.extras}
            del row["extras"]
            writer.row({"run": name, **row})
        elif isinstance(item, Outcome):
            writer.status(name, item.status, reason=item.reason, step=item.step, timing=job.timing)
            yield Event("ended", folder.id, name, item.step, status=item.status, reason=item.reason, row=row)
        else:
            stopping = stop()
            if stopping or time.monotonic() - saved > CHECKPOINT_SECONDS:
                _save(folder, name, item.snapshot(), checkpoint.save)
                saved = time.monotonic()
            if stopping:
                items.close()  # type: ignore[attr-defined]
                writer.status(name, "interrupted", step=item.step, timing=job.timing)
                yield Event("ended", folder.id, name, item.step, item.total, "interrupted", "stopped", row)
                return
            yield Event("progress", folder.id, name, item.step, item.total, row=row)


def _save(folder: PackFolder, name: str, state: dict[str, Any], save: Callable[[Path, dict[str, Any]], None]) -> None:
    try:
        save(folder.checkpoint, {**state, "run": name})
    except OSError as error:
        raise cannot_write(folder.checkpoint, error) from None


def _resume(folder: PackFolder, name: str) -> dict[str, Any] | None:
    from paceline.train import checkpoint

    if not folder.checkpoint.exists():
        return None
    state = checkpoint.load(folder.checkpoint)
    return state if state["run"] == name else None


_datasets: dict[Any, Any] = {}


def _dataset(run: Run, job: Job) -> Any:
    """The run's data, kept for the next run that asks for the same."""
    from paceline.data.locate import Files
    from paceline.train import build

    key = (run.data, job.data, job.folder)
    if key not in _datasets:
        _datasets.clear()
        _datasets[key] = build.data(run, Files.search(job.data), job.folder)
    return _datasets[key]


def _note_machine(folder: PackFolder, run: Run, checksum: str, job: Job) -> None:
    """Written at the pack's first run, and again if a resumed pack finds itself elsewhere."""
    from paceline.train import build, device

    parts = [run.data, run.model, run.loss, run.optimizer, run.schedule]
    before = read_json(folder.machine) if folder.machine.exists() else {}
    now = {
        "format": FORMAT,
        **machine.describe(job.folder),
        "threads": job.threads,
        "device": device.describe(device.resolve(run.device)),
        "data": {**before.get("data", {}), str(run.data): checksum},
        "sources": {
            **before.get("sources", {}),
            **{p.name: build.source_hash(p, job.folder) for p in parts if p.own},
        },
    }
    if now != before:
        write_json(folder.machine, now)


def set_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def main() -> None:
    """Serves one parent: ends when stdin closes, stops at a step boundary on SIGTERM or when the parent is gone."""
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever own parts print goes to stderr, not among the events
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    job = Job.loads(sys.stdin.readline())
    set_threads(job.threads)
    for pack in _packs(stopping):
        try:
            for event in work(pack, job, stopping.is_set):
                print(json.dumps(event.plain()), file=events)
        except PacelineError as error:
            print(json.dumps(Event("refused", pack, reason=str(error)).plain()), file=events)
        print(json.dumps(Event("idle", pack).plain()), file=events)


def _packs(stopping: threading.Event) -> Iterator[str]:
    """Pack ids from stdin. A thread reads them, so that the end of the parent is noticed in mid-training."""
    import queue

    waiting: queue.Queue[str | None] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            waiting.put(line.strip())
        stopping.set()
        waiting.put(None)

    threading.Thread(target=listen, daemon=True).start()
    while (pack := waiting.get()) is not None:
        yield pack


if __name__ == "__main__":
    main()
