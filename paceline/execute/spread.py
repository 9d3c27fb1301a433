"""A run on several devices of this host: torchrun starts a process for each, and starts them again if one dies."""

import contextlib
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, cast

from paceline.execute import torchrun
from paceline.execute.cores import environment
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.outcome import note_turnaround
from paceline.execute.rank import STOP
from paceline.execute.stop import Stop
from paceline.record.layout import PackFolder
from paceline.record.writer import PackWriter
from paceline.spec import Run

RESTARTS = 3
LOOK_SECONDS = 0.2


def train_spread(name: str, run: Run, folder: PackFolder, job: Job, stop: Stop) -> Iterator[Event]:
    """Follows the team to its end; what it wrote is in the pack. How long it all took is noted at the end."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="paceline-") as room:
        file, words = Path(room) / "job.json", Path(room) / "stderr"
        file.write_text(job.only(name).dumps())
        with words.open("wb") as said, _started(file, folder.id, run.devices, job, said) as process:
            ended, failed = False, None
            try:
                ended, failed = yield from _followed(process, file.with_name(STOP), stop)
            finally:
                if not ended:
                    process.terminate()
                torchrun.end(process)
        if ended and process.returncode and not stop():  # told to stop, all of them may have been
            reason = torchrun.last_words(words.read_text(errors="replace"), process.returncode)
            failed = Event("ended", folder.id, name, status="failed", reason=reason)
    noted = note_turnaround(name, folder, time.perf_counter() - begun)
    if failed:
        if not noted:
            with PackWriter(folder) as writer:
                writer.status(name, "failed", reason=failed.reason, traceback=failed.traceback, timing=job.timing)
        yield failed


def _started(file: Path, pack: str, devices: int, job: Job, said: IO[bytes]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        torchrun.command(devices, "paceline.execute.rank", str(file), pack, restarts=RESTARTS),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=said,
        text=True,
        env=environment(job.threads),
        start_new_session=True,
    )


def _followed(
    process: subprocess.Popen[str], stopping: Path, stop: Stop
) -> Generator[Event, None, tuple[bool, Event | None]]:
    """What the team tells, until it ends, fails, refuses, or does not end though it is told to: whether it has ended
    by itself, and what it said if it failed."""
    lines: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in cast(IO[str], process.stdout):
            lines.put(line)
        lines.put("")

    threading.Thread(target=listen, daemon=True).start()
    told = 0.0
    while True:
        if stop() and not told:
            stopping.touch()
            told = time.monotonic()
        if told and time.monotonic() - told > torchrun.LINGER:
            return False, None
        with contextlib.suppress(queue.Empty):
            line = lines.get(timeout=LOOK_SECONDS)
            if not line:
                return True, None
            event = _heard(line)
            if event is not None and event.status == "failed":
                return False, event
            if event is not None:
                yield event
                if event.kind == "refused":
                    return False, None


def _heard(line: str) -> Event | None:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return Event.loads(line)
    return None
