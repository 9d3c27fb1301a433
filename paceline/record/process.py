"""Which process of which host wrote something down, and whether it lives."""

import contextlib
import os
import socket
from pathlib import Path

import psutil


def place() -> str:
    """Where a process id means something: the host, and on Linux this boot of it, which tells hosts of one name apart,
    and the pid namespace (a container has its own)."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
        return f"{socket.gethostname()} {boot} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def started() -> float:
    """When this process was, which tells it from a later one of the same id."""
    return _since(psutil.Process())


def lives(pid: int, since: float) -> bool:
    """Of a process of this place."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and abs(_since(process) - since) < 2
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _since(process: psutil.Process) -> float:
    """On Linux in ticks since boot, which no adjustment of the clock moves; elsewhere in seconds."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        after_name = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2]
        return float(after_name.split()[19])  # field 22 of proc(5), the third being the first after the name
    return process.create_time()
