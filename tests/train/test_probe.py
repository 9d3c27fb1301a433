"""What a device can do just now."""

import torch

from paceline.train.probe import probe


def test_the_probe_finds_speeds_of_this_world():
    found = probe("fp32", torch.device("cpu"))
    assert 1e8 < found.flops < 1e15
    assert 1e8 < found.bytes < 1e14
    assert 1e-8 < found.call_seconds < 1e-3
    assert found.seconds > 0
    assert found.spread >= 0
