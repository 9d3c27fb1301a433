"""Records of studies on several devices with known answers, made without training."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from paceline.plan.expand import expand
from paceline.record.layout import PackFolder
from paceline.record.writer import PackWriter
from paceline.report.answer import Answer, answer
from paceline.spec import Run

from .recorded import made

STUDY = """
name: shared
question: What do more devices gain?
base: {data: digits, model: softmax, optimizer: gd, lr: 0.1, batch: 64, epochs: 10}
compare: {devices: [1, 2, 4, 8], batch_mode: [global, per_device]}
repeat: 3
measure: time
"""
STRONG = STUDY.replace(", batch_mode: [global, per_device]", "")
TARGET = STRONG.replace("epochs: 10}", "epochs: 10, early_stop: {target: 0.85}}")
CASES = """
name: ways
question: Which way of sharing is fastest?
base: {data: digits, model: softmax, optimizer: gd, lr: 0.1, batch: 64, epochs: 10, devices: 2}
cases:
  alone: {devices: 1}
  averaged: {strategy: ddp}
  divided: {strategy: zero}
  another batch: {batch: 32}
repeat: 3
measure: time
"""
SERIAL = 0.1  # of strong scaling, by Amdahl's law
EXAMPLES = 1137  # of an epoch


def amdahl(run: Run) -> float:
    """Examples a second: weak scaling loses a tenth of every device but the first; seeds are a little off."""
    n = run.devices
    gain = n / (1 + SERIAL * (n - 1)) if run.batch_mode == "global" else n - 0.1 * (n - 1)
    return 1000 * gain * (1 + 0.002 * ((run.seed * (n + 3) + n) % 5 - 2))


def alone(run: Run) -> str:
    return "exclusive"


def four_cores(run: Run) -> str:
    return "exclusive" if run.devices <= 4 else "oversubscribed"


def shared(
    text: str,
    folder: Path,
    *,
    speed: Callable[[Run], float] = amdahl,
    timing: Callable[[Run], str] = alone,
    status: Callable[[Run], str] = lambda run: "done",
    noted: Callable[[Run], dict[str, Any]] = lambda run: {},
    **asked: float,
) -> Answer:
    """The answer of a study whose accuracy rises to 0.9 from 0.1, half of the way in two epochs of strong scaling and
    more slowly for a larger batch; 10 steps are an epoch."""

    def row(trial: Any, step: int) -> dict[str, Any]:
        run = trial.run
        whole = run.devices if run.batch_mode == "per_device" else 1
        accuracy = 0.1 + 0.8 * (1 - 0.5 ** (step / 10 / 2 / (1 + (whole - 1) / 8)))
        epoch = max(step - 1, 0) // 10
        examples = EXAMPLES * step // 10
        where = {"epoch": epoch, "examples": examples, "seconds": examples / speed(run)}
        return {"accuracy": accuracy, "validation_accuracy": accuracy, "loss": 1 - accuracy, "lr": 0.1, **where}

    found = made(text, row, status=lambda trial: status(trial.run))
    runs = {trial.id: trial.run for trial in expand(found.study)}
    pack = PackFolder(folder / "p")
    pack.path.mkdir(parents=True)
    with PackWriter(pack) as writer:
        for name, run in runs.items():
            writer.telemetry({"run": name, **_telemetry(10 * EXAMPLES / speed(run), run.devices)})
    said = pl.DataFrame(
        [
            {
                "run": name,
                "timing": timing(run),
                "samples_per_second": speed(run),
                "turnaround_seconds": 5.0 + 10 * EXAMPLES / speed(run),
                "sent_bytes": 3 * 2**20 if run.devices > 1 else None,
                "imbalance": 0.02 if run.devices > 1 else None,
            }
            | noted(run)
            for name, run in runs.items()
        ],
        schema_overrides={"sent_bytes": pl.Int64, "imbalance": pl.Float64},
    )
    table = found.runs.drop("timing").join(said, on="run", how="left", maintain_order="left")
    return answer(replace(found, runs=table.with_columns(pack=pl.lit("p"))), folder, **asked)


def _telemetry(seconds: float, devices: int) -> dict[str, Any]:
    """Three tenths of the time of several devices are spent waiting for others."""
    waiting = 0.3 * seconds if devices > 1 else 0.0
    parts = {"loader": 0.1 * seconds, "copy": 0.0, "exchange": waiting, "optimizer": 0.1 * seconds}
    parts |= {"forward": 0.2 * seconds, "backward": 0.5 * seconds - waiting}
    unknown = ("allocated_bytes", "reserved_bytes", "device_used_bytes", "device_bytes", "power_watts", "energy_joules")
    used = {"resident_bytes": 2**29, "utilisation": 0.8, **dict.fromkeys(unknown)}
    beside = {"evaluation": 0.1 * seconds, "checkpoint": 0.0}
    return {"step": 100, "examples": 10 * EXAMPLES, "seconds": seconds, **parts, **beside, **used}
