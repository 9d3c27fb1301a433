"""A run or a stack that was interrupted, killed and resumed gives the rows of one that was not, bit for bit."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from paceline import api
from paceline.record.process import place
from paceline.train import checkpoint

from .studies import BASE, SHORT, files, lines, rows, standing, write
from .zygote import Zygote, until

MLP = {"name": "mlp", "widths": [16, 12]}
LONG = {**BASE, "steps": 500, "evaluate_every": 10}
SETTINGS: dict[str, dict[str, Any]] = {
    "adam, its twin": {**LONG, "optimizer": "adam", "lr": 0.01, "schedule": "cosine", "warmup": 100},
    "rmsprop, the rule": {**LONG, "optimizer": {"name": "rmsprop", "momentum": 0.5, "centered": True}, "lr": 0.001},
    "schedule_free": {**LONG, "model": MLP, "optimizer": "schedule_free", "lr": 0.01},
    "muon": {**LONG, "model": MLP, "optimizer": "muon", "lr": 0.01, "clip_norm": 1.0},
    "fp64, overlap, redrawn subset": {
        **LONG,
        "optimizer": {"name": "sgd", "momentum": 0.9, "nesterov": True},
        "precision": "fp64",
        "overlap": 0.5,
        "subset": {"size": 50, "redraw": "epoch"},
    },
    "dropout, patience, growing batches": {
        **LONG,
        "model": {**MLP, "dropout": 0.4},
        "optimizer": "adamw",
        "lr": 0.01,
        "batch": "5 + epoch / 5",
        "early_stop": {"patience": 15, "metric": "loss"},
    },
    "lab_cnn with dropout": {
        **BASE,
        "data": {"name": "digits", "validation": 50, "test": 50},
        "model": "lab_cnn",
        "optimizer": "adam",
        "lr": 0.001,
        "steps": 40,
        "evaluate_every": 1,
    },
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_interrupted_then_killed_then_resumed(setting: str, tmp_path: Path, paceline: Zygote) -> None:
    file = write(tmp_path, SETTINGS[setting])
    api.run(file, out=tmp_path / "whole")
    whole = rows(tmp_path / "whole" / "s")
    record = tmp_path / "runs" / "s"
    command = ("run", file, "--out", tmp_path / "runs")

    first = paceline(*command)
    until(lambda: lines(record) >= whole.height // 4)
    first.signal(signal.SIGINT)
    assert first.wait() == 130
    assert standing(record) == {"interrupted": 1}
    assert "checkpoint" in files(record)
    before = lines(record)

    second = paceline(*command, checkpoint_seconds=0)
    until(lambda: lines(record) >= before + whole.height // 4)
    second.signal(signal.SIGKILL)
    assert second.wait() == -signal.SIGKILL
    assert standing(record) == {"interrupted": 1}

    api.run(file, out=tmp_path / "runs")
    assert standing(record) == {"done": 1}
    assert rows(record).equals(whole)
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}
    assert lines(record) < whole.height * 2, "it started anew instead of going on"


@pytest.mark.parametrize("gently", [signal.SIGINT, signal.SIGTERM])
def test_a_stack_interrupted_then_killed_then_resumed(gently: int, tmp_path: Path, paceline: Zygote) -> None:
    base = {**LONG, "model": MLP, "precision": "fp64", "lr": 0.01}
    file = write(tmp_path, base, compare={"optimizer": ["adam", "schedule_free", "muon"]}, repeat=2)
    api.run(file, out=tmp_path / "whole", stack=True)
    whole = rows(tmp_path / "whole" / "s")
    record = tmp_path / "runs" / "s"
    command = ("run", file, "--out", tmp_path / "runs", "--stack")

    first = paceline(*command)
    until(lambda: lines(record) >= whole.height // 4)
    first.signal(gently)
    assert first.wait() == 130
    assert "The same command continues." in first.said
    assert standing(record) == {"interrupted": 6}
    assert "checkpoint" in files(record)
    before = lines(record)

    second = paceline(*command, checkpoint_seconds=0)
    until(lambda: lines(record) >= before + whole.height // 4)
    second.signal(signal.SIGKILL)
    assert second.wait() == -signal.SIGKILL
    assert standing(record).keys() <= {"interrupted", "done"}

    assert paceline(*command).wait() == 0
    assert standing(record) == {"done": 6}
    assert rows(record).equals(whole)
    assert set(api.results("s", out=tmp_path / "runs").runs["timing"]) == {"stacked"}
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}
    assert lines(record) < whole.height * 2, "it started anew instead of going on"


@pytest.mark.parametrize("way", ["--no-stack", "--stack"])
def test_killed_at_any_moment_again_and_again(way: str, tmp_path: Path, paceline: Zygote) -> None:
    """Two runs in a pack; each life a little longer than the one before, from before the first file on."""
    base = {**LONG, "model": MLP, "optimizer": "adam", "lr": 0.01, "precision": "fp64"}
    file = write(tmp_path, base, repeat=2)
    api.run(file, out=tmp_path / "whole", stack=way == "--stack")
    record, lives = tmp_path / "runs" / "s", 0
    command = ("run", file, "--out", tmp_path / "runs", way)
    while standing(record) != {"done": 2}:
        child = paceline(*command, checkpoint_seconds=0)
        end = time.monotonic() + 0.05 + 0.03 * lives
        while time.monotonic() < end and child.poll() is None:
            time.sleep(0.002)
        child.signal(signal.SIGKILL)
        lives += 1
        assert child.wait() in (0, -signal.SIGKILL), child.said
        rows(record)
    assert lives > 3
    assert paceline(*command).wait() == 0
    assert rows(record).equals(rows(tmp_path / "whole" / "s"))
    assert standing(record) == {"done": 2}
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}


def test_a_run_shorter_than_the_interval_leaves_no_checkpoint_and_starts_anew(tmp_path: Path, paceline: Zygote) -> None:
    file = write(tmp_path, LONG)
    record = tmp_path / "runs" / "s"
    child = paceline("run", file, "--out", tmp_path / "runs")
    until(lambda: lines(record) >= 20)
    child.signal(signal.SIGKILL)
    child.wait()
    assert "checkpoint" not in files(record)
    api.run(file, out=tmp_path / "runs")
    api.run(file, out=tmp_path / "whole")
    assert rows(record).equals(rows(tmp_path / "whole" / "s"))


def test_a_stack_shorter_than_the_interval_starts_anew(tmp_path: Path, paceline: Zygote) -> None:
    file = write(tmp_path, {**LONG, "precision": "fp64"}, repeat=3)
    record = tmp_path / "runs" / "s"
    child = paceline("run", file, "--out", tmp_path / "runs", "--stack")
    until(lambda: lines(record) >= 60)
    child.signal(signal.SIGKILL)
    child.wait()
    assert standing(record) == {"interrupted": 3}
    assert "checkpoint" not in files(record)
    api.run(file, out=tmp_path / "runs")
    api.run(file, out=tmp_path / "whole", stack=True)
    assert rows(record).equals(rows(tmp_path / "whole" / "s"))


def test_sigterm_is_as_gentle_as_ctrl_c(tmp_path: Path, paceline: Zygote) -> None:
    file = write(tmp_path, {**LONG, "steps": 10_000_000})
    record = tmp_path / "runs" / "s"
    child = paceline("run", file, "--out", tmp_path / "runs")
    until(lambda: lines(record) >= 3)
    child.signal(signal.SIGTERM)
    assert child.wait() == 130
    assert "0 of 1 done" in child.said
    assert "The same command continues." in child.said
    assert "Traceback" not in child.said
    (kept,) = record.glob("*/checkpoint")
    assert checkpoint.load(kept)["position"]["step"] >= 20


def test_a_second_ctrl_c_breaks_off_at_once(tmp_path: Path, paceline: Zygote) -> None:
    (tmp_path / "stuck_of_test_resume.py").write_text(
        "import time\nfrom torch import nn\n"
        "class Stuck(nn.Module):\n"
        "    def __init__(self, input_shape, outputs):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(input_shape[0], outputs)\n"
        "    def forward(self, x):\n"
        "        if self.training:\n"
        "            time.sleep(30)\n"
        "        return self.layer(x)\n"
    )
    file = write(tmp_path, {**LONG, "model": "stuck_of_test_resume:Stuck"})
    record = tmp_path / "runs" / "s"
    child = paceline("run", file, "--out", tmp_path / "runs")
    until(lambda: lines(record) >= 1)
    time.sleep(0.1)
    child.signal(signal.SIGINT)
    time.sleep(0.2)
    assert child.poll() is None
    child.signal(signal.SIGINT)
    assert child.wait(5) in (1, 130)
    assert "Traceback" not in child.said
    assert standing(record) == {"interrupted": 1}


def test_what_a_process_left_that_died_at_its_very_end_is_swept_away(tmp_path: Path) -> None:
    file = write(tmp_path, SHORT)
    api.run(file, out=tmp_path / "runs")
    (pack,) = (tmp_path / "runs" / "s").glob("*/pack.json")
    before = {path.name for path in pack.parent.iterdir()}
    dead = {"place": place(), "pid": 2**22 + 1, "started": 0.0, "token": "a" * 32}
    pack.with_name("claim").write_text(json.dumps(dead))
    pack.with_name(".status.json.x").touch()
    api.run(file, out=tmp_path / "runs")
    assert {path.name for path in pack.parent.iterdir()} == before
