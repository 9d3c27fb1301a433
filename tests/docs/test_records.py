"""The records that the gallery is written from: what is packed is what was measured."""

import json
import runpy

import pytest

import paceline
from paceline.record.layout import StudyFolder
from tests.docs.pages import ROOT

RECORDS = runpy.run_path(str(ROOT / "docs" / "records.py"))
ENDED = ["done", "diverged", "failed"]


def test_what_is_unpacked_has_the_same_results(tmp_path, monkeypatch):
    study = {"name": "small", "base": {"data": "digits", "model": "softmax", "optimizer": "gd", "lr": 0.1, "steps": 4}}
    found = paceline.run(study, out=tmp_path / "runs")
    monkeypatch.setitem(RECORDS["archive"].__globals__, "FOLDER", tmp_path / "records")
    RECORDS["pack"](StudyFolder(tmp_path / "runs" / "small"))
    assert RECORDS["kept"]() == ["small"]
    RECORDS["unpack"]("small", tmp_path / "again")
    again = paceline.results("small", out=tmp_path / "again")
    assert again.rows.equals(found.rows)
    assert again.answer.text == found.answer.text


@pytest.mark.parametrize(("measure", "timing"), [("accuracy", "shared"), ("time", "exclusive")])
def test_only_studies_of_time_are_kept_as_timed_alone(measure, timing, tmp_path, monkeypatch):
    base = {"data": "digits", "model": "softmax", "optimizer": "gd", "lr": 0.1, "steps": 4}
    paceline.run({"name": "small", "base": base, "measure": measure}, out=tmp_path / "runs", jobs=1, stack=False)
    status = next((tmp_path / "runs" / "small").glob("*/status.json"))
    status.write_text(status.read_text().replace('"shared"', '"exclusive"'))
    monkeypatch.setitem(RECORDS["archive"].__globals__, "FOLDER", tmp_path / "records")
    RECORDS["pack"](StudyFolder(tmp_path / "runs" / "small"))
    RECORDS["unpack"]("small", tmp_path / "again")
    assert set(paceline.results("small", out=tmp_path / "again").runs["timing"]) == {timing}


@pytest.mark.parametrize("study", RECORDS["kept"]())
def test_the_page_has_all_that_is_kept(study, tmp_path):
    RECORDS["unpack"](study, tmp_path)
    said = json.loads((ROOT / "docs" / "gallery" / f"{study}.json").read_text())
    runs = paceline.results(study, out=tmp_path).runs.unique("run")
    assert [runs["status"].is_in(ENDED).sum(), runs.height] == said["runs"]
