"""Packs in N processes side by side, the threads divided among them: runs are timed `shared`.

A worker that dies (killed, out of memory) fails the run it was training, and another takes its place and its pack.
"""

import contextlib
import itertools
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO, cast

from paceline.errors import BrokenDeviceError
from paceline.execute.cores import environment
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.stacked import give_up
from paceline.execute.stop import Stop, stop_on_signal
from paceline.record.claim import Claim
from paceline.record.layout import StudyFolder, read_json
from paceline.record.writer import PackWriter

LINGER = 30.0  # seconds that a worker has to reach a step boundary once nobody listens any more


@dataclass(eq=False)
class _Worker:
    process: subprocess.Popen[str]
    place: int  # among those side by side
    pack: str = ""
    run: str = ""
    ready: bool = False  # has started
    useful: bool = False  # has ended a run

    def give(self, pack: str) -> None:
        self.pack, self.run = pack, ""
        self.say(pack)

    def say(self, line: str) -> None:
        """One that has died does not hear it; that it is dead is learnt from the end of its output."""
        with contextlib.suppress(BrokenPipeError):
            print(line, file=self.process.stdin, flush=True)

    def dismiss(self) -> None:
        self.pack = ""
        with contextlib.suppress(BrokenPipeError):
            cast(IO[str], self.process.stdin).close()


@dataclass
class _Pool:
    job: Job
    waiting: deque[str]
    stop: Stop
    workers: list[_Worker] = field(default_factory=list)  # those that have not ended
    said: queue.Queue[tuple[_Worker, str]] = field(default_factory=queue.Queue)


def local(packs: list[str], job: Job, jobs: int) -> Iterator[Event]:
    with stop_on_signal() as stop:
        pool = _Pool(job, deque(packs), stop)
        try:
            for _ in range(min(jobs, len(packs))):
                _start(pool)
            yield from _follow(pool)
            if stop():
                yield Event("stopped")
        except KeyboardInterrupt:
            for worker in pool.workers:
                worker.process.kill()
            raise
        finally:
            _dismiss_all(pool.workers)


def _start(pool: _Pool) -> None:
    """A worker with its first pack. A thread reads what it says: no pipe runs full, no line waits in a buffer."""
    job = pool.job
    taken = {worker.place for worker in pool.workers}
    place = next(number for number in itertools.count() if number not in taken)
    with _deaf_to_interrupt():
        process = subprocess.Popen(
            [sys.executable, "-m", "paceline.execute.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(job.threads, place),
        )
    worker = _Worker(process, place)
    pool.workers.append(worker)
    worker.say(job.dumps())
    worker.give(pool.waiting.popleft())

    def listen() -> None:
        with cast(IO[str], process.stdout) as lines:
            for line in lines:
                pool.said.put((worker, line))
        pool.said.put((worker, ""))

    threading.Thread(target=listen, daemon=True).start()


@contextlib.contextmanager
def _deaf_to_interrupt() -> Iterator[None]:
    """What is started here never sees the terminal's Ctrl-C, not even before it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow(pool: _Pool) -> Iterator[Event]:
    told = False
    while pool.workers:
        if pool.stop() and not told:
            told = True
            pool.waiting.clear()
            for worker in pool.workers:
                worker.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(queue.Empty):
            worker, line = pool.said.get(timeout=0.5)
            yield from _hear(pool, worker, Event.loads(line)) if line else _bury(pool, worker)


def _hear(pool: _Pool, worker: _Worker, event: Event) -> Iterator[Event]:
    if event.kind == "ready":
        worker.ready = True
        return
    if event.kind == "began":
        worker.run = event.run
    elif event.kind == "ended":
        worker.run, worker.useful = "", True
        if event.status == "failed":  # once is enough, also where failed runs are trained again
            pool.job = replace(pool.job, wanted=pool.job.wanted - {event.run})
    elif event.kind == "refused":
        pool.waiting.clear()
    if event.kind != "idle":
        yield event
    elif pool.waiting:
        worker.give(pool.waiting.popleft())
    else:
        worker.dismiss()


def _bury(pool: _Pool, worker: _Worker) -> Iterator[Event]:
    """What is left to say of a worker that is gone: nothing, or that it died in the middle of its work."""
    code, pack, run = worker.process.wait(), worker.pack, worker.run
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    worker.dismiss()
    pool.workers.remove(worker)
    if code and pack and not pool.stop():
        folder = StudyFolder(pool.job.study).pack(pack)
        if worker.ready and not run and read_json(folder.pack).get("stacked"):
            give_up(folder, f"the worker process died ({how})")
        elif run:
            pool.job = replace(pool.job, wanted=pool.job.wanted - {run})
            yield _fail(pool.job, pack, run, f"the worker process died ({how}); out of memory is the usual cause")
        elif not worker.useful and code != BrokenDeviceError.exit_code:
            pool.waiting.clear()
            yield Event(
                "refused",
                pack,
                reason=f"a worker process died ({how}) before it could train; --jobs 1 trains in this one.",
            )
            return
        pool.waiting.appendleft(pack)
    if pool.waiting:
        _start(pool)


def _fail(job: Job, pack: str, run: str, reason: str) -> Event:
    folder = StudyFolder(job.study).pack(pack)
    with Claim(folder.claim) as claim:
        if not claim.held:
            return Event("skipped", pack)
        with PackWriter(folder) as writer:
            writer.status(run, "failed", reason=reason, traceback="", timing=job.timing)
    return Event("ended", pack, run, status="failed", reason=reason)


def _dismiss_all(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.dismiss()
    for worker in workers:
        try:
            worker.process.wait(timeout=LINGER)
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
