"""The same weights give the same outputs in torchvision's networks, and the same seed the same start."""

import importlib
import sys
import warnings

import pytest
import torch
from torch import library

from paceline.spec.parts import TABLE

NAMES = [name for name, entry in TABLE["model"].items() if "stem" in entry.args]
_operators = None


def _torchvision():
    """torchvision's models; where its compiled operators do not load, their schemas are declared in their place."""
    global _operators
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module("torchvision.models")
        except RuntimeError:
            _operators = library.Library("torchvision", "DEF")
            for name in ("nms", "qnms"):
                _operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
            return importlib.import_module("torchvision.models")


try:
    MODELS = _torchvision()
except (ImportError, RuntimeError) as error:
    pytest.skip(f"torchvision cannot be imported: {error}", allow_module_level=True)


def pair(name):
    module, _, attribute = TABLE["model"][name].path.partition(":")
    torch.manual_seed(11)
    ours = getattr(importlib.import_module(module), attribute)((3, 64, 64), 7)
    torch.manual_seed(11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(MODELS, name)(num_classes=7)
    return ours, theirs


@pytest.mark.parametrize("name", NAMES)
def test_same_start_same_names_same_outputs(name):
    ours, theirs = pair(name)
    mine, other = ours.state_dict(), theirs.state_dict()
    assert {k: v.shape for k, v in mine.items()} == {k: v.shape for k, v in other.items()}
    assert all(torch.equal(mine[key], other[key]) for key in mine)
    with torch.no_grad():
        for p in theirs.parameters():
            p.mul_(1.0 + 0.1 * torch.rand_like(p)).add_(0.001)
        for key, value in theirs.named_buffers():
            if key.endswith(("running_mean", "running_var")):
                value.add_(0.1 * torch.rand_like(value))
        ours.load_state_dict(theirs.state_dict(), strict=True)
        x = torch.randn(2, 3, 64, 64)
        assert torch.allclose(ours.eval()(x), theirs.eval()(x), rtol=1e-5, atol=1e-5)
