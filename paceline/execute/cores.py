"""What a process that is started gets of the cores."""

import os


def environment(threads: int) -> dict[str, str]:
    """This process's, with so many threads for the libraries that read their number from it."""
    return {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
