"""From the host to a device."""

import torch
from torch import Tensor


def moved(tensor: Tensor, device: torch.device, layout: torch.memory_format = torch.preserve_format) -> Tensor:
    """The tensor on that device. To CUDA the copy may be under way when this returns, and is done before what is asked
    of the device next. Metal may read memory that is no longer there (pytorch issue 189690): others wait."""
    return tensor.to(device, non_blocking=device.type == "cuda", memory_format=layout)
