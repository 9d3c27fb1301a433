"""Models side by side: seconds an epoch where they may be shown, accuracy, memory where it is known."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from paceline.plan.expand import expand
from paceline.record.layout import PackFolder
from paceline.record.reader import SCHEMA, PackState, RunState
from paceline.report.answer import answer
from paceline.report.results import run_table
from paceline.spec.document import parse
from paceline.spec.study import from_document

from .recorded import DIGITS, Made, learning, made

AXIS = """
name: models
base: {data: digits, optimizer: adam, lr: 0.01, epochs: 10}
compare: {model: [softmax, {name: mlp, widths: [8]}]}
repeat: 2
"""
CASES = AXIS.replace(
    "compare: {model: [softmax, {name: mlp, widths: [8]}]}", "cases: {a: {model: softmax}, b: {model: mlp}}"
)


def slow(trial, step):
    return learning(trial, step) | {"seconds": step / (10 if trial.run.model.name == "softmax" else 1)}


def table(found: Made) -> pl.DataFrame:
    return answer(found).table("models").sort("seconds per epoch")


def test_seconds_are_those_of_an_epoch():
    found = table(made(AXIS, slow))
    assert found.columns == ["model", "seconds per epoch", "accuracy", "low", "high", "n"]
    assert found["model"].to_list() == ["softmax", "mlp(widths=[8])"]
    assert found["seconds per epoch"].to_list() == pytest.approx([1.0, 10.0])


def test_cases_that_differ_in_their_model():
    found = table(made(CASES, slow))
    assert found.columns[:2] == ["model", "case"]
    assert found.select("model", "case").rows() == [("softmax", "a"), ("mlp", "b")]


def test_steps_are_counted_in_epochs_by_the_size_of_the_data():
    found = table(made(AXIS.replace("epochs: 10", "steps: 100"), slow))
    epochs = 1000 / (1797 - 300 - 360)
    assert found["seconds per epoch"].to_list() == pytest.approx([10 / epochs, 100 / epochs])


def test_what_batches_share_is_seen_once_an_epoch():
    text = AXIS.replace("epochs: 10", "steps: 100").replace("base: {", "base: {order: file, overlap: 0.5, ")
    epochs = 1000 / 2 / (1797 - 300 - 360)
    assert table(made(text, slow))["seconds per epoch"].to_list() == pytest.approx([10 / epochs, 100 / epochs])


def test_seconds_that_others_slowed_are_blank_and_the_note_says_why():
    shared = answer(made(AXIS, slow, timing="stacked"))
    assert shared.table("models")["seconds per epoch"].to_list() == [None, None]
    note = next(sheet.note for sheet in shared.sheets if sheet.key == "models")
    assert "blank where a run was timed stacked, not exclusive" in note


def test_memory_where_it_was_measured():
    known = made(AXIS, slow)
    peak = pl.when(pl.col("seed") == 0).then(2**30).otherwise(2**31)
    found = table(replace(known, runs=known.runs.with_columns(peak_bytes=peak, memory_bytes=2**33)))
    assert found["memory GB"].to_list() == [2.0, 2.0]
    assert found["memory %"].to_list() == [25.0, 25.0]


@pytest.mark.parametrize("text", [DIGITS, CASES.replace("model: mlp", "lr: 1, model: softmax")])
def test_one_model_is_no_table(text: str):
    assert "models" not in [sheet.key for sheet in answer(made(text, learning)).sheets]


def test_memory_comes_from_the_status_of_a_run(tmp_path: Path):
    study = from_document(parse(AXIS), tmp_path)
    trials = expand(study)
    folder = PackFolder(tmp_path / "p")
    details = {"status": "done", "peak_bytes": 5, "memory_bytes": 50}
    states = (RunState(trials[0].id, folder, "done", details), RunState(trials[1].id, folder, "done", {}))
    rows = pl.DataFrame(schema=SCHEMA)
    runs = run_table(trials, [PackState(folder, {}, states)], rows)
    assert runs["peak_bytes"].to_list()[:3] == [5, None, None]
    assert runs["memory_bytes"][0] == 50
    assert "peak_bytes" not in run_table(trials, [], rows).columns
