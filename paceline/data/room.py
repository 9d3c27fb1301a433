"""How much of a device's memory data may take, and how much they need."""

import math

import torch

from paceline.data.dataset import Split

DEVICE_SHARE = 0.4  # of a GPU's free memory that data may take


def room(device: torch.device) -> float:
    """Bytes for data, as things are now; without end where they are in memory already."""
    if device.type != "cuda":
        return math.inf
    free, _ = torch.cuda.mem_get_info(device)
    free += torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # torch keeps it for tensors
    return DEVICE_SHARE * free


def needed(split: Split, dtype: torch.dtype) -> int:
    """Bytes of a split on a device, floats as `dtype`."""
    each = 1 if split.x.dtype == torch.uint8 else dtype.itemsize
    return split.x.numel() * each + split.y.nbytes
