"""Runs on several devices, by real processes that torchrun starts: the same rows, also after one of them has died."""

import os
import signal
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

from .studies import BASE, standing, write

LONG: dict[str, Any] = {**BASE, "precision": "fp64", "device": "cpu"}


def rows(record: Path) -> pl.DataFrame:
    return read_rows(read_packs(StudyFolder(record)))


@pytest.mark.parametrize("everyone", [False, True])
def test_a_team_that_lost_a_process_and_was_stopped_goes_on_to_the_rows_of_one_device(everyone, tmp_path, monkeypatch):
    """A process is killed: all are started again and go on. Then they are stopped, by a signal to Paceline or, as a
    cluster may send it, to every process: the same command goes on."""
    from paceline.execute.session import execute, open_session

    said = {**LONG, "steps": 3000, "evaluate_every": 500, "devices": 2}
    file = write(tmp_path, said)
    monkeypatch.setenv("PACELINE_CHECKPOINT_SECONDS", "0.2")
    killed = stopped = False
    after: list[int] = []
    for event in execute(open_session(api.load(file), tmp_path / "runs")):
        if event.kind == "progress" and killed:
            after.append(event.step)
        if event.kind == "progress" and event.step > 500 and not killed:
            ranks = [p for p in psutil.Process().children(recursive=True) if "paceline.execute.rank" in p.cmdline()]
            workers = [p for p in ranks if "torch.distributed.run" not in p.cmdline()]
            workers[-1].send_signal(signal.SIGKILL)
            killed = True
        elif len(after) > 1 and not stopped:
            for process in psutil.Process().children(recursive=True) if everyone else ():
                process.send_signal(signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            stopped = True
    assert killed
    assert min(after) > 0
    assert stopped
    assert standing(tmp_path / "runs" / "s") == {"interrupted": 1}
    api.run(api.load(file), out=tmp_path / "runs")
    assert standing(tmp_path / "runs" / "s") == {"done": 1}
    broken = rows(tmp_path / "runs" / "s").sort("step")
    api.run(api.load(write(tmp_path, {**said, "devices": 1}, name="whole")), out=tmp_path / "runs")
    expected = rows(tmp_path / "runs" / "whole").sort("step")
    assert broken["step"].to_list() == expected["step"].to_list() == list(range(0, 3001, 500))
    assert broken["loss"].to_list() == pytest.approx(expected["loss"].to_list(), rel=1e-9)


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


def test_data_that_is_not_there_ends_the_team_at_once(tmp_path):
    (tmp_path / "empty").mkdir()
    file = write(tmp_path, {**LONG, "data": "mnist", "steps": 3, "devices": 2})
    with pytest.raises(RecordError, match="mnist"):
        api.run(api.load(file), out=tmp_path / "runs", data=tmp_path / "empty")
