"""What a run uses beside time: memory, utilisation, power and energy, as counters say when they are asked.

On a GPU by NVML; on a CPU by the process's own clock and, where it may be read, the package's energy counter (RAPL).
Energy is that of the whole device or package, whoever used it.
"""

import contextlib
import functools
import math
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import torch

from paceline.train.parallel.team import Team

_POWERCAP = Path("/sys/class/powercap")


@dataclass(frozen=True)
class Usage:
    """What is used now, and since the last reading; of a GPU's memory, what torch held at most since the run began,
    because between two steps, when this is read, nothing is held for a backward pass."""

    resident_bytes: int  # of this process and its loader's workers
    allocated_bytes: int | None = None  # on the GPU, by tensors, at most
    reserved_bytes: int | None = None  # on the GPU, by torch for them, at most
    device_used_bytes: int | None = None  # on the GPU, by everybody, now
    device_bytes: int | None = None  # that the GPU has
    utilisation: float | None = None  # 0 to 1, of the GPU as it was looked at, or of the cores that the run may use
    power_watts: float | None = None
    energy_joules: float | None = None  # since the run began


class Gauge:
    """Reads the counters of one device; a process may be given a part of the cores."""

    def __init__(self, device: torch.device, cores: int, children: bool = False, energy: float = 0.0) -> None:
        """`children`: whether this process has workers, which are looked for among all processes each time;
        `energy`: joules used before, by a run that goes on."""
        self._device, self._cores, self._children, self._energy = device, cores, children, energy
        self._process = psutil.Process()
        self._gpu = _Gpu(device) if device.type == "cuda" else None
        self._seen: list[float] = []  # how busy the GPU was when it was looked at
        self._counters = self._read()

    def look(self) -> None:
        """While the run trains, and not when it evaluates: NVML tells how busy a GPU was in the last second at most."""
        busy = self._gpu.utilisation() if self._gpu else None
        if busy is not None:
            self._seen.append(busy)

    def read(self) -> Usage:
        before, now = self._counters, self._read()
        self._counters = now
        seconds = max(now.at - before.at, 1e-9)
        spent = None if now.joules is None or before.joules is None else now.joules - before.joules
        if spent is not None and spent < 0:  # the counter began anew
            spent = None
        self._energy += spent or 0.0
        common: dict[str, Any] = {
            "resident_bytes": self._resident(),
            "power_watts": None if spent is None else spent / seconds,
            "energy_joules": None if now.joules is None else self._energy,
        }
        if self._gpu is not None:
            seen, self._seen = self._seen, []
            return Usage(**common, **self._gpu.memory(), utilisation=sum(seen) / len(seen) if seen else None)
        busy = (now.cpu - before.cpu) / seconds / max(1, self._cores)
        return Usage(**common, utilisation=min(1.0, busy))

    @property
    def energy(self) -> float:
        return self._energy

    def _read(self) -> "_Counters":
        joules = self._gpu.joules() if self._gpu else _package_joules()
        return _Counters(time.perf_counter(), self._cpu_seconds(), joules)

    def _cpu_seconds(self) -> float:
        """Of this process and of its workers, those that have ended included."""
        own = os.times()
        total = own.user + own.system + own.children_user + own.children_system
        for child in self._workers():
            with contextlib.suppress(psutil.Error):
                used = child.cpu_times()
                total += used.user + used.system
        return total

    def _resident(self) -> int:
        total = self._process.memory_info().rss
        for child in self._workers():
            with contextlib.suppress(psutil.Error):
                total += child.memory_full_info().uss  # what it shares with this process is counted there
        return int(total)

    def _workers(self) -> list[psutil.Process]:
        return self._process.children(recursive=True) if self._children else []


def of_all(usage: Usage, team: Team, device: torch.device) -> Usage:
    """With the energy and power of all devices of a team, and their mean utilisation; every process calls this. Each
    reads its own GPU; of the package, which the processes of a host share, the first of them tells."""
    if team.size == 1:
        return usage
    counts = device.type == "cuda" or team.local == 0
    own = [usage.energy_joules if counts else 0.0, usage.power_watts if counts else 0.0, usage.utilisation]
    each = team.spread([math.nan if value is None else value for value in own], device)
    joules, watts, busy = (None if math.isnan(sum(column)) else sum(column) for column in zip(*each, strict=True))
    return replace(
        usage, energy_joules=joules, power_watts=watts, utilisation=None if busy is None else busy / team.size
    )


@dataclass(frozen=True)
class _Counters:
    at: float
    cpu: float
    joules: float | None


@functools.cache
def _packages() -> tuple[Path, ...]:
    """Energy counters of the CPU packages that this user may read: mostly root alone."""
    found = sorted(_POWERCAP.glob("intel-rapl:[0-9]*/energy_uj")) if _POWERCAP.is_dir() else []
    return tuple(path for path in found if _is_package(path.parent) and os.access(path, os.R_OK))


def _is_package(domain: Path) -> bool:
    """Not a part of one (`intel-rapl:0:0`), nor the whole platform, which counts the packages once more."""
    try:
        return domain.name.count(":") == 1 and (domain / "name").read_text().startswith("package")
    except OSError:
        return False


def _package_joules() -> float | None:
    try:
        counted = [int(path.read_text()) for path in _packages()]
    except (OSError, ValueError):
        return None
    return sum(counted) / 1e6 if counted else None


class _Gpu:
    """One GPU by NVML, found by what torch calls it: CUDA_VISIBLE_DEVICES renumbers torch's, not NVML's."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._nvml: Any = None
        self._handle: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            index = device.index if device.index is not None else torch.cuda.current_device()
            uuid = f"GPU-{torch.cuda.get_device_properties(index).uuid}"
            self._handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            self._nvml = pynvml
        except Exception:  # no driver library, a part of a GPU, a container without rights: torch still knows memory
            self._nvml = None

    def memory(self) -> dict[str, int]:
        free, total = torch.cuda.mem_get_info(self._device)
        return {
            "allocated_bytes": torch.cuda.max_memory_allocated(self._device),
            "reserved_bytes": torch.cuda.max_memory_reserved(self._device),
            "device_used_bytes": total - free,
            "device_bytes": total,
        }

    def utilisation(self) -> float | None:
        found = self._ask("nvmlDeviceGetUtilizationRates")
        return None if found is None else found.gpu / 100

    def joules(self) -> float | None:
        found = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        return None if found is None else found / 1000

    def _ask(self, what: str) -> Any:
        if self._nvml is None:
            return None
        try:
            return getattr(self._nvml, what)(self._handle)
        except self._nvml.NVMLError:  # this GPU does not count it
            return None
