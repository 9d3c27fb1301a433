"""What a run asks for that this machine lacks. It is refused, with the reason, before anything trains."""

import os
import shutil

import torch

from paceline.errors import DeviceError
from paceline.spec import Run
from paceline.train import device, precision

COMPILERS = ("c++", "g++", "clang++", "icpx")
C_COMPILERS = ("cc", "gcc", "clang")


def lacking(run: Run, cores: int, started: int = 0) -> str:
    """Why this machine, of which a run may use so many cores, cannot train it as it says; empty if it can. `started`:
    processes of torchrun, if it started this one."""
    try:
        target = device.resolve(run.device)
        precision.check(run.precision, target)
    except DeviceError as error:
        return str(error)
    cuda = target.type == "cuda"
    if started and run.devices > started:
        return f"devices: {run.devices}, but torchrun has started {started} processes."
    if not started and run.devices > 1 and cuda and run.devices > (count := torch.cuda.device_count()):
        return f"devices: {run.devices}, but there are {count} GPUs here. torchrun on several hosts has more."
    if run.devices > 1 and target.type == "mps":
        return "devices: more than 1 is for CUDA and CPU alone."
    if run.loader and run.loader.pin_memory and not cuda:
        return "loader.pin_memory is for copies to a GPU, and this run is on a CPU, which copies nothing. Say false."
    if run.threads and run.threads > cores:
        return f"threads: {run.threads}, but there are {cores} cores for it. Say at most {cores}."
    if run.compile and not cuda and not _compiler():
        return "compile: true needs a C++ compiler on a CPU, and there is none. Install g++ or clang++."
    if run.compile and cuda and not _triton():
        return "compile: true needs Triton and a C compiler for a GPU of compute capability 7.0 or newer."
    if run.compile and target.type == "mps":
        return "compile: true is for CUDA and CPU alone."
    if run.fused and target.type not in ("cpu", "cuda"):
        return "fused: true is for CUDA and CPU alone."
    return ""


def _triton() -> bool:
    from torch.utils._triton import has_triton

    return has_triton() and any(shutil.which(name) for name in (os.environ.get("CC", ""), *C_COMPILERS) if name)


def _compiler() -> bool:
    return any(shutil.which(name) for name in (os.environ.get("CXX", ""), *COMPILERS) if name)
