"""A study that was run at a smaller size says so wherever its figures stand."""

import json
from pathlib import Path

import polars as pl
import pytest

from paceline.api import load, results, run
from paceline.report.answer import answer
from paceline.report.figures import latex
from paceline.report.formats import render
from paceline.report.names import size, titled
from paceline.report.page import page

from .recorded import DIGITS, learning, made

SAID = "This is the size 'quick', not the full study."
STUDY = """
name: sized
question: Which?
base: {data: digits, model: softmax, optimizer: gd, steps: 20}
compare: {lr: [0.1, 1.0]}
repeat: 1
scales: {quick: {steps: 3}}
published: {source: A report, rows: [{lr: 0.1, accuracy: 0.5}], findings: [one]}
"""


def test_tables_page_and_text_say_it():
    found = answer(made(DIGITS + "published: [{optimizer: adam, accuracy: 0.9}]", learning, scale="quick"))
    assert found.text.startswith(SAID)
    assert len(found.sentences) == 3
    html = page(found).replace("&#x27;", "'")
    assert f"<p>{SAID}</p>" in html
    best, published = (next(s for s in found.sheets if s.key == key) for key in ("best", "published"))
    assert best.title.endswith("(size 'quick')")
    assert best.note.startswith(SAID)
    assert published.note.startswith(f"{SAID} What was published is of the full one.")
    assert SAID in latex(published)
    assert titled(found.study) == f"Which is best? {SAID}"


def test_the_full_study_says_nothing():
    found = answer(made(DIGITS, learning))
    assert size(found.study) == ""
    assert titled(found.study) == "Which is best?"
    assert "not the full study" not in page(found)


def test_findings_of_the_source_stand_beside_the_size():
    found = answer(made(DIGITS + "published: {source: A report, findings: [adam wins]}", learning, scale="quick"))
    assert f"A report. {SAID}" in page(found).replace("&#x27;", "'")


@pytest.mark.parametrize(("form", "begins"), [("md", f"**{SAID}**"), ("latex", f"% {SAID}"), ("csv", "x")])
def test_formats(form: str, begins: str):
    assert render(pl.DataFrame({"x": [1]}), form, SAID).startswith(begins)


def test_the_record_keeps_the_size_until_the_full_study_runs(tmp_path: Path):
    file = tmp_path / "sized.yaml"
    file.write_text(STUDY)
    small = run(load(file, scale="quick"), out=tmp_path / "runs")
    assert json.loads((small.folder / "study.json").read_text())["scale"] == "quick"
    assert results("sized", out=tmp_path / "runs").answer.text.startswith(SAID)
    full = run(load(file), out=tmp_path / "runs")
    assert full.study.scale == ""
    assert SAID not in full.answer.text
