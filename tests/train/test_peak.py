import sys

import pytest
import torch

from paceline.train import peak

CPU = torch.device("cpu")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process begin its peak anew")
def test_a_peak_is_of_what_was_held_since_the_reset():
    large = torch.ones(60_000_000)
    assert peak.reset(CPU)
    with_large, total = peak.peak(CPU) or (0, 0)
    del large
    peak.reset(CPU)
    without, _ = peak.peak(CPU) or (0, 0)
    assert with_large - without > 150e6
    assert 0 < without < total


def test_on_a_gpu_what_earlier_runs_left_is_given_back_before_the_peak_begins(monkeypatch):
    done = []
    for name in ("empty_cache", "reset_peak_memory_stats"):
        monkeypatch.setattr(torch.cuda, name, lambda *device, name=name: done.append(name))
    assert peak.reset(torch.device("cuda", 0))
    assert done == ["empty_cache", "reset_peak_memory_stats"]
