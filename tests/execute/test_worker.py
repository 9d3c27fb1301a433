"""The worker's work in this process, and the worker as a process of its own."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from paceline import api
from paceline.data.picture import png
from paceline.errors import RecordError
from paceline.execute import checkpoints, datasets
from paceline.execute.events import Event
from paceline.execute.job import Job
from paceline.execute.waiting import missing, runs_of
from paceline.execute.worker import work
from paceline.record.claim import Claim
from paceline.record.examined import read_examined
from paceline.record.layout import StudyFolder, read_json, write_json
from paceline.record.machine import read_machine

from .studies import ENDLESS, SHORT, after, files, job, lines, never, prepare, rows, standing, statuses, write
from .zygote import until


def test_a_job_crosses_a_pipe() -> None:
    told = Job(Path("/a"), Path("/b é"), None, 2, "shared", frozenset({"x", "y"}), retry_failed=True)
    assert Job.loads(told.dumps()) == told
    assert Job.loads(replace(told, data=Path("/d")).dumps()).data == Path("/d")
    assert "\n" not in told.dumps()


def test_what_is_told_of_a_pack(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, SHORT, repeat=2)
    told = list(work(pack, job(record, tmp_path), never))
    ended = [event for event in told if event.kind == "ended"]
    assert [event.kind for event in told if event.kind != "progress"] == ["began", "ended"] * 2
    assert [(e.status, e.step, e.row["step"]) for e in ended if e.row] == [("done", 6, 6)] * 2
    assert standing(record) == {"done": 2}
    assert list(work(pack, job(record, tmp_path), never)) == []


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stopped_at_any_pauses_it_goes_on_to_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, stops: list[int]
) -> None:
    base = {**SHORT, "steps": 20, "optimizer": "adam", "early_stop": {"patience": 3}}
    place = tmp_path_factory.mktemp("s")
    pack, record = prepare(place, base, repeat=2)
    for pauses in stops:
        list(work(pack, job(record, place), after(pauses)))
    list(work(pack, job(record, place), never))
    api.run(place / "s.yaml", out=place / "whole", stack=False)
    assert rows(record).equals(rows(place / "whole" / "s"))
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}


def test_mistakes_are_pictured_from_the_data_of_their_run(tmp_path: Path) -> None:
    """Two sets in one pack, of each the same test examples wrong."""
    pictures = {"name": "synthetic", "examples": 60, "test": 12, "shape": [1, 4, 4], "classes": 3, "noise": 5.0}
    cases = {"one": {}, "two": {"data": {**pictures, "seed": 1}}}
    pack, record = prepare(tmp_path, {**SHORT, "data": pictures, "lr": 1e-9}, cases=cases)
    told = job(record, tmp_path)
    list(work(pack, told, never))
    found = read_examined(StudyFolder(record), [(run, pack) for run in told.wanted])
    wrong = [{mistake.index for mistake in each.worst} for each in found.values()]
    assert set.intersection(*wrong)
    for name, run in runs_of(StudyFolder(record).pack(pack)):
        examples = datasets.dataset(run, told).test.x
        assert all(mistake.png == png(examples[mistake.index]) for mistake in found[name].worst)


@pytest.mark.parametrize("stack", [False, True])
def test_notes_on_the_data_are_told_and_kept(tmp_path: Path, stack: bool) -> None:
    for number in range(40):
        place = tmp_path / "photos" / "ab"[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (number, 0, 0)).save(place / f"{number}.png")
    (tmp_path / "photos" / "a" / "0.png").write_bytes(b"rubbish")
    data = {"name": "folder", "path": str(tmp_path / "photos"), "size": 8}
    pack, record = prepare(tmp_path, {**SHORT, "data": data, "batch": 4}, stack=stack, repeat=1 + stack)
    told = list(work(pack, job(record, tmp_path), never))
    assert any(event.runs for event in told) is stack
    (note,) = {event.reason for event in told if event.kind == "note"}
    assert "1 corrupt image file was left out:\n  a/0.png: " in note
    ((name, kept),) = read_machine(StudyFolder(record).pack(pack))["notes"].items()
    assert name.startswith("folder(path=")
    assert note.endswith(kept[0])


def test_a_pack_that_somebody_has_is_skipped(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, SHORT)
    with Claim(StudyFolder(record).pack(pack).claim):
        assert list(work(pack, job(record, tmp_path), never)) == [Event("skipped", pack)]
    assert lines(record) == 0


def test_only_what_is_wanted_is_trained_and_what_failed_only_on_request(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, SHORT, repeat=3)
    told = job(record, tmp_path)
    first, second, third = (entry["run"] for entry in read_json(StudyFolder(record).pack(pack).pack)["runs"])
    write_json(
        StudyFolder(record).pack(pack).status,
        {"format": 1, "runs": {second: {"status": "failed"}, third: {"status": "interrupted"}}},
    )
    list(work(pack, replace(told, wanted=frozenset({second, third})), never))
    assert {run: s["status"] for run, s in statuses(record, pack).items()} == {second: "failed", third: "done"}
    list(work(pack, replace(told, wanted=frozenset({second}), retry_failed=True), never))
    assert statuses(record, pack)[second]["status"] == "done"
    assert first not in statuses(record, pack)


def test_what_failed_comes_after_what_was_broken_off_for_a_pack_has_one_checkpoint(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, SHORT, repeat=3)
    folder = StudyFolder(record).pack(pack)
    first, second, third = (entry["run"] for entry in read_json(folder.pack)["runs"])
    write_json(folder.status, {"format": 1, "runs": {first: {"status": "failed"}, second: {"status": "interrupted"}}})
    told = replace(job(record, tmp_path), retry_failed=True)
    assert [name for name, _ in missing(folder, told)] == [second, third, first]


OWN = """
import sys
from torch import nn

class Own(nn.Module):
    def __init__(self, input_shape, outputs, *, fault=""):
        super().__init__()
        self.layer, self.fault = nn.Linear(input_shape[0], outputs), fault
    def forward(self, x):
        if self.fault == "raise" and self.training:
            raise ArithmeticError("on purpose")
        if self.fault == "exit" and self.training:
            sys.exit(5)
        return self.layer(x)
    def extras(self):
        return {"step": 1.0} if self.fault == "shadow" else {"weight": 2, "flag": True}
"""


def test_a_run_that_fails_keeps_its_traceback_and_the_next_one_trains(tmp_path: Path) -> None:
    (tmp_path / "own_of_test_worker.py").write_text(OWN)
    base = {**SHORT, "model": "own_of_test_worker:Own"}
    file = write(tmp_path, base, compare={"model.fault": ["raise", "exit", "shadow", "none"]})
    found = api.run(file, out=tmp_path / "runs", stack=False)
    reasons = dict(found.runs.select("model.fault", "reason").rows())
    assert reasons["raise"] == "ArithmeticError: on purpose"
    assert reasons["exit"] == "SystemExit: 5"
    assert "extras() gives 'step'" in reasons["shadow"]
    assert standing(tmp_path / "runs" / "s") == {"failed": 3, "done": 1}
    kept = [s.get("traceback") for p in (tmp_path / "runs" / "s").glob("*/status.json") for s in _runs(p)]
    assert sum("on purpose" in text for text in kept if text) == 1
    assert found.rows.filter(found.rows["model.fault"] == "none")["weight"].to_list() == [2.0] * 4


def _runs(file: Path) -> list[dict[str, Any]]:
    return list(json.loads(file.read_text())["runs"].values())


def test_a_run_whose_own_source_has_changed_starts_anew(tmp_path: Path) -> None:
    source = tmp_path / "own_loss_of_test_worker.py"
    source.write_text("def mine(outputs, targets):\n    return outputs.square().mean()\n")
    pack, record = prepare(tmp_path, {**SHORT, "loss": "own_loss_of_test_worker:mine"})
    list(work(pack, job(record, tmp_path), after(2)))
    assert "checkpoint" in files(record)
    source.write_text("def mine(outputs, targets):\n    return outputs.square().mean() # changed\n")
    list(work(pack, job(record, tmp_path), never))
    (file,) = record.glob("*/rows.jsonl")
    assert [json.loads(line)["step"] for line in file.read_text().splitlines()].count(0) == 2
    assert rows(record)["step"].to_list() == [0, 2, 4, 6]
    assert "checkpoint" not in files(record)


@pytest.mark.parametrize(("first", "second"), [("shared", "exclusive"), ("exclusive", "shared")])
def test_a_run_timed_in_part_beside_others_is_shared(tmp_path: Path, first: str, second: str) -> None:
    pack, record = prepare(tmp_path, SHORT)
    list(work(pack, job(record, tmp_path, timing=first), after(2)))
    list(work(pack, job(record, tmp_path, timing=second), never))
    (status,) = statuses(record, pack).values()
    assert (status["status"], status["timing"]) == ("done", "shared")


def test_the_checkpoint_of_a_run_that_is_not_wanted_is_kept(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, SHORT, repeat=2)
    told = job(record, tmp_path)
    list(work(pack, told, after(2)))
    begun = next(run for run, s in statuses(record, pack).items() if s["status"] == "interrupted")
    list(work(pack, replace(told, wanted=told.wanted - {begun}), never))
    assert "checkpoint" in files(record)
    before = lines(record)
    list(work(pack, told, never))
    assert standing(record) == {"done": 2}
    assert lines(record) < before + 4, "it started anew"


def test_a_claim_lost_to_another_host_stops_the_work_without_a_word_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack, record = prepare(tmp_path, SHORT)
    monkeypatch.setattr(Claim, "lost", property(lambda self: True, lambda self, value: None), raising=False)
    with pytest.raises(RecordError, match="another has taken it over"):
        list(work(pack, job(record, tmp_path), never))
    assert statuses(record, pack) == {}


def test_checkpoints_come_at_their_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack, record = prepare(tmp_path, SHORT)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    seen = [("checkpoint" in files(record)) for event in work(pack, job(record, tmp_path), never) if event.step == 2]
    assert seen == [True]
    assert "checkpoint" not in files(record)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    """The worker as executors start it."""
    command = [sys.executable, "-m", "paceline.execute.worker"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as started:
        yield started
        started.kill()


def tell(process: subprocess.Popen[str], *said: str) -> None:
    assert process.stdin
    for line in said:
        print(line, file=process.stdin, flush=True)


def test_a_worker_serves_pack_after_pack_and_ends_with_its_stdin(
    tmp_path: Path, process: subprocess.Popen[str]
) -> None:
    (tmp_path / "loud.py").write_text(OWN + 'print(\'{"kind": "loud"}\')\n')
    pack, record = prepare(tmp_path, {**SHORT, "model": "loud:Own"})
    tell(process, job(record, tmp_path, threads=1).dumps(), pack, pack, "none")
    assert process.stdout
    told = [json.loads(process.stdout.readline())]
    assert told.pop()["kind"] == "ready"
    while [event["kind"] for event in told].count("idle") < 3:
        told.append(json.loads(process.stdout.readline()))
    assert {event["kind"] for event in told} == {"began", "progress", "ended", "idle", "refused"}
    assert [event["status"] for event in told if event["kind"] == "ended"] == ["done"]
    said, noise = process.communicate(timeout=20)
    assert (process.returncode, said) == (0, "")
    assert '"loud"' in noise
    assert "Traceback" not in noise


@pytest.mark.parametrize("how", ["its parent is gone", "sigterm"])
def test_a_worker_stops_at_a_step_boundary_and_keeps_its_run(
    how: str, tmp_path: Path, process: subprocess.Popen[str]
) -> None:
    pack, record = prepare(tmp_path, ENDLESS)
    tell(process, job(record, tmp_path).dumps(), pack)
    until(lambda: lines(record) >= 2)
    assert process.stdin
    assert process.stdout
    if how == "sigterm":
        process.send_signal(signal.SIGTERM)
    else:
        process.stdout.close()
        process.stdin.close()
    assert process.wait(20) == 0
    assert process.stderr
    assert process.stderr.read() == ""
    assert standing(record) == {"interrupted": 1}
    assert {"checkpoint"} < files(record)
    assert "claim" not in files(record)
