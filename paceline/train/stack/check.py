"""Before parts of the user's own are stacked: whether the stack does the same as each run alone, and faster."""

import math
import time
from collections.abc import Sequence
from pathlib import Path

from paceline.data.dataset import Dataset
from paceline.errors import PacelineError, StackError
from paceline.spec import Run
from paceline.spec.run import PARTS
from paceline.train.loop import train
from paceline.train.rows import Row
from paceline.train.stack.loop import train_stack

STEPS = 3
RUNS = 3  # of the stack that are trained alone, too
TOLERANCE = 1e-3


def checked(runs: Sequence[Run], dataset: Dataset, folder: Path, cores: int) -> None:
    """StackError, if a few steps of a stack differ from those of its runs alone, or take longer."""
    if not any(getattr(run, kind).own for run in runs for kind in PARTS if kind != "data"):
        return
    short = [run.model_copy(update={"steps": STEPS, "epochs": None, "evaluate_every": 1, "warmup": 0}) for run in runs]
    begun = time.perf_counter()
    stacked = _stacked(short, dataset, folder, cores)
    seconds = time.perf_counter() - begun
    others = sorted(range(len(runs)), key=lambda place: place * 7919 % len(runs))[:RUNS]
    begun = time.perf_counter()
    for place in others:
        alone = [item for item in train(short[place], dataset, folder, cores=cores) if isinstance(item, Row)]
        if not _same(stacked[place], alone):
            raise StackError("a stack of them does not do what each does alone")
    each = (time.perf_counter() - begun) / len(others)
    if seconds > each * len(runs):
        raise StackError(f"a stack takes {seconds / len(runs):.3g} s a run, in a row {each:.3g} s")


def _stacked(runs: Sequence[Run], dataset: Dataset, folder: Path, cores: int) -> dict[int, list[Row]]:
    rows: dict[int, list[Row]] = {}
    try:
        for item in train_stack(runs, dataset, folder, cores=cores):
            if isinstance(item, tuple) and isinstance(item[1], Row):
                rows.setdefault(item[0], []).append(item[1])
    except PacelineError:
        raise
    except Exception as error:  # the user's code fails as it likes
        raise StackError(f"{type(error).__name__}: {error}") from None
    return rows


def _same(stacked: list[Row], alone: list[Row]) -> bool:
    pairs = zip(stacked, alone, strict=False)
    return len(stacked) == len(alone) and all(
        _close(a.loss, b.loss)
        and _close(a.train_loss, b.train_loss)
        and all(_close(a.extras[name], b.extras[name]) for name in b.extras)
        for a, b in pairs
    )


def _close(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-6)
