"""What this machine can do at best: float32 matrix products, operations a second."""

import time

import torch

SIZES = ((720, 784, 1000), (1024, 1024, 1024), (2048, 2048, 2048))


def peak() -> float:
    """The best of a few sizes and tries."""
    return max(_flops(*size) for size in SIZES for _ in range(3))


def _flops(m: int, k: int, n: int) -> float:
    a, b = torch.rand(m, k), torch.rand(k, n)
    begun = time.perf_counter()
    a @ b
    return 2.0 * m * k * n / (time.perf_counter() - begun)
