"""What a second `run` of a study finds and does: grown, shrunk, stale, failed, at the same time."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from paceline import api
from paceline.errors import RecordError, StudyError
from paceline.execute import checkpoints, datasets
from paceline.execute import session as sessions
from paceline.execute.session import Session, execute, open_session, set_stale_aside, unlike_data
from paceline.record.claim import Claim
from paceline.record.layout import StudyFolder, read_json
from paceline.record.reader import read_study

from .studies import SHORT, files, lines, rows, standing, write
from .zygote import Zygote

either_way = pytest.mark.parametrize("stack", [False, True], ids=["in a row", "stacked"])


def opened(file: Path, **said: Any) -> Session:
    return open_session(api.load(file), file.parent / "runs", **said)


def trained(session: Session, **said: Any) -> list[str]:
    """The runs that were begun."""
    begun = [event for event in execute(session, **said) if event.kind == "began"]
    return [run for event in begun for run in event.runs or (event.run,)]


def packs(record: Path) -> set[str]:
    return {file.parent.name for file in record.glob("*/pack.json")}


@pytest.mark.parametrize(
    ("base", "compare", "jobs"),
    [
        ({}, {}, (1,)),
        ({"device": "cpu"}, {}, (1, 4)),
        ({"device": "cpu"}, {"device": ["cpu", "cuda"]}, (1,)),
        ({}, {"device": ["cpu"]}, (1, 4)),
    ],
)
def test_runs_at_an_accelerator_go_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base: Any, compare: Any, jobs: tuple[int, ...]
) -> None:
    monkeypatch.setattr(sessions, "usable_cores", lambda: 4)
    monkeypatch.setattr(sessions, "accelerator", lambda: True)
    assert opened(write(tmp_path, {**SHORT, **base}, compare=compare)).jobs_said == jobs


@either_way
def test_a_study_is_trained_once(tmp_path: Path, stack: bool) -> None:
    file = write(tmp_path, SHORT, repeat=2, tune={"lr": [0.1, 0.2]})
    session = opened(file, stack=stack)
    assert session.standing() == {"queued": 4}
    assert sorted(trained(session)) == sorted(session.ids)
    again = opened(file)
    assert again.standing() == {"done": 4}
    assert again.missing() == again.missing(retry_failed=True) == set()
    assert list(execute(again)) == []


def test_the_study_is_kept_as_it_was_resolved(tmp_path: Path) -> None:
    study = api.load(write(tmp_path, SHORT), sets=["steps=4"], seeds=2)
    list(execute(open_session(study, tmp_path / "runs")))
    kept = read_study(StudyFolder(tmp_path / "runs" / "s"))
    assert (kept.base["steps"], kept.repeat, kept.folder) == (4, 2, tmp_path)
    assert (kept.scale, kept.changed, kept.part) == ("", "--set steps=4", False)


@either_way
def test_a_study_that_grew_trains_only_what_is_new(tmp_path: Path, stack: bool) -> None:
    record = tmp_path / "runs" / "s"
    first = trained(opened(write(tmp_path, SHORT, tune={"lr": [0.1, 0.2]}), stack=stack))
    before, old = rows(record), packs(record)
    stamps = {path: path.stat().st_mtime_ns for path in record.glob("*/*")}
    session = opened(write(tmp_path, SHORT, tune={"lr": [0.1, 0.15, 0.2, 0.3]}, repeat=2), stack=stack)
    second = trained(session)
    assert set(first).isdisjoint(second)
    assert set(first) | set(second) == session.ids
    assert len(second) == 6
    assert old < packs(record)
    assert rows(record).filter(rows(record)["run"].is_in(first)).equals(before)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_study_that_shrank_shows_less_and_loses_nothing(tmp_path: Path) -> None:
    record = tmp_path / "runs" / "s"
    wide, narrow = {"lr": [0.1, 0.2, 0.3]}, {"lr": [0.2]}
    trained(opened(write(tmp_path, SHORT, tune=wide)))
    before = rows(record)
    session = opened(write(tmp_path, SHORT, tune=narrow))
    assert trained(session) == []
    assert session.standing() == {"done": 1}
    assert api.results("s", out=tmp_path / "runs").runs.height == 1
    assert rows(record).equals(before)
    assert trained(opened(write(tmp_path, SHORT, tune=wide))) == []


def test_a_shrunk_study_leaves_the_unfinished_runs_of_a_kept_pack_alone(tmp_path: Path) -> None:
    record = tmp_path / "runs" / "s"
    file = write(tmp_path, SHORT, tune={"lr": [0.1, 0.2, 0.3]})
    begun = execute(opened(file, stack=False))
    next(event for event in begun if event.kind == "ended")
    begun.close()  # type: ignore[attr-defined]
    narrowed = opened(write(tmp_path, SHORT, tune={"lr": [0.3]}))
    assert set(trained(narrowed)) == narrowed.ids
    assert standing(record) == {"done": 2, "queued": 1}
    assert len(packs(record)) == 1


def test_two_cases_that_say_the_same_share_one_run(tmp_path: Path) -> None:
    file = write(tmp_path, SHORT, cases={"plain": {}, "said": {"batch": 20}, "other": {"batch": 10}})
    session = opened(file)
    assert len(session.trials) == 3
    assert len(trained(session)) == 2
    found = api.results("s", out=tmp_path / "runs")
    assert found.runs.select("case", "status").rows() == [("plain", "done"), ("said", "done"), ("other", "done")]


@either_way
def test_a_failed_run_is_tried_again_only_when_asked(tmp_path: Path, stack: bool) -> None:
    (tmp_path / "own_of_test_session.py").write_text(
        "import os\n"
        "def loss(outputs, targets):\n"
        "    if 'HARMLESS' not in os.environ: raise RuntimeError('no')\n"
        "    return outputs.square().mean()\n"
    )
    file = write(tmp_path, {**SHORT, "loss": "own_of_test_session:loss"}, repeat=2)
    assert len(trained(opened(file, stack=stack))) == 2
    assert opened(file).standing() == {"failed": 2}
    assert trained(opened(file)) == []
    os.environ["HARMLESS"] = "1"
    try:
        assert len(trained(opened(file), retry_failed=True)) == 2
    finally:
        del os.environ["HARMLESS"]
    assert opened(file).standing() == {"done": 2}


SOURCE = "def {name}(outputs, targets):\n    return (outputs - 1).square().mean()\n"


def test_stale_runs_are_reported_and_redone_on_request(tmp_path: Path, paceline: Zygote) -> None:
    own = tmp_path / "stale_of_test_session.py"
    own.write_text(SOURCE.format(name="mine"))
    file = write(tmp_path, SHORT, cases={"plain": {}, "own": {"loss": "stale_of_test_session:mine"}})
    command, record = ("run", file, "--out", tmp_path / "runs"), tmp_path / "runs" / "s"
    assert paceline(*command).wait() == 0
    before = rows(record)
    assert opened(file).stale == frozenset()

    own.write_text(SOURCE.format(name="mine").replace("mean", "sum"))
    (stale,) = opened(file).stale
    assert paceline(*command).wait() == 0
    assert rows(record).equals(before)

    assert paceline(*command, "--redo-stale").wait() == 0
    assert opened(file).stale == frozenset()
    changed = rows(record).filter(rows(record)["run"] == stale)
    assert changed.height == before.filter(before["run"] == stale).height
    assert not changed.equals(before.filter(before["run"] == stale))
    (aside,) = (record / ".replaced").iterdir()
    assert {path.name for path in aside.iterdir()} == {
        "pack.json",
        "machine.json",
        "rows.jsonl",
        "examined.jsonl",
        "telemetry.jsonl",
        "status.json",
    }


def test_staleness_is_of_a_run_not_of_its_pack(tmp_path: Path) -> None:
    """A pack half trained by yesterday's source and half by today's."""
    own = tmp_path / "halves_of_test_session.py"
    own.write_text(SOURCE.format(name="mine"))
    file = write(tmp_path, {**SHORT, "loss": "halves_of_test_session:mine"}, repeat=2)
    begun = execute(opened(file, stack=False))
    first = next(event.run for event in begun if event.kind == "ended")
    begun.close()  # type: ignore[attr-defined]
    own.write_text(SOURCE.format(name="mine") + "# changed\n")
    assert len(trained(opened(file))) == 1
    assert len(packs(tmp_path / "runs" / "s")) == 1
    assert opened(file).stale == {first}


@either_way
def test_where_runs_go_on_that_were_broken_off(tmp_path: Path, stack: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    file = write(tmp_path, {**SHORT, "steps": 400, "evaluate_every": 100}, repeat=2)
    assert opened(file, stack=stack).steps_kept == {}
    events = execute(opened(file, stack=stack))
    step = next(event.step for event in events if event.kind == "progress")
    events.close()  # type: ignore[attr-defined]
    kept = opened(file, stack=stack).steps_kept
    assert (len(kept), set(kept.values())) == (2 if stack else 1, {step})
    again = execute(opened(file, stack=stack))
    next(event for event in again if event.kind == "began")
    again.close()  # type: ignore[attr-defined]
    assert opened(file, stack=stack).steps_kept == kept, "killed before it went on"
    for checkpoint in tmp_path.glob("runs/s/*/checkpoint"):
        checkpoint.unlink()
    assert opened(file, stack=stack).steps_kept == {}, "they start anew"


READS = """
from pathlib import Path
import numpy as np

def load(path="", rows=60):
    table = np.loadtxt(path or Path(__file__).parent / "measured" / "table.csv", delimiter=",")
    x, y = table[:, :4], table[:, 4].astype(int)
    return x[:rows], y[:rows], x[rows:], y[rows:]
"""


def table(file: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    file.parent.mkdir(exist_ok=True)
    np.savetxt(file, np.hstack([draw.random((80, 4)), draw.integers(0, 3, (80, 1))]), delimiter=",")


@either_way
@pytest.mark.parametrize("said", [{}, {"path": "other.csv"}], ids=["in the source", "in the study"])
def test_runs_are_stale_when_the_file_of_their_data_changed(tmp_path: Path, stack: bool, said: dict[str, str]) -> None:
    (tmp_path / "reads_of_test_session.py").write_text(READS)
    said = {key: str(tmp_path / name) for key, name in said.items()}
    read = Path(said.get("path", tmp_path / "measured" / "table.csv"))
    table(read, 1)
    data = {"name": "reads_of_test_session:load", **said}
    trained(opened(write(tmp_path, {**SHORT, "data": data}, repeat=2), stack=stack))
    assert opened(tmp_path / "s.yaml").stale == frozenset()
    read.touch()
    assert opened(tmp_path / "s.yaml").stale == frozenset(), "what it holds is the same"
    table(read, 2)
    datasets._datasets.clear()
    session = opened(write(tmp_path, {**SHORT, "data": data}, repeat=3), stack=stack)
    before = set(session.runs)
    assert (session.stale, len(before)) == (before, 2)
    assert unlike_data(session.trials, session.runs) == []
    trained(session)
    session = opened(tmp_path / "s.yaml")
    assert session.stale == before
    (note,) = unlike_data(session.trials, session.runs)
    assert re.search(r"reads_of_test_session:load.* changed between runs: sha256:\w{12} in 2, sha256:\w{12} in 1", note)
    set_stale_aside(session)
    trained(opened(tmp_path / "s.yaml", stack=stack))
    session = opened(tmp_path / "s.yaml")
    assert (session.stale, unlike_data(session.trials, session.runs)) == (frozenset(), [])


def test_runs_are_stale_when_a_folder_of_images_changed(tmp_path: Path) -> None:
    for number in range(20):
        place = tmp_path / "photos" / "ab"[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number, 0, 0)).save(place / f"{number}.png")
    data = {"name": "folder", "path": str(tmp_path / "photos"), "size": 8}
    file = write(tmp_path, {**SHORT, "data": data, "batch": 4})
    (run,) = trained(opened(file))
    assert opened(file).stale == frozenset()
    Image.new("RGB", (8, 8), (0, 200, 0)).save(tmp_path / "photos" / "a" / "0.png")
    assert opened(file).stale == {run}
    (tmp_path / "photos").rename(tmp_path / "elsewhere")
    assert opened(file).stale == frozenset(), "nothing is known of them here"


def test_a_pack_that_is_being_trained_is_not_set_aside(tmp_path: Path) -> None:
    own = tmp_path / "busy_of_test_session.py"
    own.write_text(SOURCE.format(name="mine"))
    file = write(tmp_path, {**SHORT, "loss": "busy_of_test_session:mine"})
    trained(opened(file))
    own.write_text(SOURCE.format(name="mine") + "# changed\n")
    session = opened(file)
    with Claim(session.packs[0].folder.claim), pytest.raises(RecordError, match="being trained by another process"):
        set_stale_aside(session)
    assert packs(tmp_path / "runs" / "s")


def test_two_at_once_train_each_pack_once(tmp_path: Path, paceline: Zygote) -> None:
    """Time asks for a pack a run: 12 packs that two processes go through."""
    file = write(tmp_path, {**SHORT, "steps": 60}, repeat=12, measure="time")
    record = tmp_path / "runs" / "s"
    both = [paceline("run", file, "--out", tmp_path / "runs") for _ in range(2)]
    assert {child.wait() for child in both} <= {0, 130}
    assert standing(record) == {"done": 12}
    assert len(packs(record)) == 12
    assert lines(record) == rows(record).height
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}


def test_two_at_once_train_each_stack_once(tmp_path: Path, paceline: Zygote) -> None:
    file = write(
        tmp_path, {**SHORT, "steps": 60}, tune={"lr": [0.1, 0.2]}, compare={"batch": [5, 10, 15, 20]}, repeat=4
    )
    record = tmp_path / "runs" / "s"
    both = [paceline("run", file, "--out", tmp_path / "runs", "--stack") for _ in range(2)]
    assert {child.wait() for child in both} <= {0, 130}
    assert standing(record) == {"done": 32}
    assert len(packs(record)) == 4
    assert lines(record) == rows(record).height
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}


@either_way
def test_two_that_would_pack_unlike_agree_on_the_packs(tmp_path: Path, stack: bool) -> None:
    """Both have planned before either has written; the second takes the packs of the first."""
    file = write(tmp_path, SHORT, tune={"lr": [0.1, 0.2]}, repeat=2)
    first = opened(file, stack=stack)
    second = opened(write(tmp_path, SHORT, tune={"lr": [0.2, 0.1, 0.3]}, repeat=2), stack=stack)
    events = execute(first)
    next(events)
    begun = trained(second)
    assert len(begun) == 2
    events.close()  # type: ignore[attr-defined]
    assert len(trained(second)) == 4
    assert len(packs(tmp_path / "runs" / "s")) == 2
    members = [entry["run"] for pack in second.folder.packs() for entry in read_json(pack.pack)["runs"]]
    assert sorted(members) == sorted(second.ids)


def test_a_pack_file_that_was_deleted_is_written_again_and_its_rows_are_found(tmp_path: Path) -> None:
    file = write(tmp_path, SHORT, repeat=2)
    trained(opened(file))
    before = rows(tmp_path / "runs" / "s")
    (pack,) = (tmp_path / "runs" / "s").glob("*/pack.json")
    pack.unlink()
    assert trained(opened(file)) == []
    assert rows(tmp_path / "runs" / "s").equals(before)


def test_a_pack_folder_that_was_deleted_is_trained_again(tmp_path: Path) -> None:
    file = write(tmp_path, SHORT)
    trained(opened(file))
    (pack,) = opened(file).packs
    for path in pack.folder.path.iterdir():
        path.unlink()
    pack.folder.path.rmdir()
    assert len(trained(opened(file))) == 1


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_are_counted_from_one(tmp_path: Path, jobs: int) -> None:
    with pytest.raises(StudyError, match="jobs"):
        opened(write(tmp_path, SHORT), jobs=jobs)


def test_a_study_of_time_has_one_job_and_no_stack(tmp_path: Path) -> None:
    file = write(tmp_path, SHORT, measure="time", repeat=3)
    with pytest.raises(StudyError, match="one run at a time; leave --jobs out"):
        opened(file, jobs=2)
    with pytest.raises(StudyError, match="one run at a time; leave --stack out"):
        opened(file, stack=True)
    session = opened(file, jobs=1)
    assert session.jobs == 1
    assert [(pack.stacked, len(pack.trials)) for pack in session.new_packs(session.missing())] == [(False, 1)] * 3


def test_diverged_is_an_end(tmp_path: Path) -> None:
    file = write(tmp_path, {**SHORT, "data": "line", "model": "line", "loss": "mse", "lr": 1e30, "steps": 50})
    trained(opened(file))
    assert opened(file).standing() == {"diverged": 1}
    assert trained(opened(file), retry_failed=True) == []
    (status,) = (tmp_path / "runs" / "s").glob("*/status.json")
    assert "not finite" in json.loads(status.read_text())["runs"][next(iter(opened(file).ids))]["reason"]


def test_runs_that_wait_in_a_pack_of_another_process_are_with_it(tmp_path: Path) -> None:
    file = write(tmp_path, SHORT, repeat=3)
    session = opened(file, stack=False, jobs=1)
    trained(session)
    for pack in opened(file).packs:
        pack.folder.status.unlink()
    again = opened(file)
    assert again.with_others() == 0
    with Claim(again.packs[0].folder.claim):
        assert again.with_others() == len(again.packs[0].runs)
