"""A pack whose runs train as one program: what it records, and what becomes of it when something comes between."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from paceline import api
from paceline.errors import RecordError
from paceline.execute import checkpoints, datasets
from paceline.execute.events import Event
from paceline.execute.worker import work
from paceline.record.claim import Claim
from paceline.record.layout import StudyFolder, write_json
from paceline.train import checkpoint
from paceline.train.stack import check

from .studies import SHORT, after, files, job, lines, never, prepare, rows, standing, statuses, write

LEFT = {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}
DOUBLE = {**SHORT, "precision": "fp64", "model": {"name": "mlp", "widths": [6], "dropout": 0.2}}
UNLIKE = {
    "adam": {"optimizer": "adam", "lr": 0.01, "schedule": "cosine"},
    "short": {"optimizer": "adam", "lr": 0.02, "steps": 10},
    "muon": {"optimizer": "muon", "lr": 0.01, "clip_norm": 1.0},
    "patient": {"optimizer": {"name": "momentum", "momentum": 0.5}, "early_stop": {"patience": 1}},
}
"""Runs of one stack that end one after the other."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Own parts are stacked only if that is faster, which a busy machine may deny: here no time passes."""
    monkeypatch.setattr(check, "time", SimpleNamespace(perf_counter=lambda: 0.0))


def said(record: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted(record.glob("*/pack.json"))]


def details(record: Path) -> list[dict[str, Any]]:
    return [run for file in record.glob("*/status.json") for run in json.loads(file.read_text())["runs"].values()]


def starts(record: Path, run: str) -> int:
    """How often a run has begun from its first step."""
    text = "".join(file.read_text() for file in record.glob("*/rows.jsonl"))
    return sum((row["run"], row["step"]) == (run, 0) for row in map(json.loads, text.splitlines()))


def close(a: pl.DataFrame, b: pl.DataFrame, tolerance: float) -> None:
    assert_frame_equal(a, b, rel_tol=tolerance, abs_tol=tolerance)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-4), ("fp64", 1e-9)])
def test_a_stack_gives_what_its_runs_give_in_a_row(tmp_path: Path, precision: str, tolerance: float) -> None:
    file = write(tmp_path, {**DOUBLE, "precision": precision, "steps": 20}, cases=UNLIKE, repeat=2)
    found = api.run(file, out=tmp_path / "runs")
    record = tmp_path / "runs" / "s"
    assert (found.runs["status"].to_list(), set(found.runs["timing"])) == (["done"] * 8, {"stacked"})
    assert [(pack["stacked"], len(pack["runs"])) for pack in said(record)] == [(True, 8)]
    assert "unstacked" not in said(record)[0]
    assert files(record) == LEFT
    api.run(file, out=tmp_path / "row", stack=False)
    close(rows(record), rows(tmp_path / "row" / "s"), tolerance)
    assert len(said(tmp_path / "row" / "s")[0]["runs"]) == 8
    assert not said(tmp_path / "row" / "s")[0]["stacked"]


def test_what_is_told_of_a_stack(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, cases={"long": {}, "short": {"steps": 4}})
    short, long = sorted(statuses_of(record), key=lambda run: run[1])
    told = list(work(pack, job(record, tmp_path), never))
    assert [event.kind for event in told] == ["began", "progress", "ended", "progress", "ended"]
    assert [set(event.runs) for event in told if event.runs] == [{short[0], long[0]}] * 2 + [{long[0]}]
    ended = [(event.run, event.status, event.step, event.row and event.row["step"]) for event in told if event.run]
    assert ended == [(short[0], "done", 4, 4), (long[0], "done", 6, 6)]
    assert all(Event.loads(json.dumps(event.plain())) == event for event in told)
    assert list(work(pack, job(record, tmp_path), never)) == []


def statuses_of(record: Path) -> list[tuple[str, int]]:
    """The runs of all packs, with their steps."""
    return [(entry["run"], entry["config"]["steps"]) for pack in said(record) for entry in pack["runs"]]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stopped_at_any_pauses_it_goes_on_to_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, stops: list[int]
) -> None:
    place = tmp_path_factory.mktemp("s")
    pack, record = prepare(place, {**DOUBLE, "steps": 16}, stack=True, cases=UNLIKE, repeat=2)
    for pauses in stops:
        list(work(pack, job(record, place), after(pauses)))
    list(work(pack, job(record, place), never))
    api.run(place / "s.yaml", out=place / "whole", stack=True)
    assert rows(record).equals(rows(place / "whole" / "s"))
    assert standing(record) == {"done": 8}
    assert files(record) == LEFT


def test_all_runs_of_a_stack_that_was_stopped_are_interrupted(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=3)
    told = list(work(pack, job(record, tmp_path), after(2)))
    ended = [(event.status, event.step, event.total) for event in told if event.kind == "ended"]
    assert ended == [("interrupted", 4, 6)] * 3
    assert {(run["status"], run["step"], run["timing"]) for run in details(record)} == {("interrupted", 4, "stacked")}
    assert files(record) == {*LEFT, "checkpoint"} - {"examined.jsonl"}


def test_a_run_that_ended_after_the_checkpoint_is_not_trained_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    cases = {"short": {"steps": 4}, "long": {}, "other": {"lr": 0.2}}
    pack, record = prepare(tmp_path, {**DOUBLE, "steps": 8}, stack=True, cases=cases)
    events = work(pack, job(record, tmp_path), never)
    next(event for event in events if event.kind == "progress")
    kept = record / pack / "checkpoint"
    shutil.copy(kept, tmp_path / "older")
    over = next(event.run for event in events if event.kind == "ended")
    events.close()  # type: ignore[attr-defined]
    shutil.copy(tmp_path / "older", kept)
    before = rows(record).filter(pl.col("run") == over)
    told = list(work(pack, job(record, tmp_path), never))
    assert over not in {run for event in told for run in (event.run, *event.runs)}
    assert standing(record) == {"done": 3}
    assert rows(record).filter(pl.col("run") == over).equals(before)
    assert [starts(record, run) for run, _ in statuses_of(record)] == [1, 1, 1]
    api.run(tmp_path / "s.yaml", out=tmp_path / "whole", stack=True)
    close(rows(record), rows(tmp_path / "whole" / "s"), 1e-9)


OWN = """
from pathlib import Path
import torch
from torch import nn

def load():
    draw = torch.Generator().manual_seed(int((Path(__file__).parent / "number").read_text()))
    x, y = torch.rand(80, 4, generator=draw), torch.randint(0, 3, (80,), generator=draw)
    return x[:60], y[:60], x[60:], y[60:]

class Net(nn.Module):
    def __init__(self, input_shape, outputs):
        super().__init__()
        self.layer = nn.Linear(input_shape[0], outputs)
    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize("change", ["the data", "the source"])
@pytest.mark.usefixtures("quick")
def test_a_stack_whose_origin_has_changed_starts_anew(tmp_path: Path, change: str) -> None:
    source, number = tmp_path / "own_of_test_stacked.py", tmp_path / "number"
    source.write_text(OWN)
    number.write_text("1")
    base = {**SHORT, "data": "own_of_test_stacked:load", "model": "own_of_test_stacked:Net"}
    pack, record = prepare(tmp_path, base, stack=True, repeat=3)
    list(work(pack, job(record, tmp_path), after(1)))
    list(work(pack, job(record, tmp_path), after(1)))
    assert "checkpoint" in files(record)
    assert [starts(record, run) for run, _ in statuses_of(record)] == [1, 1, 1]
    number.write_text("2") if change == "the data" else source.write_text(OWN + "# changed\n")
    datasets._datasets.clear()
    list(work(pack, job(record, tmp_path), never))
    assert [starts(record, run) for run, _ in statuses_of(record)] == [2, 2, 2]
    assert {run["timing"] for run in details(record)} == {"stacked"}
    assert rows(record)["step"].to_list() == [0, 2, 4, 6] * 3
    assert files(record) == LEFT


@pytest.mark.parametrize("spoil", [lambda file: file.write_text("noise"), lambda file: checkpoint.save(file, {})])
def test_a_spoilt_checkpoint_is_named_and_left_as_it_is(tmp_path: Path, spoil: Any) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=2)
    list(work(pack, job(record, tmp_path), after(2)))
    kept = record / pack / "checkpoint"
    spoil(kept)
    before = kept.read_bytes()
    with pytest.raises(RecordError, match=r"checkpoint: not a checkpoint.* Delete it and run again"):
        list(work(pack, job(record, tmp_path), never))
    assert kept.read_bytes() == before
    assert said(record)[0]["stacked"], "it was not given up"
    kept.unlink()
    list(work(pack, job(record, tmp_path), never))
    assert standing(record) == {"done": 2}


UNFIT = """
import torch
from torch import nn

class Unfit(nn.Module):
    def __init__(self, input_shape, outputs):
        super().__init__()
        self.layer = nn.Linear(input_shape[0], outputs)
        self.drop = nn.Dropout(0.5)
    def forward(self, x):
        return self.layer(self.drop(x))

class Jumpy(Unfit):
    def forward(self, x):
        return self.layer(x) if x.sum() > 0 else self.layer(-x)

class Single(Unfit):
    def forward(self, x):
        if isinstance(x, torch.fx.Proxy) or torch._C._functorch.is_batchedtensor(x):
            return self.layer(x + 1)
        return self.layer(x)

class Broken(Unfit):
    def forward(self, x):
        raise ArithmeticError("on purpose")
"""


@pytest.mark.parametrize(
    ("base", "why"),
    [
        ({"model": "unfit_of_test_stacked:Unfit"}, "random operation"),
        ({"model": "unfit_of_test_stacked:Jumpy"}, "data-dependent"),
        ({"model": "unfit_of_test_stacked:Single"}, "a stack of them does not do what each does alone"),
        ({"optimizer": "torch.optim:RMSprop"}, "the optimizer torch.optim:RMSprop is no rule"),
    ],
)
@pytest.mark.usefixtures("quick")
def test_what_cannot_be_stacked_trains_in_a_row_and_the_pack_says_why(
    tmp_path: Path, base: dict[str, Any], why: str
) -> None:
    (tmp_path / "unfit_of_test_stacked.py").write_text(UNFIT)
    file = write(tmp_path, {**SHORT, **base, "lr": 0.01}, tune={"lr": [0.01, 0.02]}, repeat=2)
    found = api.run(file, out=tmp_path / "runs", stack=True)
    record = tmp_path / "runs" / "s"
    assert (found.runs["status"].to_list(), set(found.runs["timing"])) == (["done"] * 4, {"exclusive"})
    assert [(pack["stacked"], len(pack["runs"])) for pack in said(record)] == [(False, 4)]
    assert why in said(record)[0]["unstacked"]
    api.run(file, out=tmp_path / "row", stack=False)
    assert rows(record).equals(rows(tmp_path / "row" / "s"))


def test_a_stack_that_takes_longer_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "number").write_text("1")
    (tmp_path / "slow_of_test_stacked.py").write_text(OWN)
    clock = iter([0.0, 10.0, 10.0, 11.0])
    monkeypatch.setattr(check, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    pack, record = prepare(tmp_path, {**SHORT, "model": "slow_of_test_stacked:Net"}, stack=True, repeat=3)
    list(work(pack, job(record, tmp_path), never))
    assert said(record)[0]["unstacked"] == "a stack takes 3.33 s a run, in a row 0.333 s"
    assert standing(record) == {"done": 3}


def test_every_run_of_a_model_that_fails_has_its_own_traceback(tmp_path: Path) -> None:
    (tmp_path / "unfit_of_test_stacked.py").write_text(UNFIT)
    pack, record = prepare(tmp_path, {**SHORT, "model": "unfit_of_test_stacked:Broken"}, stack=True, repeat=3)
    told = list(work(pack, job(record, tmp_path), never))
    assert [(event.status, event.reason) for event in told if event.kind == "ended"] == [
        ("failed", "ArithmeticError: on purpose")
    ] * 3
    assert all('raise ArithmeticError("on purpose")' in run["traceback"] for run in details(record))
    assert "ArithmeticError: on purpose" in said(record)[0]["unstacked"]


@pytest.mark.usefixtures("quick")
def test_a_stack_that_breaks_half_way_is_trained_in_a_row_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run's schedule gives no number at step 4, and only that run fails for it."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    (tmp_path / "bent_of_test_stacked.py").write_text(
        "def bent(step, total, broken=False):\n    return float('nan') if broken and step == 4 else 1.0\n"
    )
    bent = {"name": "bent_of_test_stacked:bent"}
    cases = {"a": {"schedule": bent}, "b": {"schedule": bent, "lr": 0.2}, "bad": {"schedule": {**bent, "broken": True}}}
    file = write(tmp_path, {**SHORT, "steps": 8, "evaluate_every": 1}, cases=cases)
    found = api.run(file, out=tmp_path / "runs", stack=True)
    assert dict(found.runs.select("case", "status").rows()) == {"a": "done", "b": "done", "bad": "failed"}
    record = tmp_path / "runs" / "s"
    assert "the schedule makes lr nan at step 4" in said(record)[0]["unstacked"]
    assert {run["timing"] for run in details(record)} == {"exclusive"}
    api.run(file, out=tmp_path / "row", stack=False)
    assert rows(record).equals(rows(tmp_path / "row" / "s"))


def test_runs_that_diverge_leave_the_others_alone(tmp_path: Path) -> None:
    base = {"data": "line", "model": "line", "loss": "sum_squares", "order": "file", "optimizer": "gd", "steps": 40}
    pack, record = prepare(tmp_path, {**base, "evaluate_every": 20}, stack=True, tune={"lr": [0.01, 1.0, 0.02, 3.0]})
    list(work(pack, job(record, tmp_path), never))
    found = api.results("s", out=tmp_path / "runs").runs
    ends = {lr: (status, reason) for lr, status, reason in found.select("lr", "status", "reason").rows()}
    assert {lr for lr, (status, _) in ends.items() if status == "diverged"} == {1.0, 3.0}
    assert {ends[lr] for lr in (0.01, 0.02)} == {("done", "all 40 steps")}
    assert all("not finite at step" in ends[lr][1] for lr in (1.0, 3.0))
    api.run(tmp_path / "s.yaml", out=tmp_path / "row", stack=False)
    close(rows(record), rows(tmp_path / "row" / "s"), 1e-4)


def test_a_pack_too_large_for_memory_is_trained_in_several_stacks(tmp_path: Path) -> None:
    import psutil

    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=8)
    (each,) = {cost.stack_bytes for cost in costs(tmp_path)}
    share = 3.5 * each / psutil.virtual_memory().total
    told = list(work(pack, job(record, tmp_path, memory_share=share), never))
    begun = [event.runs for event in told if event.kind == "began"]
    assert [len(runs) for runs in begun] == [3, 3, 2]
    assert len({run for runs in begun for run in runs}) == 8
    assert standing(record) == {"done": 8}
    assert {run["timing"] for run in details(record)} == {"stacked"}


def costs(folder: Path) -> list[Any]:
    from paceline.execute.session import open_session

    return list(open_session(api.load(folder / "s.yaml"), folder / "elsewhere", jobs=1).costs.values())


def test_where_memory_holds_but_one_run_they_train_in_a_row(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=2)
    told = list(work(pack, job(record, tmp_path, memory_share=1e-15), never))
    assert [event.runs for event in told if event.kind == "began"] == [(), ()]
    assert standing(record) == {"done": 2}


def test_only_what_is_wanted_of_a_stack_is_trained(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=4)
    told = job(record, tmp_path)
    first, second, third, fourth = (run for run, _ in statuses_of(record))
    write_json(StudyFolder(record).pack(pack).status, {"format": 1, "runs": {third: {"status": "failed"}}})
    list(work(pack, replace(told, wanted=frozenset({first, second, third})), never))
    assert {run: s["status"] for run, s in statuses(record, pack).items()} == {
        first: "done",
        second: "done",
        third: "failed",
    }
    begun = [event for event in work(pack, replace(told, retry_failed=True), never) if event.kind == "began"]
    assert [set(event.runs) for event in begun] == [{third, fourth}]
    assert standing(record) == {"done": 4}


def test_a_stopped_stack_goes_on_with_those_that_are_still_wanted(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=3)
    told = job(record, tmp_path)
    list(work(pack, told, after(2)))
    left = min(told.wanted)
    list(work(pack, replace(told, wanted=frozenset({left})), never))
    assert starts(record, left) == 1, "it went on"
    list(work(pack, told, never))
    assert standing(record) == {"done": 3}
    assert files(record) == LEFT


def test_a_run_that_was_stopped_by_itself_goes_on_and_the_others_are_stacked(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, {**DOUBLE, "steps": 12}, stack=True, repeat=3)
    told = job(record, tmp_path)
    first = min(told.wanted)
    one = replace(told, wanted=frozenset({first}))
    list(work(pack, one, after(3)))
    list(work(pack, one, after(2)))
    assert "checkpoint" in files(record)
    assert standing(record) == {"interrupted": 1, "queued": 2}
    begun = [event for event in work(pack, told, never) if event.kind == "began"]
    assert [event.run for event in begun] == [first, ""]
    assert [set(event.runs) for event in begun] == [set(), told.wanted - {first}]
    assert [starts(record, run) for run in told.wanted] == [1, 1, 1]
    assert standing(record) == {"done": 3}
    assert files(record) == LEFT


def test_a_run_that_fails_by_itself_is_tried_once_more_when_asked(tmp_path: Path) -> None:
    (tmp_path / "unfit_of_test_stacked.py").write_text(UNFIT)
    pack, record = prepare(tmp_path, {**SHORT, "model": "unfit_of_test_stacked:Unfit"}, stack=True, repeat=2)
    told = job(record, tmp_path)
    first = min(told.wanted)
    list(work(pack, replace(told, wanted=frozenset({first})), after(3)))
    (tmp_path / "unfit_of_test_stacked.py").write_text(UNFIT.replace("self.layer(self.drop(x))", "1 / 0"))
    told = replace(told, retry_failed=True)
    assert {event.status for event in work(pack, told, never) if event.kind == "ended"} == {"failed"}
    assert standing(record) == {"failed": 2}


def test_a_stack_that_somebody_has_is_skipped(tmp_path: Path) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=2)
    with Claim(StudyFolder(record).pack(pack).claim):
        assert list(work(pack, job(record, tmp_path), never)) == [Event("skipped", pack)]
    assert lines(record) == 0


def test_checkpoints_come_at_their_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack, record = prepare(tmp_path, DOUBLE, stack=True, repeat=2)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    seen = [("checkpoint" in files(record)) for event in work(pack, job(record, tmp_path), never) if event.step == 2]
    assert seen == [True]
    assert "checkpoint" not in files(record)


def test_a_run_added_later_trains_by_itself(tmp_path: Path) -> None:
    """Another lr, then another seed: the packs that stand are not touched."""
    record = tmp_path / "runs" / "s"
    for tune, repeat, fresh in (([0.1, 0.2], 2, 4), ([0.1, 0.2, 0.3], 2, 2), ([0.1, 0.2, 0.3], 3, 3)):
        stamps = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in record.glob("*/*")}
        before = lines(record)
        found = api.run(write(tmp_path, DOUBLE, tune={"lr": tune}, repeat=repeat), out=tmp_path / "runs")
        assert set(found.runs["status"]) == {"done"}
        assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in stamps} == stamps
        assert lines(record) == before + fresh * 4
    assert sorted(len(pack["runs"]) for pack in said(record)) == [2, 3, 4]
    assert all(pack["stacked"] for pack in said(record))
    api.run(tmp_path / "s.yaml", out=tmp_path / "whole", stack=True)
    close(rows(record), rows(tmp_path / "whole" / "s"), 1e-9)


def test_one_that_is_alone_in_a_grown_study_is_no_stack(tmp_path: Path) -> None:
    api.run(write(tmp_path, DOUBLE, tune={"lr": [0.1, 0.2]}), out=tmp_path / "runs")
    api.run(write(tmp_path, DOUBLE, tune={"lr": [0.1, 0.2, 0.3]}), out=tmp_path / "runs")
    assert sorted((len(p["runs"]), p["stacked"]) for p in said(tmp_path / "runs" / "s")) == [(1, False), (2, True)]
