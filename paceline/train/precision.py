"""The numbers a run computes with. What the hardware lacks is refused before training, not emulated in silence.

fp32 and fp64 are of everything. tf32, bf16 and fp16 are of the model's products, in training and in evaluation:
parameters, sums and the loss stay fp32, as torch.autocast has it. fp16 gradients are scaled up against underflow.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from paceline.errors import DeviceError

DTYPES = {"fp64": torch.float64}
MIXED = {"bf16": torch.bfloat16, "fp16": torch.float16}
AMPERE = (8, 0)  # the first compute capability that has tf32 and bf16


def dtype(name: str) -> torch.dtype:
    """Of parameters and data."""
    return DTYPES.get(name, torch.float32)


def check(name: str, device: torch.device) -> None:
    if lacking := _lacking(name, device):
        raise DeviceError(f"precision: {name}, but {lacking}. Try precision: fp32.")


def _lacking(name: str, device: torch.device) -> str:
    if device.type == "cuda":
        old = torch.cuda.get_device_capability(device) < AMPERE
        return "this GPU is older than Ampere and would emulate it" if old and name in ("tf32", "bf16") else ""
    if device.type == "mps":
        return "torch has it on CUDA and CPU alone" if name in ("tf32", "fp64") else ""
    if name == "bf16" and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return "this CPU has no bf16 instructions and would emulate it"
    return f"a CPU has no {name}; it is for GPUs" if name in ("tf32", "fp16") else ""


def prepare(name: str, device: torch.device) -> None:
    """Whether fp32 products on a GPU may be tf32."""
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        torch.backends.cudnn.allow_tf32 = name == "tf32"


def autocast(name: str, device: torch.device) -> AbstractContextManager[Any]:
    """For forward passes; does nothing for precisions that are of everything."""
    return torch.autocast(device.type, MIXED[name]) if name in MIXED else nullcontext()


def scaler(name: str, device: torch.device) -> torch.amp.GradScaler:
    """Scales the loss, and its gradients back; does nothing but for fp16."""
    return torch.amp.GradScaler(device.type, enabled=name == "fp16")
