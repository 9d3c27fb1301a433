"""`paceline run` in processes that torchrun has started: the first leads, the others follow."""

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
import torch.distributed as dist

from paceline.execute import members
from paceline.execute.events import Event
from paceline.execute.waiting import missing
from paceline.record.layout import StudyFolder
from paceline.record.reader import read_packs, states
from paceline.spec.parts import TABLE

from .studies import BASE, job, never, prepare, rows, standing, write

BY_HAND = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "localhost"}


def started(file: Path, out: Path, processes: int) -> subprocess.CompletedProcess[str]:
    torchrun = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}"]
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
    command = [*torchrun, *meeting, "-m", "paceline", "run", str(file), "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_first_processes_are_the_team_and_one_writes(tmp_path):
    base = {**BASE, "precision": "fp64", "device": "cpu", "steps": 12, "evaluate_every": 4}
    file = write(tmp_path, base, compare={"devices": [1, 2, 3]})
    done = started(file, tmp_path / "runs", 2)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("2 of 3 done") == 1
    assert "devices: 3, but torchrun has started 2 processes" in done.stdout
    assert standing(tmp_path / "runs" / "s") == {"done": 2}
    table = rows(tmp_path / "runs" / "s").sort("step", "run")
    assert table["step"].to_list() == [0, 0, 4, 4, 8, 8, 12, 12]
    one, two = (group["loss"].to_list() for _, group in table.group_by("run", maintain_order=True))
    assert one == pytest.approx(two, rel=1e-9)
    assert table.filter(pl.col("step") == 12)["loss"].n_unique() <= 2


def test_every_strategy_is_recorded_and_timed(tmp_path):
    """All of them by one team: starting one takes seconds."""
    base = {**BASE, "model": {"name": "mlp", "widths": [8, 6]}, "steps": 6, "devices": 2, "batch": 8, "device": "cpu"}
    cases = {name: {"strategy": name} for name in TABLE["strategy"]}
    done = started(write(tmp_path, base, cases=cases, measure="time"), tmp_path / "runs", 2)
    assert done.returncode == 0, done.stderr[-2000:]
    found = states(read_packs(StudyFolder(tmp_path / "runs" / "s"))).values()
    assert [state.status for state in found] == ["done"] * len(cases), [state.details.get("reason") for state in found]
    assert all(state.details["turnaround_seconds"] > 0 for state in found)


OWN = """
import os
from torch import nn

class HalfBroken(nn.Module):
    def __init__(self, input_shape, outputs, rank):
        super().__init__()
        self.layer, self.rank = nn.Linear(input_shape[0], outputs), rank

    def forward(self, x):
        if self.training and int(os.environ["RANK"]) == self.rank:
            raise ValueError("no such thing")
        return self.layer(x)
"""


def test_a_run_that_fails_in_one_process_has_failed_and_the_next_is_trained(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    cases = {f"rank {rank}": {"model": {"name": "own:HalfBroken", "rank": rank}} for rank in (0, 1, 2, 3)}
    file = write(tmp_path, {**BASE, "device": "cpu", "steps": 6, "devices": 3}, cases=cases)
    done = started(file, tmp_path / "runs", 3)
    found = states(read_packs(StudyFolder(tmp_path / "runs" / "s"))).values()
    assert sorted(state.status for state in found) == ["done", "failed", "failed", "failed"], done.stderr[-3000:]
    assert all(state.details["turnaround_seconds"] > 0 for state in found)
    for state in found:
        if state.status == "failed":
            assert state.details["reason"] == "ValueError: no such thing"
            assert "in forward" in state.details["traceback"]


def test_a_failure_that_a_process_left_word_of_is_written_down(tmp_path):
    """As where GPUs train: the process that failed ends, and all are started again."""
    pack, record = prepare(tmp_path, {**BASE, "steps": 3})
    folder = StudyFolder(record).pack(pack)
    ((name, run),) = missing(folder, job(record, tmp_path))
    failed = Event(
        "ended", folder.id, name, status="failed", reason="ValueError: no such thing", traceback="in forward"
    )
    folder.failure.write_text(json.dumps(failed.plain()))
    assert list(members.lead(name, run, folder, job(record, tmp_path), never)) == [failed]
    (state,) = states(read_packs(StudyFolder(record))).values()
    assert (state.status, state.details["reason"]) == ("failed", "ValueError: no such thing")
    assert not folder.failure.exists()


def test_a_failure_that_was_left_word_of_is_tried_again_where_that_is_asked(tmp_path, monkeypatch):
    pack, record = prepare(tmp_path, {**BASE, "steps": 3})
    folder = StudyFolder(record).pack(pack)
    ((name, run),) = missing(folder, job(record, tmp_path))
    folder.failure.write_text(json.dumps(Event("ended", folder.id, name, status="failed", reason="then").plain()))
    trained = Event("ended", folder.id, name, status="done")
    monkeypatch.setattr(members, "_store", dist.HashStore)
    monkeypatch.setattr(members, "_together", lambda *_: iter([trained]))
    again = replace(job(record, tmp_path), retry_failed=True)
    assert list(members.lead(name, run, folder, again, never)) == [trained]
    assert not folder.failure.exists()


def test_a_run_on_one_device_that_fails_keeps_nobody_waiting(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    cases = {f"rank {rank}": {"model": {"name": "own:HalfBroken", "rank": rank}} for rank in (0, 1)}
    file = write(tmp_path, {**BASE, "device": "cpu", "steps": 6}, cases=cases)
    done = started(file, tmp_path / "runs", 1)
    found = states(read_packs(StudyFolder(tmp_path / "runs" / "s"))).values()
    assert sorted(state.status for state in found) == ["done", "failed"], done.stderr[-3000:]


@pytest.mark.parametrize(("others", "waited_for"), [([], True), ([1], False)])
def test_who_fails_alone_is_waited_for(others, waited_for, monkeypatch):
    store = dist.HashStore()
    monkeypatch.setattr(members, "_store", lambda: store)
    monkeypatch.setattr(members, "GRACE", timedelta(seconds=0.1))
    assert not members._waited_for(7)
    for name, value in {"is_initialized": True, "get_backend": "nccl", "get_world_size": 2, "get_rank": 0}.items():
        monkeypatch.setattr(dist, name, lambda value=value: value)
    for rank in others:
        store.set(f"failed-7-{rank}", "failed")
    assert members._waited_for(7) is waited_for
    monkeypatch.setattr(dist, "get_backend", lambda: "gloo")
    assert not members._waited_for(7)


def test_a_study_that_cannot_be_read_ends_all_processes(tmp_path):
    file = write(tmp_path, {**BASE, "steps": 3, "batch": 1, "devices": 2})
    done = started(file, tmp_path / "runs", 2)
    assert done.returncode != 0
    assert "a batch of 1 leaves some of 2 devices without an example" in done.stderr


def test_a_port_in_use_is_named(tmp_path):
    file = write(tmp_path, {**BASE, "steps": 3, "devices": 2, "device": "cpu"})
    with socket.socket() as busy:
        busy.bind(("", 0))
        busy.listen()
        port = busy.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "paceline", "run", str(file), "--out", str(tmp_path / "runs")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **BY_HAND, "MASTER_PORT": str(port)},
        )
    assert done.returncode == 2
    assert f"cannot meet at localhost:{port}" in done.stderr
    assert "Is the port in use?" in done.stderr


TWICE = """
import sys

import paceline

for file in sys.argv[2:]:
    paceline.run(file, out=sys.argv[1])
"""


def test_a_script_may_run_one_study_after_another(tmp_path):
    base = {**BASE, "device": "cpu", "devices": 2, "steps": 4}
    files = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        files.append(str(write(tmp_path / name, base, name=name)))
    (tmp_path / "twice.py").write_text(TWICE)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
    command = [*torchrun, *meeting, str(tmp_path / "twice.py"), str(tmp_path / "runs"), *files]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [standing(tmp_path / "runs" / name) for name in ("first", "second")] == [{"done": 1}, {"done": 1}]
