"""Runs that this machine cannot train are said and left; the others train."""

import pytest
import torch
from typer.testing import CliRunner

from paceline import api
from paceline.cli import app
from paceline.errors import DeviceError
from tests.execute.studies import SHORT, standing, write

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU has fp16")


def test_what_is_lacking_is_said_before_training_and_the_rest_is_trained(tmp_path):
    file = write(tmp_path, SHORT, compare={"precision": ["fp32", "fp16"]}, repeat=2)
    planned = api.plan(file, out=tmp_path / "runs")
    assert "To train: 2 runs" in planned
    assert "Left out here: 2 runs. precision: fp16" in planned
    done = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    assert "Left out here: 2 runs. precision: fp16, but a CPU has no fp16" in done.output
    assert done.output.index("Left out here") < done.output.index("Report:")
    assert "2 of 4 done" in done.output
    assert "2 are left for a machine that can train them" in done.output
    assert standing(tmp_path / "runs" / "s")["done"] == 2


def test_a_study_that_no_run_of_can_be_trained_is_refused(tmp_path):
    file = write(tmp_path, {**SHORT, "precision": "fp16"}, repeat=2)
    with pytest.raises(DeviceError, match="can train none of the 2 runs: precision: fp16"):
        api.run(api.load(file), out=tmp_path / "runs")


def test_they_stay_left_when_the_rest_is_done(tmp_path):
    file = write(tmp_path, SHORT, compare={"precision": ["fp32", "fp16"]})
    first = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "runs")])
    assert first.exit_code == 0
    again = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "runs")])
    assert again.exit_code == 0
    assert "Left out here: 1 run." in again.output
    assert "1 of 2 done" in again.output


def test_a_run_tells_where_its_time_went(tmp_path):
    from paceline.record.layout import StudyFolder
    from paceline.record.reader import read_packs
    from paceline.record.telemetry import read_telemetry

    study = api.load(write(tmp_path, SHORT, measure="time", repeat=2))
    api.run(study, out=tmp_path / "runs")
    folder = StudyFolder(tmp_path / "runs" / "s")
    packs = read_packs(folder)
    pairs = [(state.run, pack.folder.id) for pack in packs for state in pack.runs]
    found = read_telemetry(folder, pairs)
    assert found["run"].n_unique() == 2
    assert (found["forward"] > 0).all()
    details = packs[0].runs[0].details
    assert details["work"]["calls"] > 0
    assert details["probe"]["flops"] > 0
    assert details["telemetry_share"] < 0.1
