"""Every recorded row out of the house: CSV, Parquet, or TensorBoard's event files."""

import time
from pathlib import Path
from typing import Any

import polars as pl

from paceline.errors import RecordError
from paceline.record.reader import SCHEMA

_COUNTS = ("step", "epoch", "examples", "nonfinite")


def export(rows: pl.DataFrame, to: str, file: Path) -> str:
    """Writes the rows and says what was written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if to == "tensorboard":
            return _tensorboard(rows, file)
        if to == "csv":
            rows.write_csv(file)
        else:
            rows.write_parquet(file)
    except OSError as error:
        raise RecordError(f"{file}: cannot be written ({error.strerror or error}). Choose another --file.") from None
    return f"{rows.height} rows in {file}"


def _tensorboard(rows: pl.DataFrame, folder: Path) -> str:
    """One folder a run, named by its case, axes and seed; one scalar a column."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise RecordError("TensorBoard files need the package tensorboard: pip install tensorboard.") from None
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RecordError(f"{folder}: is there already; TensorBoard would show both. Choose another --file.")
    seed = rows.columns.index("seed")
    labels, measured = rows.columns[1 : seed + 1], rows.columns[seed + 1 :]
    names = [name for name in measured if name not in _COUNTS and (name in SCHEMA or rows[name].dtype.is_numeric())]
    count = 0
    for key, run in rows.group_by(["run", *labels], maintain_order=True):
        writer: Any = SummaryWriter(str(folder / _label(labels, key[1:])))
        began = time.time() - float(run["wall_seconds"].max() or 0)  # type: ignore[arg-type]
        for row in run.iter_rows(named=True):
            for name in names:
                if row[name] is not None:
                    writer.add_scalar(name, row[name], row["step"], walltime=began + (row["wall_seconds"] or 0))
        writer.close()
        count += 1
    return f"{count} runs in {folder}"


def _label(names: list[str], values: tuple[Any, ...]) -> str:
    said = [
        f"{name.removeprefix('axis.')}={value}" for name, value in zip(names, values, strict=True) if value is not None
    ]
    return ",".join(said).replace("/", "-")
