"""A run on several devices of this host: torchrun starts a process for each, and starts them again if one dies."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.rank import STOP
from paceline.execute.single import Stop
from paceline.record.layout import PackFolder
from paceline.record.writer import PackWriter, read_statuses

RESTARTS = 3
LOOK_SECONDS = 0.2


def train_spread(name: str, devices: int, folder: PackFolder, job: Job, stop: Stop) -> Iterator[Event]:
    """Follows the team to its end; what it wrote is in the pack."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="paceline-") as room:
        file = Path(room) / "job.json"
        file.write_text(job.dumps())
        process = _started(file, folder.id, devices, job)
        try:
            yield from _followed(process, file.with_name(STOP), stop)
        finally:
            if process.poll() is None:
                process.terminate()
            words = _ended(process)
    yield from _settled(name, folder, job, process.returncode, words, time.perf_counter() - begun)


def _started(file: Path, pack: str, devices: int, job: Job) -> subprocess.Popen[str]:
    """torchrun with a rendezvous on a free port of this host."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={devices}"]
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", f"--max-restarts={RESTARTS}"]
    threads = {"OMP_NUM_THREADS": str(job.threads), "MKL_NUM_THREADS": str(job.threads)}
    return subprocess.Popen(
        [*torchrun, *meeting, "-m", "paceline.execute.rank", str(file), pack],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **threads},
        start_new_session=True,
    )


def _followed(process: subprocess.Popen[str], stopping: Path, stop: Stop) -> Iterator[Event]:
    for line in cast(IO[str], process.stdout):
        if stop() and not stopping.exists():
            stopping.touch()
        with contextlib.suppress(ValueError, TypeError):
            yield Event.loads(line)


def _ended(process: subprocess.Popen[str]) -> str:
    """The last words of a team that failed."""
    said = cast(IO[str], process.stderr).read()
    process.wait()
    lines = [line for line in said.splitlines() if "Error" in line and "ChildFailedError" not in line]
    return lines[-1].strip() if lines else ""


def _settled(name: str, folder: PackFolder, job: Job, code: int, words: str, seconds: float) -> Iterator[Event]:
    """Notes how long the whole took, or that the team failed before it could say so."""
    status = read_statuses(folder).get(name, {})
    with PackWriter(folder) as writer:
        if status.get("status") in ("done", "diverged"):
            details = {key: value for key, value in status.items() if key != "status"}
            writer.status(name, status["status"], **{**details, "turnaround_seconds": seconds})
        elif code != 0:
            reason = words or f"torchrun ended with exit code {code}"
            writer.status(name, "failed", reason=reason, timing=job.timing)
            yield Event("ended", folder.id, name, status="failed", reason=reason)
