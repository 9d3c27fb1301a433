"""torchrun on this host: its command, its end, and what a team that failed said last."""

import contextlib
import subprocess
import sys
from typing import Any

import psutil

LINGER = 30.0  # seconds that a team has to end by itself once it is told to


def command(processes: int, module: str, *words: str, restarts: int = 0) -> list[str]:
    """So many processes of a module, which meet on a free port."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={processes}"]
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", f"--max-restarts={restarts}"]
    return [*torchrun, *meeting, "-m", module, *words]


def end(process: "subprocess.Popen[Any]") -> None:
    """Waits for torchrun; what does not end is killed with all that it started, which have sessions of their own."""
    try:
        process.wait(timeout=LINGER)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(psutil.NoSuchProcess):
            torchrun = psutil.Process(process.pid)
            for each in (*torchrun.children(recursive=True), torchrun):
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.kill()
        process.wait()


def last_words(said: str, code: int) -> str:
    """The last line that names an error, if there is one not of a process that lost others."""
    lines = [line.strip() for line in said.splitlines() if "Error" in line and "ChildFailedError" not in line]
    own = [line for line in lines if "gloo" not in line.lower() and "nccl" not in line.lower()]
    return (own or lines or [f"torchrun's exit code is {code}"])[-1]
