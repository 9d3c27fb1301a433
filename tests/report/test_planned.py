"""What `plan` and `run` say before anything trains: which runs are stacked, which are not, and why."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from paceline import api
from paceline.execute import session as sessions
from paceline.execute import speeds
from paceline.execute.session import Session, open_session
from paceline.plan.choose import Speed
from paceline.report.planned import begin, planned

DATA = {"name": "synthetic", "examples": 60, "validation": 20, "test": 20, "shape": [4], "classes": 3}
BASE = {"data": DATA, "model": "softmax", "optimizer": "gd", "lr": 0.1, "batch": 20, "steps": 6}


@pytest.fixture(autouse=True)
def _one_core_and_an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "usable_cores", lambda: 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def opened(folder: Path, *, jobs: int | None = None, stack: bool | None = None, **said: Any) -> Session:
    file = folder / "s.yaml"
    base = {**BASE, **said.pop("base", {})}
    file.write_text(json.dumps({"name": "s", "base": base, "repeat": 2, **said}))
    return open_session(api.load(file), folder / "runs", jobs=jobs, stack=stack)


def ways(session: Session) -> list[str]:
    return [line for line in planned(session) if line.startswith(("Stacked", "In a row"))]


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ({"tune": {"lr": [0.1, 0.2]}}, ["Stacked: 4 runs in 1 stack of 4."]),
        ({"compare": {"batch": [5, 10]}, "repeat": 3}, ["Stacked: 6 runs in 2 stacks of 3."]),
        (
            {"cases": {"a": {}, "b": {"tune": {"lr": [0.2, 0.3]}, "batch": 5}}},
            ["Stacked: 6 runs in 2 stacks of 2 to 4."],
        ),
        ({"repeat": 8, "jobs": 2}, ["Stacked: 8 runs in 2 stacks of 4, 2 processes side by side."]),
        ({"stack": False}, ["In a row: 2 runs. Not stacked, 2: as asked."]),
        (
            {"compare": {"batch": [5, 10]}, "repeat": 1},
            ["In a row: 2 runs. Not stacked, 2: no other run has the same data, model, loss and batch."],
        ),
        (
            {"cases": {"a": {"tune": {"lr": [0.1, 0.2]}}, "b": {"batch": 5}}, "repeat": 1},
            [
                "Stacked: 2 runs in 1 stack of 2.",
                "In a row: 1 run. Not stacked, 1: no other run has the same data, model, loss and batch.",
            ],
        ),
        (
            {"jobs": 2},
            ["In a row: 2 runs, 2 processes side by side. Not stacked, 2: no other is left to stack it with."],
        ),
        ({"measure": "time"}, ["In a row: 2 runs, because the study measures time."]),
    ],
)
def test_which_runs_are_stacked_and_why_others_are_not(tmp_path: Path, said: dict[str, Any], lines: list[str]) -> None:
    assert ways(opened(tmp_path, **said)) == lines


def test_parts_of_ones_own_are_tried(tmp_path: Path) -> None:
    (tmp_path / "own_of_test_planned.py").write_text(
        "from torch import nn\ndef net(input_shape, outputs):\n    return nn.Linear(input_shape[0], outputs)\n"
    )
    own = {"model": "own_of_test_planned:net"}
    assert ways(opened(tmp_path, base=own, repeat=3)) == [
        "Stacked: 3 runs in 1 stack of 3 if that proves the same and faster."
    ]
    assert ways(opened(tmp_path, base=own, repeat=1)) == ["In a row: 1 run. Not stacked, 1: parts of your own."]
    assert "3 runs use parts of your own" in planned(opened(tmp_path, base=own, repeat=3))[-1]


def test_a_stack_that_is_slower_is_said_to_be_measured(tmp_path: Path) -> None:
    session = opened(tmp_path)
    (group,) = session.groups.values()
    speeds.keep(group.kind or "", {"row 1": Speed(10.0, 1e-6), "stack 1": Speed(20.0, 1e-6)})
    session = opened(tmp_path)
    assert ways(session) == ["In a row: 2 runs. Not stacked, 2: a stack is not faster (measured)."]
    assert planned(session)[-1].startswith("Estimate: about 2 min, ")
    assert planned(session)[-1].endswith("(from speeds measured on this machine).")
    assert planned(opened(tmp_path, jobs=3))[-1].endswith("with 3 jobs (a rough guess: within a factor of 3).")


def test_only_what_is_new_is_counted(tmp_path: Path) -> None:
    """Two runs of a pack are left from before, a third is added; it finds nobody to be stacked with."""
    session = opened(tmp_path)
    sessions.make_folder(session.folder.path)
    sessions._settle_packs(session, session.missing())
    grown = opened(tmp_path, tune={"lr": [0.1, 0.2]}, repeat=1)
    assert ways(grown) == ["In a row: 1 run. Not stacked, 1: no other is left to stack it with."]
    grown = opened(tmp_path, tune={"lr": [0.1, 0.2, 0.3]}, stack=False)
    assert ways(grown) == ["In a row: 4 runs. Not stacked, 4: as asked."]
    assert "To train: 6 runs in 2 packs, 36 steps." in planned(grown)


def test_failed_runs_that_are_tried_again_are_part_of_the_estimate(tmp_path: Path) -> None:
    long = {"base": {"steps": 1_000_000, "evaluate_every": 1_000_000}, "stack": False}
    session = opened(tmp_path, **long)
    sessions.make_folder(session.folder.path)
    failed = {run: {"status": "failed"} for run in session.ids}
    for pack in sessions._settle_packs(session, session.missing()):
        (session.folder.path / pack / "status.json").write_text(json.dumps({"format": 1, "runs": failed}))
    session = opened(tmp_path, **long)
    assert begin(session, retry_failed=False)[0] == [
        "s: 0 of 2 done.",
        "Nothing is left to train but 2 runs that failed; --retry-failed tries them again.",
    ]
    lines, tally = begin(session, retry_failed=True)
    assert lines[1] == "To train: 2 runs in 2 packs, 2,000,000 steps."
    assert lines[2].startswith("Estimate: about 10 min, ")
    assert tally.total == 2


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([400_000, 400_000], "2 runs continue from step 400,000 of 1,000,000."),
        ([100_000, 700_000], "2 runs continue from steps 100,000 to 700,000 of 1,000,000."),
        ([800_000, None], "1 run continues from step 800,000 of 1,000,000."),
    ],
)
def test_runs_that_were_broken_off_are_said_to_continue(tmp_path: Path, steps: list[int | None], line: str) -> None:
    long = {"base": {"steps": 1_000_000, "evaluate_every": 1_000_000}}
    session = opened(tmp_path, **long)
    sessions.make_folder(session.folder.path)
    (pack,) = sessions._settle_packs(session, session.missing())
    stopped = {run: {"status": "interrupted", "step": step} for run, step in zip(session.ids, steps, strict=True)}
    (session.folder.path / pack / "status.json").write_text(json.dumps({"format": 1, "runs": stopped}))
    (session.folder.path / pack / "rows.jsonl").touch()
    assert planned(opened(tmp_path, **long))[2] == "To train: 2 runs in 1 pack, 2,000,000 steps."
    (session.folder.path / pack / "checkpoint").touch()
    session = opened(tmp_path, **long)
    assert planned(session)[2:4] == ["To train: 2 runs in 1 pack, 1,200,000 steps.", line]
    assert line in begin(session, retry_failed=False)[0]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_hundred_thousand_runs_are_planned_in_little_memory(tmp_path: Path) -> None:
    driver = """
from pathlib import Path
from paceline.cli import app
app(["plan", "s.yaml"], standalone_mode=False)
peak = next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(int(peak) // 1024)
"""
    axes = {"optimizer": ["adam", "gd"], "batch": [10, 20, 50, 100]}
    study = {"name": "s", "base": BASE, "compare": axes, "tune": {"lr": [i / 1e4 for i in range(1, 12_601)]}}
    (tmp_path / "s.yaml").write_text(json.dumps({**study, "repeat": 1}))
    done = subprocess.run([sys.executable, "-c", driver], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "Stacked: 100800 runs in " in done.stdout
    assert int(done.stdout.split()[-1]) < 500
