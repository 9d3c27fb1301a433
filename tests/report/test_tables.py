"""Result tables on records with known answers, and their five formats."""

import csv
import io
import json
import math

import polars as pl
import pytest

from paceline.plan.expand import expand
from paceline.record.reader import SCHEMA
from paceline.report.export import export
from paceline.report.formats import render
from paceline.report.results import join_rows, run_table, setting_table
from paceline.spec.document import parse
from paceline.spec.study import from_document

TEXT = """
name: known
base: {data: digits, model: softmax, steps: 10, optimizer: gd}
tune: {lr: [0.1, 1.0]}
repeat: 2
"""


@pytest.fixture
def known(tmp_path):
    """Two settings, two seeds; lr 1.0 is better on validation, worse on test."""
    study = from_document(parse(TEXT), tmp_path)
    trials = expand(study)
    rows = []
    for trial in trials:
        for step in (0, 10):
            better = trial.axes["lr"] == 1.0
            values = {"accuracy": 0.7 if better else 0.8, "validation_accuracy": 0.9 if better else 0.6, "loss": 1.0}
            values = {name: value + 0.02 * trial.run.seed for name, value in values.items()} if step else {}
            rows.append({"run": trial.id, "step": step, "lr": trial.axes["lr"], "nonfinite": False, **values})
    return study, trials, pl.DataFrame(rows, schema=SCHEMA)


def ended(runs: pl.DataFrame) -> pl.DataFrame:
    return runs.with_columns(status=pl.lit("done"))


def test_rows_come_with_case_axes_and_seed(known):
    _, trials, rows = known
    joined = join_rows(trials, rows)
    assert joined.columns[:4] == ["run", "case", "axis.lr", "seed"]
    assert joined.height == 8
    assert joined["axis.lr"].to_list() == joined["lr"].to_list()
    assert set(SCHEMA) <= set(joined.columns)


def test_means_are_means_and_order_is_by_validation(known):
    study, trials, rows = known
    table = setting_table(study, ended(run_table(trials, [], rows)))
    assert table["lr"].to_list() == [1.0, 0.1], "chosen on validation, though test says otherwise"
    assert table["accuracy"].to_list() == pytest.approx([0.71, 0.81])
    assert table["accuracy sd"].to_list() == pytest.approx([0.02 / math.sqrt(2)] * 2, rel=1e-4)
    assert table["done"].to_list() == [2, 2]
    by_test = setting_table(study.model_copy(update={"select": "test"}), ended(run_table(trials, [], rows)))
    assert by_test["lr"].to_list() == [0.1, 1.0]


def test_what_has_not_run_is_queued_and_a_diverged_run_has_no_value(known):
    study, trials, rows = known
    runs = run_table(trials, [], rows)
    assert runs["status"].to_list() == ["queued"] * 4
    half = runs.with_columns(status=pl.when(pl.col("seed") == 0).then(pl.lit("done")).otherwise(pl.lit("diverged")))
    table = setting_table(study, half)
    assert table["diverged"].to_list() == [1, 1]
    assert table["accuracy"].to_list() == pytest.approx([0.7, 0.8])
    assert table["accuracy sd"].to_list() == [None, None]


@pytest.fixture
def table() -> pl.DataFrame:
    return pl.DataFrame({"case": ["a_b", "50 %|x"], "n": [1, 2], "accuracy": [0.91234567, None]})


def test_formats(table):
    assert json.loads(render(table, "json"))[0] == {"case": "a_b", "n": 1, "accuracy": 0.91234567}
    assert list(csv.DictReader(io.StringIO(render(table, "csv"))))[1]["case"] == "50 %|x"
    assert render(table, "md").splitlines() == [
        "| case | n | accuracy |",
        "| --- | ---: | ---: |",
        "| a_b | 1 | 0.9123 |",
        "| 50 %\\|x | 2 | - |",
    ]
    latex = render(table, "latex")
    assert r"a\_b & 1 & 0.9123 \\" in latex
    assert r"50 \%|x & 2 & - \\" in latex
    text = render(table, "text", "A title").splitlines()
    assert text[0] == "A title"
    assert text[2].split() == ["a_b", "1", "0.9123"]


def test_exports_hold_every_row(known, tmp_path):
    _, trials, rows = known
    joined = join_rows(trials, rows)
    export(joined, "csv", tmp_path / "deep" / "rows.csv")
    export(joined, "parquet", tmp_path / "rows.parquet")
    assert pl.read_csv(tmp_path / "deep" / "rows.csv").height == 8
    assert pl.read_parquet(tmp_path / "rows.parquet").equals(joined)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_reads_what_was_exported(known, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, trials, rows = known
    export(join_rows(trials, rows), "tensorboard", tmp_path / "tb")
    folders = sorted(p.name for p in (tmp_path / "tb").iterdir())
    assert folders == ["lr=0.1,seed=0", "lr=0.1,seed=1", "lr=1.0,seed=0", "lr=1.0,seed=1"]
    events = EventAccumulator(str(tmp_path / "tb" / "lr=1.0,seed=1")).Reload()
    assert [(e.step, e.value) for e in events.Scalars("accuracy")] == [(10, pytest.approx(0.72))]


def test_an_axis_may_share_its_name_with_a_measured_column(tmp_path):
    study = from_document(
        parse(TEXT.replace("tune: {lr: [0.1, 1.0]}", "compare: {loss: [softmax_ce, mse], lr: [0.1]}")), tmp_path
    )
    trials = expand(study)
    rows = pl.DataFrame([{"run": t.id, "step": 10, "loss": 0.5, "accuracy": 0.9} for t in trials], schema=SCHEMA)
    table = setting_table(study, ended(run_table(trials, [], rows)))
    assert table["axis.loss"].to_list() == ["softmax_ce", "mse"]
    assert table["loss"].to_list() == [0.5, 0.5]
    assert join_rows(trials, rows)["axis.loss"].n_unique() == 2


def test_a_cell_of_several_lines_stays_one_row() -> None:
    table = pl.DataFrame({"run|id": ["a"], "reason": ["Error:\n  size mismatch | 3"]})
    assert render(table, "md", "Which\nfailed?").splitlines() == [
        "**Which failed?**",
        "",
        "| run\\|id | reason |",
        "| --- | --- |",
        "| a | Error: size mismatch \\| 3 |",
    ]
    assert "% Which failed?" in render(table, "latex", "Which\nfailed?")
