"""Randomness without a global generator: every draw is a function of (seed, purpose, numbers).

So a run alone, resumed, in a stack or sharded over devices sees the same numbers.
"""

import hashlib
import struct

import numpy as np


def key(seed: int, purpose: str, *numbers: int) -> int:
    """A 63-bit key for one draw; `numbers` say which (step, epoch, layer)."""
    text = purpose.encode() + struct.pack(f"<{1 + len(numbers)}q", seed, *numbers)
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1


def generator(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=key(seed, purpose, *numbers)))
