"""Tables with known answers: curves as rows, and the runs they belong to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

MEASURED = ("train_loss", "loss", "accuracy", "validation_loss", "validation_accuracy")


def rows_of(curves: dict[str, dict[str, Sequence[float | None]]], every: int = 10) -> pl.DataFrame:
    """A run a key: its columns as lists, a row every `every` steps from step 0, an epoch a row."""
    frames = []
    for run, columns in curves.items():
        n = len(next(iter(columns.values())))
        data = {
            name: pl.Series(np.asarray(values, dtype=np.float64)).fill_nan(None) for name, values in columns.items()
        }
        steps = pl.int_range(n, eager=True) * every
        base: dict[str, Any] = {
            "run": [run] * n,
            "step": steps,
            "epoch": (pl.int_range(n, eager=True) - 1).clip(0),
            "examples": steps * 100,
            "seconds": steps * 0.01,
        }
        missing = {name: pl.Series([None] * n, dtype=pl.Float64) for name in MEASURED if name not in columns}
        frames.append(
            pl.DataFrame({**base, **data, **missing, "nonfinite": [False] * n}).select(*base, *MEASURED, "nonfinite")
        )
    return pl.concat(frames)


def runs_of(names: Sequence[str], **columns: Any) -> pl.DataFrame:
    """Done, exclusive runs, seeds from 0, but for the columns given."""
    n = len(names)
    table: dict[str, Any] = {
        "run": list(names),
        "seed": list(range(n)),
        "status": ["done"] * n,
        "timing": ["exclusive"] * n,
        "reason": [None] * n,
    }
    return pl.DataFrame(table | columns, schema_overrides={"reason": pl.String})
