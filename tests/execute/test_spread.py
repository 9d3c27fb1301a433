"""Runs on several devices, by real processes that torchrun starts: the same rows, also after one of them has died."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import pytest
from typer.testing import CliRunner

from paceline import api
from paceline.cli import app
from paceline.errors import RecordError
from paceline.record.layout import StudyFolder
from paceline.record.reader import read_packs, read_rows, states
from paceline.spec.parts import TABLE

from .studies import BASE, standing, write

LONG: dict[str, Any] = {**BASE, "precision": "fp64", "device": "cpu"}


def rows(record: Path) -> pl.DataFrame:
    return read_rows(read_packs(StudyFolder(record)))


def details(record: Path) -> dict[int, dict[str, Any]]:
    """By the number of devices."""
    packs = read_packs(StudyFolder(record))
    known = {entry["run"]: entry["config"].get("devices", 1) for pack in packs for entry in pack.pack["runs"]}
    return {known[run]: state.details for run, state in states(packs).items()}


def test_two_devices_record_what_one_does_and_how_long_it_took(tmp_path):
    file = write(tmp_path, {**LONG, "steps": 30, "evaluate_every": 10}, compare={"devices": [1, 2]}, measure="time")
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    found = details(tmp_path / "runs" / "s")
    assert {of["status"] for of in found.values()} == {"done"}
    assert found[2]["turnaround_seconds"] > 1
    assert (found[2]["devices"], found[2]["hosts"]) == (2, 1)
    assert found[2]["sent_bytes"] > 0
    table = rows(tmp_path / "runs" / "s").sort("step")
    for step in (0, 10, 20, 30):
        one, two = table.filter(pl.col("step") == step)["loss"]
        assert one == pytest.approx(two, rel=1e-9)
    crowded = len(os.sched_getaffinity(0)) < 2
    assert found[2]["timing"] == ("oversubscribed" if crowded else found[1]["timing"])


def test_a_process_that_dies_is_started_again_and_the_curve_is_the_same(tmp_path, monkeypatch):
    said = {**LONG, "steps": 4000, "evaluate_every": 500, "devices": 2}
    file = write(tmp_path, said)
    monkeypatch.setenv("PACELINE_CHECKPOINT_SECONDS", "0.2")
    killed, after = False, []
    from paceline.execute.session import execute, open_session

    for event in execute(open_session(api.load(file), tmp_path / "runs")):
        if event.kind == "progress" and event.step > 500 and not killed:
            ranks = [p for p in psutil.Process().children(recursive=True) if "paceline.execute.rank" in p.cmdline()]
            workers = [p for p in ranks if "torch.distributed.run" not in p.cmdline()]
            workers[-1].send_signal(signal.SIGKILL)
            killed = True
        elif event.kind == "progress" and killed:
            after.append(event.step)
    assert killed
    assert min(after) > 0
    assert event.status == "done"
    assert standing(tmp_path / "runs" / "s") == {"done": 1}
    broken = rows(tmp_path / "runs" / "s").sort("step")
    whole = write(tmp_path, said, name="whole")
    api.run(api.load(whole), out=tmp_path / "runs")
    expected = rows(tmp_path / "runs" / "whole").sort("step")
    assert broken["step"].to_list() == expected["step"].to_list()
    assert broken["loss"].to_list() == pytest.approx(expected["loss"].to_list(), rel=1e-9)


def test_stopping_keeps_a_checkpoint_and_the_same_command_goes_on(tmp_path):
    from paceline.execute.session import execute, open_session

    file = write(tmp_path, {**LONG, "steps": 3000, "evaluate_every": 1000, "devices": 2})
    begun = time.monotonic()
    for event in execute(open_session(api.load(file), tmp_path / "runs")):
        if event.kind == "progress" and event.step > 300:
            os.kill(os.getpid(), signal.SIGTERM)
        assert time.monotonic() - begun < 120
    assert standing(tmp_path / "runs" / "s") == {"interrupted": 1}
    api.run(api.load(file), out=tmp_path / "runs")
    assert standing(tmp_path / "runs" / "s") == {"done": 1}
    assert rows(tmp_path / "runs" / "s")["step"].sort().to_list() == [0, 1000, 2000, 3000]


def test_a_batch_smaller_than_the_devices_is_refused(tmp_path):
    done = CliRunner().invoke(app, ["check", str(write(tmp_path, {**LONG, "steps": 3, "batch": 2, "devices": 4}))])
    assert "a batch of 2 leaves some of 4 devices without an example" in done.output + str(done.exception)


OWN = """
import os, pathlib, time
from torch import nn

MARK = pathlib.Path(__file__).with_name("mark")

class Own(nn.Module):
    def __init__(self, input_shape, outputs):
        super().__init__()
        self.layer = nn.Linear(input_shape[0], outputs)

    def forward(self, x):
        self.before()
        return self.layer(x)

class Silent(Own):
    def before(self):
        if os.environ.get("RANK") == "1" and self.training and not MARK.exists():
            MARK.touch()
            time.sleep(1000)

class Broken(Own):
    def before(self):
        raise ValueError("no such thing")

class HalfBroken(Own):
    def before(self):
        if os.environ.get("RANK") == "1":
            raise ValueError("no such thing")
"""


def test_a_process_without_a_word_is_taken_for_lost_and_all_go_on(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.setenv("PACELINE_HANG_SECONDS", "5")
    file = write(tmp_path, {**LONG, "model": "own:Silent", "steps": 20, "devices": 2})
    api.run(api.load(file), out=tmp_path / "runs")
    assert (tmp_path / "mark").exists()
    assert standing(tmp_path / "runs" / "s") == {"done": 1}


@pytest.mark.parametrize("model", ["Broken", "HalfBroken"])
def test_a_run_that_fails_by_itself_is_not_tried_again(tmp_path, model):
    (tmp_path / "own.py").write_text(OWN)
    file = write(tmp_path, {**LONG, "model": f"own:{model}", "steps": 20, "devices": 2})
    api.run(api.load(file), out=tmp_path / "runs")
    (state,) = states(read_packs(StudyFolder(tmp_path / "runs" / "s"))).values()
    assert (state.status, state.details["reason"]) == ("failed", "ValueError: no such thing")
    assert "in before" in state.details["traceback"]


def test_every_strategy_is_recorded_and_timed(tmp_path):
    said = {**LONG, "model": {"name": "mlp", "widths": [8, 6]}, "steps": 6, "devices": 2, "batch": 8}
    cases = {name: {"strategy": name} for name in TABLE["strategy"]}
    file = write(tmp_path, said, cases=cases, measure="time")
    api.run(api.load(file), out=tmp_path / "runs")
    found = states(read_packs(StudyFolder(tmp_path / "runs" / "s"))).values()
    assert {state.status for state in found} == {"done"}, [state.details.get("reason") for state in found]
    assert all(state.details["turnaround_seconds"] > 0 for state in found)


def test_data_that_is_not_there_ends_the_team_at_once(tmp_path):
    (tmp_path / "empty").mkdir()
    file = write(tmp_path, {**LONG, "data": "mnist", "steps": 3, "devices": 2})
    with pytest.raises(RecordError, match="mnist"):
        api.run(api.load(file), out=tmp_path / "runs", data=tmp_path / "empty")
