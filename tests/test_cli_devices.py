"""Several devices as a user has them: run, reported, predicted, all from one record by real processes."""

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from paceline import cache
from paceline.cli import app
from paceline.execute import anatomy
from paceline.record.layout import StudyFolder
from paceline.record.reader import read_packs, read_rows, states

DATA = "{name: synthetic, examples: 600, validation: 100, test: 200, shape: [16], classes: 4}"
DEVICES = f"""
name: devices
question: What do two devices gain?
base: {{data: {DATA}, model: softmax, optimizer: gd, lr: 0.5, batch: 64, epochs: 3, device: cpu, precision: fp64}}
compare: {{devices: [1, 2]}}
repeat: 1
measure: time
"""


def call(*words: Any) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("devices")


@pytest.fixture(scope="module")
def ran(room: Path) -> str:
    (room / "devices.yaml").write_text(DEVICES)
    done = call("run", room / "devices.yaml", "--out", room)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def predicted(room: Path, ran: str) -> str:
    """With a cache of its own, so that what it holds of a step was measured here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(room / "cache"))
        done = call("predict", "devices", "--devices", "4,16", "--target", "0.5", "--out", room)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_gain_is_said(ran):
    assert "2 devices train " in ran
    assert "of 1 device (one repetition, so no interval; efficiency " in ran


def test_two_record_what_one_does_and_how_long_it_took(ran, room):
    packs = read_packs(StudyFolder(room / "devices"))
    known = {entry["run"]: entry["config"].get("devices", 1) for pack in packs for entry in pack.pack["runs"]}
    found = {known[run]: state.details for run, state in states(packs).items()}
    assert {of["status"] for of in found.values()} == {"done"}
    assert found[2]["turnaround_seconds"] > 1
    assert (found[2]["devices"], found[2]["hosts"]) == (2, 1)
    assert found[2]["sent_bytes"] > 0
    table = read_rows(packs).sort("step")
    assert table["step"].unique().len() == 4
    for _, (one, two) in table.group_by("step").agg("loss").iter_rows():
        assert one == pytest.approx(two, rel=1e-9)
    crowded = len(os.sched_getaffinity(0)) < 2
    assert found[2]["timing"] == ("oversubscribed" if crowded else found[1]["timing"])


def test_shares_of_the_time_and_costs_are_reported(ran, room):
    figures = room / "figures"
    done = call("report", "devices", "--target", "0.5", "--price", "2.5", "--figures", figures, "--out", room)
    assert done.exit_code == 0, done.output
    assert "Soonest at accuracy 0.5 by strong scaling" in done.output
    measured = pl.read_csv(figures / "devices.csv")
    assert measured["devices"].to_list() == [1, 2]
    shares = [name for name in measured.columns if name.endswith(" %") and name != "imbalance %"]
    assert measured.select(pl.sum_horizontal(shares)).to_series().to_list() == pytest.approx([100, 100], abs=0.5)
    assert measured["exposed communication %"].to_list()[0] == 0
    assert measured["exposed communication %"].to_list()[1] > 0
    assert measured["sent an update"].to_list()[1].endswith("B")
    assert pl.read_csv(figures / "cost.csv")["cost"].min() > 0
    assert (figures / "speedup.png").exists()


def test_more_devices_are_predicted(predicted):
    assert "Held-out check: none" in predicted
    assert "Time to accuracy 0.5" in predicted


def test_a_team_of_two_measured_a_step_for_the_mechanism(predicted, room):
    (file,) = (room / "cache").rglob("anatomies-*.json")
    (found,) = json.loads(file.read_text()).values()
    alone, (*together,) = found["alone"], found["together"]
    assert alone["batch"] == 64
    assert [work["batch"] for work in together] == [32, 4]
    assert sorted(alone["gradient_bytes"]) == [4 * 8, 16 * 4 * 8]
    assert all(work["gradient_bytes"] == alone["gradient_bytes"] for work in together)
    assert found["costs"]["on_cores"]
    assert found["costs"]["call_seconds"] + found["costs"]["seconds_per_byte"] > 0


def test_predictions_in_another_format_are_a_table_with_notes(ran, room):
    done = call("predict", "devices", "--devices", "4,16", "--format", "json", "--out", room)
    assert [line["devices"] for line in json.loads(done.stdout)] == [4, 16]
    assert "Note: strong scaling" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--devices", "4,x"], "'x' is no number of devices"), (["--devices", "4", "--price", "0"], "0.0 is no price")],
)
def test_what_cannot_be_predicted_is_refused(ran, room, words, message):
    assert message in str(call("predict", "devices", *words, "--out", room).exception)


def test_the_mechanism_does_without_runs_on_several_devices(predicted, room, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(room / "cache"))
    text = DEVICES.replace("name: devices", "name: alone").replace("compare: {devices: [1, 2]}", "")
    (room / "alone.yaml").write_text(text)
    assert call("run", room / "alone.yaml", "--out", room).exit_code == 0
    kept = cache.recent(anatomy._file(), anatomy.Anatomy.of)  # of the same step, by the study above
    measured = next(iter(kept.values()))
    monkeypatch.setattr(anatomy, "anatomy", lambda *run, **where: measured)
    done = call("predict", "alone", "--devices", "16", "--mechanism", "--out", room)
    assert done.exit_code == 0, done.output
    assert "Nothing is fitted: alone: no setting of it was trained by two numbers of devices" in done.stdout
    assert "Check" in done.stdout.partition("Nothing is fitted")[2], "by those on one device"
    refused = call("predict", "alone", "--devices", "4", "--out", room)
    assert "no setting of it was trained by two numbers of devices" in str(refused.exception)
