"""Provenance: what a pack was trained with. Recorded beside a run's id, not in it."""

import functools
import hashlib
import itertools
import os
import platform
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from paceline.record.layout import PackFolder, read_json, unreadable
from paceline.record.shapes import Shape, count, listed, mapping, misfit, named, number, text

_PACKAGES = ("paceline", "torch", "numpy", "polars", "pydantic", "scikit-learn")


_HERE: dict[str, Shape] = {
    **dict.fromkeys(("host", "system", "python", "cpu", "device"), text),
    "packages": named(text),
    "cores": count,
    "memory_gb": number,
    "gpus": listed(text),
    "git": lambda value: isinstance(value, dict) and text(value.get("commit")),
    "threads": count,
}
_SHAPES = {
    **_HERE,
    **dict.fromkeys(("data", "sources"), named(text)),
    "notes": named(listed(text)),
    "earlier": listed(mapping(_HERE)),
}


def read_machine(folder: PackFolder) -> dict[str, Any]:
    """What a pack was trained with; RecordError if it cannot be read."""
    found = read_json(folder.machine)
    if wrong := misfit(found, _SHAPES):
        raise unreadable(folder.machine, f"{wrong} is not what a run notes there")
    return found


@functools.cache
def describe(folder: Path) -> dict[str, Any]:
    """This machine and its software; `folder` is the study's, whose git state is noted."""
    return {
        "host": socket.gethostname(),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in _PACKAGES},
        "cpu": cpu_name(),
        "cores": usable_cores(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "gpus": _gpus(),
        "git": _git(folder),
    }


def usable_cores() -> int:
    """Cores this process may use: a batch system may have granted fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fingerprint() -> str:
    """Of what decides how fast it trains, without torch: CPU, cores, GPUs, versions. Measured speeds are kept by it."""
    models = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    gpus = [line for file in models for line in file.read_text().splitlines() if line.startswith("Model")]
    versions = [_version(name) for name in ("torch", "paceline")]
    said = repr((cpu_name(), usable_cores(), os.environ.get("CUDA_VISIBLE_DEVICES"), gpus, *versions))
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def accelerator(devices: Path = Path("/dev"), build: str | None = None) -> bool:
    """Whether there seems to be one that torch can use: of NVIDIA, of AMD, of the host of WSL2, of Apple. Looked for
    without torch, which takes seconds to import. `build`: torch's version, which says if it is for a CPU alone."""
    if (build or _version("torch") or "").endswith("+cpu"):
        return False
    nodes = ("nvidia[0-9]*", "kfd", "dxg")
    return sys.platform == "darwin" or any(any(devices.glob(node)) for node in nodes)


def gpus(devices: Path = Path("/dev")) -> list[str]:
    """NVIDIA's, by the names that CUDA_VISIBLE_DEVICES has or would have for them. CUDA counts from 0 those that it may
    open, whatever the number of their file, and reads the names up to the first that is -1."""
    said = os.environ.get("CUDA_VISIBLE_DEVICES")
    if said is not None:
        names = [name.strip() for name in said.split(",")]
        return list(itertools.takewhile(lambda name: name not in ("", "-1"), names))
    files = [file for file in devices.glob("nvidia[0-9]*") if file.name.removeprefix("nvidia").isdigit()]
    return [str(number) for number in range(sum(os.access(file, os.R_OK | os.W_OK) for file in files))]


def cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _gpus() -> list[str]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return []
    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


def _git(folder: Path) -> dict[str, Any] | None:
    """The checkout that the study lies in: its commit, and whether tracked files differ; None outside of one."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        return {"commit": git("rev-parse", "HEAD"), "dirty": bool(git("status", "--porcelain", "--untracked-files=no"))}
    except (OSError, subprocess.SubprocessError):
        return None
