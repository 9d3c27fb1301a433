"""Randomness without a global generator: every draw is a function of (seed, purpose, numbers).

So a run alone, resumed, in a stack or sharded over devices sees the same numbers.
"""

import hashlib
import struct

import numpy as np
import torch
from torch import Tensor


def key(seed: int, purpose: str, *numbers: int) -> int:
    """A 63-bit key for one draw; `numbers` say which (step, epoch, layer)."""
    text = purpose.encode() + struct.pack(f"<{1 + len(numbers)}q", seed, *numbers)
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def generator(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=key(seed, purpose, *numbers)))


def uniforms(key: int | Tensor, indices: Tensor, count: int) -> Tensor:
    """[count, examples] numbers in [0, 1), each a function of the key and of its example's index alone."""
    places = torch.arange(count, device=indices.device).unsqueeze(1) * _ODD
    mixed = _mix(_mix(indices + key) + places)
    return _shifted(mixed, 40).float() * 2.0**-24


_ODD = 0x9E3779B97F4A7C15 - (1 << 64)  # splitmix64's constants, as signed numbers
_FIRST, _SECOND = 0xBF58476D1CE4E5B9 - (1 << 64), 0x94D049BB133111EB - (1 << 64)


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shifted(x, 30)) * _FIRST
    x = (x ^ _shifted(x, 27)) * _SECOND
    return x ^ _shifted(x, 31)


def _shifted(x: Tensor, bits: int) -> Tensor:
    """Shifted right without its sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)
