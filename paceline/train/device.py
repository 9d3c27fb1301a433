"""The one place that knows about devices: which there is, when it has finished, what it is called."""

import torch
from torch import Tensor

from paceline.data.transfer import moved
from paceline.errors import DeviceError


def resolve(name: str) -> torch.device:
    """The device that `auto | cpu | cuda | mps` means on this machine; refused if it is not there."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise DeviceError(
            "device: cuda, but this machine has no CUDA device that torch can use. Try device: auto or cpu."
        )
    if name == "mps" and not torch.backends.mps.is_available():
        raise DeviceError(
            "device: mps, but this machine has no Metal device that torch can use. Try device: auto or cpu."
        )
    return torch.device(name)


def prepare(device: torch.device) -> None:
    """Makes the same run give the same numbers twice: cuDNN may otherwise choose another algorithm each time."""
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True


def seed(device: torch.device, key: int) -> None:
    """Seeds torch's own generators of the CPU and of this device alone; torch.manual_seed visits every backend."""
    torch.default_generator.manual_seed(key)
    if device.type == "cuda":
        torch.cuda.manual_seed(key)
    elif device.type == "mps":
        torch.mps.manual_seed(key)


def put(batch: Tensor, device: torch.device, channels_last: bool) -> Tensor:
    """A batch from the host; from pinned memory to CUDA the copy is under way when this returns."""
    return moved(batch, device, torch.channels_last if channels_last and batch.dim() == 4 else torch.preserve_format)


def synchronize(device: torch.device) -> None:
    """Waits until the device has done all it was given, so that a clock may be read."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def broken(error: BaseException) -> bool:
    """Whether the device is of no more use to this process: what a CUDA kernel did wrong it is told ever after, at the
    next call too, and by cuBLAS and cuDNN in words of their own. (A GPU that is out of memory is not.)"""
    kind = getattr(torch, "AcceleratorError", None)
    used = isinstance(error, RuntimeError) and torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    if not used and (kind is None or not isinstance(error, kind)):
        return False
    try:
        torch.cuda.synchronize()
    except (RuntimeError, AssertionError):  # the latter: torch is not built for it
        return True
    return False


def describe(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
