"""The one worker: trains a pack's runs and writes what the trainer yields. Every executor starts this.

python -m paceline.execute.worker     reads a job, then pack ids, from stdin; writes events to stdout
"""

import json
import os
import queue
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import IO, Any

from pydantic import ValidationError

from paceline.errors import DataError, DeviceError, PacelineError, RecordError, StudyError
from paceline.execute import neighbours
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.record import machine
from paceline.record.claim import Claim
from paceline.record.layout import FORMAT, PackFolder, StudyFolder, cannot_write, read_json, unreadable, write_json
from paceline.record.writer import ENDED, PackWriter, read_statuses
from paceline.spec import Run, run_id
from paceline.spec.run import PARTS
from paceline.spec.signature import source_hash

CHECKPOINT_SECONDS = 30.0
Stop = Callable[[], bool]


def work(pack: str, job: Job, stop: Stop) -> Iterator[Event]:
    """Trains what is missing of a pack, unless somebody alive has claimed it."""
    folder = StudyFolder(job.study).pack(pack)
    with Claim(folder.claim) as claim:
        if not claim.held:
            yield Event("skipped", pack)
            return
        folder.drop_leftovers()
        stop = _while_held(claim, folder, stop)
        with neighbours.present(), PackWriter(folder) as writer:
            for run_name, run in _missing(folder, job):
                if stop():
                    return
                yield from _train(run_name, run, folder, writer, job, stop)


def _while_held(claim: Claim, folder: PackFolder, stop: Stop) -> Stop:
    def check() -> bool:
        if claim.lost:
            raise RecordError(f"{folder.path}: this process was silent for so long that another has taken it over.")
        return stop()

    return check


def _missing(folder: PackFolder, job: Job) -> list[tuple[str, Run]]:
    statuses = read_statuses(folder)
    over = ENDED if job.retry_failed else (*ENDED, "failed")
    return [
        (name, run)
        for name, run in _members(folder)
        if name in job.wanted and statuses.get(name, {}).get("status") not in over
    ]


def _members(folder: PackFolder) -> Iterator[tuple[str, Run]]:
    for entry in read_json(folder.pack)["runs"]:
        try:
            run = Run.model_validate(entry.get("config"))
        except ValidationError as error:
            raise unreadable(folder.pack, f"run {entry['run']}: {error.errors()[0]['msg']}") from None
        if run_id(run) != entry["run"]:
            raise unreadable(folder.pack, f"run {entry['run']} does not have the id of its settings")
        yield entry["run"], run


def _train(name: str, run: Run, folder: PackFolder, writer: PackWriter, job: Job, stop: Stop) -> Iterator[Event]:
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
    from paceline.train.loop import Outcome, Row, train

    dataset = _dataset(run, job)
    origin = _origin(name, run, dataset.checksum, job)
    _note_machine(folder, run, origin, job)
    resume = _resume(folder, origin)
    noted = {"timing": _timing(job, resume["timing"] if resume else job.timing), "sources": origin["sources"]}
    writer.status(name, "running", **noted)
    items = train(run, dataset, job.folder, resume, cores=job.threads)
    saved, kept = time.monotonic(), resume is not None
    row: dict[str, Any] | None = None
    for item in items:
        if isinstance(item, Row):
            row = _row(item)
            writer.row({"run": name, **row})
        elif isinstance(item, Outcome):
            noted["timing"] = _timing(job, noted["timing"])
            writer.status(name, item.status, reason=item.reason, step=item.step, threads=item.threads, **noted)
            if kept:
                folder.checkpoint.unlink(missing_ok=True)
            yield Event("ended", folder.id, name, item.step, status=item.status, reason=item.reason, row=row)
        else:
            stopping = stop()
            if stopping or time.monotonic() - saved > CHECKPOINT_SECONDS:
                writer.sync()
                noted["timing"] = _timing(job, noted["timing"])
                _save(folder, {**item.snapshot(), **origin, "timing": noted["timing"]})
                saved, kept = time.monotonic(), True
            if stopping:
                items.close()  # type: ignore[attr-defined]
                writer.status(name, "interrupted", step=item.step, **noted)
                yield Event("ended", folder.id, name, item.step, item.total, "interrupted", "stopped", row)
                return
            yield Event("progress", folder.id, name, item.step, item.total, row=row)


def _row(row: Any) -> dict[str, Any]:
    values = {key: value for key, value in row.__dict__.items() if key != "extras"}
    for key, value in row.extras.items():
        if key in ("run", *values):
            raise StudyError(f"extras() gives '{key}', which every row has already; name it otherwise.", key="model")
        values[key] = value if value is None else float(value)
    return values


def _origin(name: str, run: Run, checksum: str, job: Job) -> dict[str, Any]:
    """What a run's numbers come from: its settings, its data and the sources of own parts."""
    parts = [getattr(run, kind) for kind in PARTS]
    sources = {part.name: source_hash(part, job.folder) for part in parts if part.own}
    return {"run": name, "data": checksum, "sources": sources}


def _timing(job: Job, before: str) -> str:
    """A run is timed `exclusive` only if all of it was, as far as looks now and then can tell."""
    now = "shared" if job.timing == "exclusive" and neighbours.others() else job.timing
    return now if before == "exclusive" else before


def _save(folder: PackFolder, state: dict[str, Any]) -> None:
    from safetensors import SafetensorError

    from paceline.train import checkpoint

    try:
        checkpoint.save(folder.checkpoint, state)
    except (OSError, SafetensorError) as error:
        raise cannot_write(folder.checkpoint, error) from None


def _resume(folder: PackFolder, origin: dict[str, Any]) -> dict[str, Any] | None:
    """The state to go on from; None if there is none of this run, or its data or own parts have changed since."""
    from paceline.train import checkpoint

    if not folder.checkpoint.exists():
        return None
    try:
        state = checkpoint.load(folder.checkpoint)
        changed = [key for key, value in origin.items() if state[key] != value]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RecordError(
            f"{folder.checkpoint}: not a checkpoint of a run. Delete it and run again; the run starts anew."
        ) from None
    if changed and "run" not in changed:
        folder.checkpoint.unlink()
    return None if changed else state


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


def _note_machine(folder: PackFolder, run: Run, origin: dict[str, Any], job: Job) -> None:
    """Written at the pack's first run; where a resumed pack finds itself elsewhere, what was before is kept."""
    from paceline.train import device

    here = {
        **machine.describe(job.folder),
        "threads": job.threads,
        "device": device.describe(device.resolve(run.device)),
    }
    before = read_json(folder.machine) if folder.machine.exists() else here
    try:
        now = {
            "format": FORMAT,
            **here,
            "data": {**before.get("data", {}), str(run.data): origin["data"]},
            "sources": {**before.get("sources", {}), **origin["sources"]},
            "earlier": _earlier(before, here),
        }
    except TypeError as error:
        raise unreadable(folder.machine, str(error)) from None
    if now != before:
        write_json(folder.machine, now)


def _earlier(before: dict[str, Any], here: dict[str, Any]) -> list[dict[str, Any]]:
    old = {key: before.get(key) for key in here}
    return [*before.get("earlier", []), *([old] if old != here else [])]


def prepare(job: Job) -> None:
    """Before the first pack of a job."""
    import torch

    torch.set_num_threads(job.threads)
    machine.describe.cache_clear()


def main() -> None:
    """Serves one parent: ends when stdin closes, stops at a step boundary on SIGTERM or when the parent is gone."""
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever own parts print goes to stderr, not among the events
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    lines = _lines(0)
    job = Job.loads(next(lines))
    prepare(job)
    for pack in _packs(lines, stopping):
        try:
            for event in work(pack, job, stopping.is_set):
                _tell(events, event)
        except PacelineError as error:
            _tell(events, Event("refused", pack, reason=str(error)))
        if stopping.is_set():
            return
        _tell(events, Event("idle", pack))


def _tell(events: IO[str], event: Event) -> None:
    """A parent that is gone is told nothing more; the run is still brought to a step boundary and kept."""
    try:
        print(json.dumps(event.plain()), file=events)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), events.fileno())


def _lines(handle: int) -> Iterator[str]:
    """Unbuffered: a thread that waits in sys.stdin would hold its lock when the process ends."""
    text = b""
    while chunk := os.read(handle, 1 << 16):
        *whole, text = (text + chunk).split(b"\n")
        yield from (line.decode() for line in whole)


def _packs(lines: Iterator[str], stopping: threading.Event) -> Iterator[str]:
    """Pack ids from stdin. A thread reads them, so that the end of the parent is noticed in mid-training."""
    waiting: queue.Queue[str | None] = queue.Queue()

    def listen() -> None:
        for line in lines:
            waiting.put(line)
        stopping.set()
        waiting.put(None)

    threading.Thread(target=listen, daemon=True).start()
    while (pack := waiting.get()) is not None:
        yield pack


if __name__ == "__main__":
    main()
