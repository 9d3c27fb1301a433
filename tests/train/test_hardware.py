"""What a machine lacks is said before anything trains."""

import pytest
import torch

from paceline.spec import Run
from paceline.train.hardware import lacking

BASE = {"data": "line", "model": "line", "loss": "mse", "optimizer": "gd", "lr": 0.1, "steps": 1, "device": "cpu"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"precision": "fp16"}, "a CPU has no fp16"),
        ({"precision": "tf32"}, "a CPU has no tf32"),
        ({"loader": {"workers": 1, "pin_memory": True}}, "pin_memory is for copies to a GPU"),
        ({"threads": 3}, "threads: 3, but there are 2 cores"),
    ],
)
def test_what_a_cpu_lacks(said, words):
    assert words in lacking(Run(**BASE | said), 2)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_gpu_that_is_not_there():
    assert "no CUDA device" in lacking(Run(**BASE | {"device": "cuda"}), 2)


def test_compiling_needs_a_compiler(monkeypatch):
    run = Run(**BASE | {"compile": True})
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    assert "C++ compiler" in lacking(run, 2)


@pytest.mark.parametrize(
    "said", [{}, {"threads": 2}, {"precision": "fp64"}, {"loader": 2}, {"fused": True}, {"channels_last": True}]
)
def test_what_every_cpu_has(said):
    assert lacking(Run(**BASE | said), 2) == ""
