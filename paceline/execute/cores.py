"""What a process that is started gets of the cores and of the GPUs."""

import os

from paceline.record.machine import gpus


def environment(threads: int, place: int | None = None) -> dict[str, str]:
    """This process's, with so many threads for the libraries that read their number from it. `place`: among processes
    side by side, which take the GPUs in turn."""
    found = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    if place is not None and (visible := gpus()):
        found["CUDA_VISIBLE_DEVICES"] = visible[place % len(visible)]
    return found
