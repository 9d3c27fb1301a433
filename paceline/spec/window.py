"""The arithmetic of a window that moves over a set: how far, and how often in an epoch."""

import math


def stride(width: int, overlap: float) -> int:
    """Examples that a batch moves on by: its width less what it shares with the one before (a share, or a number)."""
    kept = math.floor(overlap * width) if overlap < 1 else int(overlap)
    return max(1, width - kept)


def steps_in_epoch(pool: int, width: int, step: int) -> int:
    """Batches of `width`, `step` apart, that cover a pool of examples."""
    return max(1, math.ceil((pool - (width - step)) / step))
