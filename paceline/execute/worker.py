"""The one worker: trains a pack, its runs in a row or as a stack. Every executor starts this.

python -m paceline.execute.worker     reads a job, then pack ids, from stdin; writes events to stdout
"""

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from typing import IO

from paceline.errors import BrokenDeviceError, PacelineError, RecordError
from paceline.execute import members, neighbours
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.single import train_one
from paceline.execute.spread import train_spread
from paceline.execute.stacked import train_stacked
from paceline.execute.stop import Stop
from paceline.execute.waiting import missing
from paceline.record import machine
from paceline.record.claim import Claim
from paceline.record.layout import PackFolder, StudyFolder, read_json
from paceline.record.writer import PackWriter


def work(pack: str, job: Job, stop: Stop) -> Iterator[Event]:
    """Trains what is missing of a pack, unless somebody alive has claimed it."""
    folder = StudyFolder(job.study).pack(pack)
    with Claim(folder.claim) as claim:
        if not claim.held:
            yield Event("skipped", pack)
            return
        folder.drop_leftovers()
        stop = _while_held(claim, folder, stop)
        with neighbours.present():
            if job.spread:
                yield from _spread(folder, job, stop)
                return
            with PackWriter(folder) as writer:
                if read_json(folder.pack).get("stacked"):
                    yield from train_stacked(folder, writer, job, stop)
                for run_name, run in missing(folder, job):
                    if stop():
                        return
                    yield from train_one(run_name, run, folder, writer, job, stop)


def _spread(folder: PackFolder, job: Job, stop: Stop) -> Iterator[Event]:
    """By processes of its own, a run on one device too, so that all are started alike. They write the pack."""
    train = members.lead if members.processes() else train_spread
    for name, run in missing(folder, job):
        if not stop():
            yield from train(name, run, folder, job, stop)


def _while_held(claim: Claim, folder: PackFolder, stop: Stop) -> Stop:
    def check() -> bool:
        if claim.lost:
            raise RecordError(
                f"{folder.path}: this process was silent for so long that another has taken it over. Nothing is lost: "
                "run the same command again later."
            )
        return stop()

    return check


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
    _tell(events, Event("ready"))
    for pack in _packs(lines, stopping):
        try:
            for event in work(pack, job, stopping.is_set):
                _tell(events, event)
        except BrokenDeviceError as error:  # what is left of the pack goes to a worker that takes the place of this one
            print(error, file=sys.stderr)
            sys.exit(error.exit_code)
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
