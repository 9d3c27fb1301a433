"""The Python API: what it trains, what it reads back, and what it says of results that are not those asked for."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import paceline
from paceline.api import plan
from paceline.errors import StudyError
from paceline.report.page import page

STUDY = """
name: own
question: Which rate?
base: {data: digits, model: mine:net, optimizer: gd, batch: 100, steps: 4, evaluate_every: 2}
tune: {lr: [0.1, 1.0]}
repeat: 1
scales:
  quick: {steps: 2}
"""
PHOTOS = """
name: photos
base: {data: {name: folder, path: photos, size: 8}, model: softmax, optimizer: gd, lr: 0.1, batch: 4, steps: 4}
"""
NET = (
    "from torch import nn\ndef net(input_shape, classes): return nn.Sequential(nn.Flatten(), nn.Linear(64, classes))\n"
)


@pytest.fixture
def file(study_file, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(NET)
    return study_file(STUDY, "own.yaml")


def edit(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_results_of_what_was_asked_for_need_no_note(file):
    assert paceline.run(file).notes == ()
    for asked in (file, "own", "runs/own", paceline.load(file)):
        assert paceline.results(asked).notes == ()
    edit(file, "repeat: 1", "repeat: 2  # seeds are counted in every sentence")
    assert paceline.results(file).notes == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [("steps: 4", "steps: 5"), ("[0.1, 1.0]", "[0.1]"), ("Which rate?", "Which?"), ("repeat: 1", "select: test")],
)
def test_a_file_that_was_edited_is_told_wherever_its_results_stand(file, old, new):
    paceline.run(file)
    edit(file, old, new)
    for found in (paceline.results(file), paceline.results(paceline.load(file))):
        (note,) = found.notes
        assert note.startswith(f"These are the results of {file} as it was last run. ")
        assert note in found.answer.text
        assert note in repr(found.answer)
        assert note in repr(found)
        assert note in found.answer.html_fragment()
        assert note in page(found.answer)


def test_a_record_asked_for_by_name_tells_that_its_file_has_other_settings_now(file):
    paceline.run(file)
    edit(file, "Which rate?", "Which?")
    assert paceline.results("own").notes == (), "words make no other results"
    edit(file, "steps: 4", "steps: 5")
    assert "as it was last run" in paceline.results("own").notes[0]
    file.write_text("name: another\n")
    assert paceline.results("own").notes == ()


def test_what_was_set_from_outside_is_told_to_who_asks_for_the_file(file):
    paceline.run(paceline.load(file, sets=["steps=3"]))
    (note,) = paceline.results(file).notes
    assert "as it was last run, with --set steps=3. By itself it says something else" in note
    assert paceline.results("own").notes == ()
    paceline.run(paceline.load(file, scale="quick"))
    assert paceline.results(file).notes == (), "the size stands above the sentences already"


def test_another_study_of_the_same_name_is_told_by_its_content(file, study_file):
    paceline.run(file)
    same = study_file(STUDY, "copy.yaml")
    other = study_file(STUDY.replace("steps: 4", "steps: 3"), "other.yaml")
    assert paceline.results(same).notes == ()
    assert paceline.results(other).notes == (f"These are the results of {file}, the last study of that name to run.",)
    assert "the last study of that name" in paceline.results(paceline.load(other)).notes[0]


def test_an_edited_model_is_told(file, tmp_path):
    study = paceline.load(file)
    paceline.run(study)
    (tmp_path / "mine.py").write_text(NET + "# changed\n")
    found = paceline.run(study)
    assert found.stale == 2
    assert found.notes == ("2 of these runs are stale: own parts, data or weights have changed since.",)
    (tmp_path / "mine.py").unlink()
    assert paceline.results("own").stale == 0


def test_images_left_out_and_images_changed_between_runs_are_told(study_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for place in range(24):
        kind = tmp_path / "photos" / ("dark" if place % 2 else "light")
        kind.mkdir(parents=True, exist_ok=True)
        Image.new("L", (8, 8), 30 * (place % 2) + place).save(kind / f"{place}.png")
    (tmp_path / "photos" / "dark" / "bad.png").write_text("no image")
    photos = study_file(PHOTOS, "photos.yaml")
    first = paceline.run(photos, seeds=1)
    assert first.notes == ()
    assert any(
        "photos, size=8): 1 corrupt image file was left out: dark/bad.png" in note for note in first.answer.notes
    )
    Image.new("L", (8, 8), 200).save(tmp_path / "photos" / "dark" / "1.png")
    stale, unlike = paceline.run(photos, seeds=2).notes
    assert stale == "1 of these runs are stale: own parts, data or weights have changed since."
    assert "photos, size=8) changed between runs: sha256:" in unlike


def test_run_takes_what_load_takes(file, capsys):
    found = paceline.run(file, sets={"lr": [0.5], "optimizer": "adam"}, seeds=2)
    assert (found.study.tune, found.study.base["optimizer"], found.study.repeat) == ({"lr": [0.5]}, "adam", 2)
    assert paceline.load(file, sets={"model": {"name": "mlp", "widths": [3]}}).base["model"]["widths"] == [3]
    assert paceline.load(file, sets=["steps=3"]).base["steps"] == 3
    with pytest.raises(StudyError, match="give them to load instead"):
        paceline.run(paceline.load(file), seeds=2)
    with pytest.raises(StudyError, match="or a mapping"):
        paceline.load(file, sets="lr=0.1")
    with pytest.raises(StudyError, match="change the mapping"):
        paceline.load({"name": "a"}, seeds=0)
    with pytest.raises(StudyError, match="True jobs; say a whole number"):
        paceline.run(file, jobs=True)
    with pytest.raises(StudyError, match="'2' jobs; say a whole number"):
        paceline.run(file, jobs="2")
    assert capsys.readouterr() == ("", ""), "nobody watches"


def test_a_mapping_may_have_numbers_of_numpy(tmp_path):
    said = {
        "name": "numbers",
        "base": {"data": "digits", "model": "softmax", "optimizer": "gd", "steps": np.int64(2)},
        "compare": {"lr": np.logspace(-2, -1, 2), "batch": list(np.arange(10, 30, 10))},
        "repeat": np.int64(2),
    }
    assert paceline.run(said, out=tmp_path).runs.height == 8
    assert paceline.results(said, out=tmp_path).runs.height == 8


def test_progress_is_shown_to_who_asks(file, capsys):
    paceline.run(file, seeds=1, jobs=1, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "own: 0 of 2 done." in err
    assert "2 of 2 done, 0 s left" in err


def test_plan_page_and_export(file, tmp_path):
    assert "2 runs: 2 settings (lr) x 1 seed" in plan(file)
    assert not Path("runs").exists()
    found = paceline.run(file)
    assert found.page() == found.folder / "report.html"
    assert "Which rate?" in found.page(tmp_path / "page.html").read_text()
    assert found.export("csv", tmp_path / "rows.csv") == f"6 rows in {tmp_path / 'rows.csv'}"
    with pytest.raises(StudyError, match=r"unknown format 'cvs'. Did you mean 'csv'\?"):
        found.export("cvs", tmp_path / "rows.cvs")


def test_an_answer_may_be_asked_for_with_a_target(file):
    found = paceline.run(file)
    assert found.answered(target=0.3).facts.target == 0.3
    with pytest.raises(StudyError, match="95 is no accuracy to reach"):
        found.answered(target=95)
