"""Records with known answers, made without training."""

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
from PIL import Image

from paceline.plan.expand import Trial, expand
from paceline.record.layout import PackFolder
from paceline.record.reader import SCHEMA
from paceline.record.writer import PackWriter
from paceline.report.results import join_rows, run_table
from paceline.spec import Study
from paceline.spec.document import parse
from paceline.spec.study import from_document

Row = dict[str, Any]


@dataclass(frozen=True)
class Made:
    study: Study
    runs: pl.DataFrame
    rows: pl.DataFrame


def made(
    text: str,
    row: Callable[[Trial, int], Row | None],
    *,
    status: Callable[[Trial], str] = lambda trial: "done",
    timing: str = "exclusive",
    steps: range = range(0, 101, 10),
    scale: str = "",
    part: bool = False,
) -> Made:
    """Results of a study: `row` gives what was measured of a trial at a step, None where it measured nothing. `part`:
    whether the settings of its size are settings of the full study."""
    changed = f"the size '{scale}'" if scale else ""
    study = from_document(parse(text), Path.cwd(), scale, changed=changed, part=part or not scale)
    trials = expand(study)
    lines = [
        {
            "run": t.id,
            "step": s,
            "epoch": s // 10,
            "examples": 10 * s,
            "seconds": s / 100,
            "wall_seconds": s / 90,
            **found,
        }
        for t in trials
        for s in steps
        if (found := row(t, s)) is not None
    ]
    extras = sorted({name for line in lines for name in line} - set(SCHEMA))
    rows = pl.DataFrame(lines, schema={**SCHEMA, **dict.fromkeys(extras, pl.Float64)})
    how = {t.id: status(t) for t in trials}
    runs = run_table(trials, [], rows, study.select).with_columns(
        pl.col("run").replace_strict(how).alias("status"), pl.lit(timing).alias("timing")
    )
    return Made(study, runs, join_rows(trials, rows))


DIGITS = """
name: known
question: Which is best?
base: {data: digits, model: softmax, steps: 100, evaluate_every: 10}
compare: {optimizer: [gd, adam, rmsprop]}
tune: {lr: [0.1, 0.01, 0.001]}
repeat: 4
"""
TOPS = {"gd": 0.80, "adam": 0.95, "rmsprop": 0.949}  # rmsprop is tied with adam, gd is worse


def learning(trial: Trial, step: int, tops: dict[str, float] = TOPS) -> Row:
    """A curve that rises to a top, best at lr 0.01, with noise of the seed alone."""
    off = abs({0.1: 1, 0.01: 0, 0.001: -2}.get(trial.axes.get("lr", 0.01), 0))
    seed, size = trial.run.seed, len(trial.run.optimizer.name)
    noise = ((3 * seed * seed + size * (seed + 1)) % 5 - 2) * 0.002
    top = tops.get(trial.run.optimizer.name, 0.9) - 0.05 * off + noise
    accuracy = 0.1 + (top - 0.1) * (1 - 0.5 ** (step / 10))
    return {"accuracy": accuracy, "validation_accuracy": accuracy - 0.01, "loss": 2.3 * (1.001 - accuracy), "lr": 0.1}


CLASSES = ("cat", "dog", "fox", "<b>owl</b>")


def picture(colour: tuple[int, int, int]) -> str:
    """A PNG of 8 x 8 pixels, as base64."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def examined(found: Made, folder: Path, said: Callable[[str, int], dict[str, Any]] | None = None) -> Made:
    """The same results with what each run got wrong written under `folder`; `said` makes it of label-free run, seed."""
    pack = PackFolder(folder / "p")
    pack.path.mkdir(parents=True)
    with PackWriter(pack) as writer:
        for run, seed in found.runs.select("run", "seed").unique("run", maintain_order=True).iter_rows():
            writer.examined({"run": run, **(said or mistaken)(run, seed)})
    return replace(found, runs=found.runs.with_columns(pack=pl.lit("p")))


def mistaken(run: str, seed: int) -> dict[str, Any]:
    """Four classes of 10 examples; owls are never the answer, and the more dogs are taken for cats the later the seed."""
    matrix = [[0, 0, 10], [1, 1, 9 - seed], [1, 0, 1 + seed], [2, 2, 10], [3, 2, 10]]
    worst = [
        {"index": 3, "truth": 3, "said": 2, "probability": 0.9 + seed / 100, "png": picture((200, 90, 0))},
        {"index": 10 + seed, "truth": 1, "said": 0, "probability": 0.5, "png": picture((0, 90, 200))},
    ]
    return {"names": list(CLASSES), "matrix": matrix, "worst": worst}
