"""Packs in N processes side by side, the threads divided among them: runs are timed `shared`.

A worker that dies (killed, out of memory) fails the run it was training, and another takes its place.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

from paceline.execute.events import Event
from paceline.execute.inline import stop_on_signal
from paceline.execute.job import Job
from paceline.record.layout import StudyFolder
from paceline.record.writer import PackWriter


@dataclass
class _Worker:
    process: subprocess.Popen[str]
    pack: str = ""
    run: str = ""

    def give(self, pack: str) -> None:
        self.pack, self.run = pack, ""
        with contextlib.suppress(BrokenPipeError):
            print(pack, file=self.process.stdin, flush=True)


def local(packs: list[str], job: Job, jobs: int) -> Iterator[Event]:
    waiting = deque(packs)
    with stop_on_signal() as stop, selectors.DefaultSelector() as selector:
        workers = [_start(job, selector) for _ in range(min(jobs, len(packs)))]
        try:
            for worker in workers:
                worker.give(waiting.popleft())
            signalled = False
            while selector.get_map():
                if stop() and not signalled:
                    signalled = True
                    waiting.clear()
                    for worker in workers:
                        worker.process.send_signal(signal.SIGTERM)
                for key, _ in selector.select(timeout=0.5):
                    yield from _listen(key.data, job, selector, waiting, workers)
        finally:
            for worker in workers:
                _dismiss(worker)


def _start(job: Job, selector: selectors.BaseSelector) -> _Worker:
    command = [sys.executable, "-m", "paceline.execute.worker"]
    threads = {"OMP_NUM_THREADS": str(job.threads), "MKL_NUM_THREADS": str(job.threads)}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}
    )
    print(job.dumps(), file=process.stdin, flush=True)
    worker = _Worker(process)
    selector.register(cast(IO[str], process.stdout), selectors.EVENT_READ, worker)
    return worker


def _listen(
    worker: _Worker, job: Job, selector: selectors.BaseSelector, waiting: deque[str], workers: list[_Worker]
) -> Iterator[Event]:
    line = cast(IO[str], worker.process.stdout).readline()
    if not line:
        selector.unregister(cast(IO[str], worker.process.stdout))
        yield from _bury(worker, job)
        if waiting:
            workers.append(_start(job, selector))
            workers[-1].give(waiting.popleft())
        return
    event = Event(**json.loads(line))
    if event.kind == "began":
        worker.run = event.run
    elif event.kind == "ended":
        worker.run = ""
    elif event.kind == "refused":
        waiting.clear()
    if event.kind != "idle":
        yield event
    elif waiting:
        worker.give(waiting.popleft())
    else:
        worker.pack = ""
        cast(IO[str], worker.process.stdin).close()


def _bury(worker: _Worker, job: Job) -> Iterator[Event]:
    """What is left to say of a worker that is gone: nothing, or that it died in the middle of a run."""
    code = worker.process.wait()
    if not worker.pack or not worker.run:
        return
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    reason = f"the worker process died ({how}); out of memory is the usual cause"
    with PackWriter(StudyFolder(job.study).pack(worker.pack)) as writer:
        writer.status(worker.run, "failed", reason=reason, traceback="", timing=job.timing)
    yield Event("ended", worker.pack, worker.run, status="failed", reason=reason)


def _dismiss(worker: _Worker) -> None:
    with contextlib.suppress(OSError):
        cast(IO[str], worker.process.stdin).close()
    try:
        worker.process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        worker.process.kill()
        worker.process.wait()
    cast(IO[str], worker.process.stdout).close()
