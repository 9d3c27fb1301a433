"""The most memory that a run held: on a GPU what torch allocated, else what was resident in the process."""

import contextlib
import gc
from pathlib import Path

import psutil
import torch

_SELF = Path("/proc/self")


def reset(device: torch.device) -> bool:
    """Begins anew; whether the peak can be told from earlier ones. Only Linux can, for the CPU. On a GPU what earlier
    runs left is given back first: models that hooks keep in a cycle, and the memory that torch holds ready."""
    if device.type == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        return True
    with contextlib.suppress(OSError):
        (_SELF / "clear_refs").write_text("5")
        return True
    return False


def peak(device: torch.device) -> tuple[int, int] | None:
    """Bytes at the peak since `reset`, and bytes that there are in all."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device), torch.cuda.mem_get_info(device)[1]
    with contextlib.suppress(OSError, StopIteration, ValueError):
        lines = (_SELF / "status").read_text().splitlines()
        held = next(line for line in lines if line.startswith("VmHWM:"))
        return int(held.split()[1]) * 1024, psutil.virtual_memory().total
    return None
