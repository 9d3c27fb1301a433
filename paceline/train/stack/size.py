"""How large a run is, once it can be built: for runs with parts whose size no table knows."""

from pathlib import Path

import psutil
import torch
from torch import Tensor, nn

from paceline.data.batches import Composition
from paceline.data.dataset import Dataset, Split
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.spec import Run
from paceline.train import build, device
from paceline.train.look import look


def size(run: Run, dataset: Dataset, folder: Path, files: Files | None = None) -> tuple[int, int, int]:
    """Parameters, values that a forward pass of one example leaves, and examples a batch."""
    model = build.model(run, dataset, folder, files)
    left = 0

    def count(layer: nn.Module, given: object, output: object) -> None:
        nonlocal left
        left += output.numel() if isinstance(output, Tensor) else 0

    first = Split(dataset.train.x[:1], dataset.train.y[:1])
    example = Memory(first, torch.device("cpu"), torch.float32, False, look(run, dataset)).chunk(0, 1)
    for layer in model.modules():
        layer.register_forward_hook(count)
    model.eval()
    with torch.no_grad():
        model(example)
    return sum(p.numel() for p in model.parameters()), left, Composition(run, len(dataset.train)).width(0)


def memory(run: Run) -> float:
    """Bytes of the device that the run trains on."""
    target = device.resolve(run.device)
    if target.type == "cuda":
        return float(torch.cuda.mem_get_info(target)[1])
    return float(psutil.virtual_memory().total)
