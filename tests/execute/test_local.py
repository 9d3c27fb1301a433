"""Workers as real processes: side by side, killed, orphaned, interrupted."""

import json
import os
import signal
import sys
import threading
from pathlib import Path

import psutil
import pytest
from polars.testing import assert_frame_equal

from paceline import api
from paceline.execute import local as pool
from paceline.execute.session import execute, open_session

from .studies import BASE, ENDLESS, SHORT, files, rows, standing, write
from .zygote import Zygote, until

OWN = """
import os, time
import torch
from torch import nn

class Own(nn.Module):
    def __init__(self, input_shape, outputs):
        super().__init__()
        self.layer = nn.Linear(input_shape[0], outputs)
    def forward(self, x):
        print("noise among the events")
        return self.layer(x)
    def extras(self):
        return {"threads": torch.get_num_threads(), "omp": float(os.environ["OMP_NUM_THREADS"])}
"""


BROKEN = """
import torch
from torch import nn

class Own(nn.Linear):
    def __init__(self, input_shape, outputs, breaks):
        super().__init__(input_shape[0], outputs)
        self.breaks = breaks
    def forward(self, x):
        if self.breaks:
            raise torch.AcceleratorError("CUDA error: device-side assert triggered")
        return super().forward(x)
"""


def workers(pid: int | None = None) -> list[psutil.Process]:
    found = psutil.Process(pid).children()
    return [child for child in found if "paceline.execute.worker" in child.cmdline()]


def test_a_device_that_breaks_costs_its_run_and_its_process_alone(tmp_path: Path) -> None:
    (tmp_path / "own_that_breaks.py").write_text(BROKEN)
    cases = {name: {"model": {"name": "own_that_breaks:Own", "breaks": name == "a"}} for name in "abcd"}
    file = write(tmp_path, SHORT, cases={name: {**case, "lr": ord(name) / 1000} for name, case in cases.items()})
    told = list(execute(open_session(api.load(file), tmp_path / "runs", jobs=2, stack=False)))
    assert not [event for event in told if event.kind == "refused"]
    assert standing(tmp_path / "runs" / "s") == {"failed": 1, "done": 3}
    again = list(execute(open_session(api.load(file), tmp_path / "runs", jobs=2, stack=False), retry_failed=True))
    assert [event.status for event in again if event.kind == "ended"] == ["failed"]


def test_a_device_that_breaks_in_a_stack_leaves_its_runs_to_other_processes(tmp_path: Path) -> None:
    (tmp_path / "own_that_breaks.py").write_text(BROKEN)
    breaking = {**SHORT, "model": {"name": "own_that_breaks:Own", "breaks": True}}
    file = write(tmp_path, breaking, repeat=3)
    told = list(execute(open_session(api.load(file), tmp_path / "runs", jobs=2, stack=True)))
    assert not [event for event in told if event.kind == "refused"]
    assert standing(tmp_path / "runs" / "s") == {"failed": 3}


def test_many_short_runs_side_by_side_give_the_rows_of_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hundreds of events come in bursts, with noise on stdout: none may be lost, threads are divided."""
    monkeypatch.setattr("paceline.execute.session.usable_cores", lambda: 3)
    (tmp_path / "own_of_test_local.py").write_text(OWN)
    file = write(tmp_path, {**SHORT, "model": "own_of_test_local:Own"}, repeat=40)
    told = list(execute(open_session(api.load(file), tmp_path / "runs", jobs=2, stack=False)))
    assert [event.kind for event in told].count("ended") == 40
    found = api.results("s", out=tmp_path / "runs")
    assert set(found.runs["timing"]) == {"shared"}
    assert set(found.rows["threads"]) == set(found.rows["omp"]) == {1.0}
    assert workers() == []

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("paceline.execute.session.usable_cores", lambda: 1)
    api.run(file, out=tmp_path / "whole", stack=False)
    assert rows(tmp_path / "runs" / "s").equals(rows(tmp_path / "whole" / "s"))


def test_a_worker_that_dies_fails_its_run_and_the_rest_of_its_pack_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An own loss leaves the cost known, so that all runs share a pack."""
    (tmp_path / "lethal.py").write_text(
        "import os, signal\n"
        "def loss(outputs, targets, deadly=False):\n"
        "    if deadly and outputs.requires_grad and not os.environ.get('HARMLESS'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return outputs.square().mean()\n"
    )
    own = {"name": "lethal:loss"}
    cases = {"first": {"loss": own}, "second": {"loss": {**own, "deadly": True}}, "third": {"loss": own, "lr": 0.2}}
    file = write(tmp_path, SHORT, cases=cases)
    found = api.run(file, out=tmp_path / "runs", jobs=2, stack=False)
    assert dict(found.runs.select("case", "status").rows()) == {"first": "done", "second": "failed", "third": "done"}
    reason = found.runs.filter(found.runs["case"] == "second")["reason"].item()
    assert "the worker process died (signal SIGKILL)" in reason
    assert len(list((tmp_path / "runs" / "s").glob("*/pack.json"))) == 1

    assert api.run(file, out=tmp_path / "runs").runs["status"].to_list().count("failed") == 1
    monkeypatch.setenv("HARMLESS", "1")
    api.run(file, out=tmp_path / "runs", retry_failed=True)
    assert standing(tmp_path / "runs" / "s") == {"done": 3}
    assert files(tmp_path / "runs" / "s") == {
        "pack.json",
        "machine.json",
        "rows.jsonl",
        "examined.jsonl",
        "status.json",
    }


def test_the_stack_of_a_worker_that_dies_is_trained_in_a_row(tmp_path: Path) -> None:
    file = write(tmp_path, {**BASE, "steps": 3000, "evaluate_every": 100}, repeat=4)
    record, killed = tmp_path / "runs" / "s", ""
    for event in execute(open_session(api.load(file), tmp_path / "runs", jobs=2, stack=True)):
        assert event.kind != "refused"
        if event.kind == "progress" and not killed:
            killed = event.pack
            holder = next(p for p in workers() if _holds(p, record / event.pack))
            holder.kill()
    assert standing(record) == {"done": 4}
    packs = {file.parent.name: json.loads(file.read_text()) for file in record.glob("*/pack.json")}
    assert {name: (pack["stacked"], pack.get("unstacked")) for name, pack in packs.items()} == {
        name: (False, "the worker process died (signal SIGKILL)") if name == killed else (True, None) for name in packs
    }
    timing = dict(api.results("s", out=tmp_path / "runs").runs.select("run", "timing").rows())
    assert {timing[entry["run"]] for entry in packs[killed]["runs"]} == {"shared"}
    api.run(file, out=tmp_path / "whole", stack=True)
    assert_frame_equal(rows(record), rows(tmp_path / "whole" / "s"), rel_tol=1e-3, abs_tol=1e-4)


def test_a_worker_that_dies_of_its_stack_before_the_first_step(tmp_path: Path) -> None:
    """Own parts are tried out first: that, too, may take more memory than there is."""
    (tmp_path / "mortal.py").write_text(
        "import os, signal, sys\n"
        "from torch import nn\n"
        "def net(input_shape, outputs):\n"
        "    if any(frame.endswith('stacked.py') for frame in _callers(sys._getframe())):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return nn.Linear(input_shape[0], outputs)\n"
        "def _callers(frame):\n"
        "    while frame:\n"
        "        yield frame.f_code.co_filename\n"
        "        frame = frame.f_back\n"
    )
    file = write(tmp_path, {**SHORT, "model": "mortal:net"}, repeat=3)
    found = api.run(file, out=tmp_path / "runs", jobs=2, stack=True)
    assert found.runs["status"].to_list() == ["done"] * 3
    said = [json.loads(file.read_text()).get("unstacked") for file in (tmp_path / "runs" / "s").glob("*/pack.json")]
    assert sorted(said, key=str) == [None, "the worker process died (signal SIGKILL)"]


def test_a_worker_that_cannot_start_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    session = open_session(api.load(write(tmp_path, SHORT, repeat=3)), tmp_path / "runs", jobs=2, stack=False)
    (told,) = execute(session)
    assert told.kind == "refused"
    assert told.reason == "a worker process died (exit code 1) before it could train; --jobs 1 trains in this one."


@pytest.mark.parametrize(("way", "runs"), [("--no-stack", 2), ("--stack", 4)])
def test_ctrl_c_at_the_terminal_stops_all_workers_at_a_step_boundary(
    way: str, runs: int, tmp_path: Path, paceline: Zygote
) -> None:
    base = {
        **BASE,
        "steps": 20_000,
        "evaluate_every": 100,
        "model": {"name": "mlp", "widths": [8]},
        "optimizer": "adam",
    }
    file = write(tmp_path, base, repeat=runs)
    record = tmp_path / "runs" / "s"
    child = paceline("run", file, "--out", tmp_path / "runs", "--jobs", 2, way)
    until(lambda: len([f for f in record.glob("*/rows.jsonl") if f.stat().st_size > 2000]) == 2)
    started = workers(child.pid)
    child.signal(signal.SIGINT, group=True)
    assert child.wait(20) == 130
    assert not any(process.is_running() for process in started)
    assert "Traceback" not in child.said
    assert standing(record) == {"interrupted": runs}
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "status.json", "checkpoint"}


def test_workers_whose_parent_was_killed_stop_by_themselves(tmp_path: Path, paceline: Zygote) -> None:
    file = write(tmp_path, ENDLESS, repeat=2)
    record = tmp_path / "runs" / "s"
    child = paceline("run", file, "--out", tmp_path / "runs", "--jobs", 2, "--no-stack")
    until(lambda: len([f for f in record.glob("*/rows.jsonl") if f.stat().st_size > 0]) == 2)
    orphans = workers(child.pid)
    assert len(orphans) == 2
    child.signal(signal.SIGKILL)
    child.wait()
    assert psutil.wait_procs(orphans, timeout=20)[1] == []
    assert standing(record) == {"interrupted": 2}
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "status.json", "checkpoint"}


def test_a_worker_asked_to_end_keeps_its_run_and_the_other_packs_are_trained(tmp_path: Path) -> None:
    cases = {"endless": {"steps": 10_000_000, "evaluate_every": 200}, "short": {"steps": 6}, "too": {"steps": 8}}
    file = write(tmp_path, BASE, cases=cases)
    record = tmp_path / "runs" / "s"
    asked = False
    for event in execute(open_session(api.load(file), tmp_path / "runs", jobs=2, stack=False)):
        if event.kind == "progress" and event.total > 1000 and not asked:
            asked = True
            holder = next(p for p in workers() if _holds(p, record / event.pack))
            os.kill(holder.pid, signal.SIGTERM)
    assert standing(record) == {"interrupted": 1, "done": 2}


def _holds(process: psutil.Process, folder: Path) -> bool:
    return f'"pid": {process.pid}' in (folder / "claim").read_text()


def test_who_stops_listening_leaves_no_worker_behind(tmp_path: Path) -> None:
    events = execute(open_session(api.load(write(tmp_path, ENDLESS)), tmp_path / "runs", jobs=2))
    for event in events:
        if event.kind == "progress":
            break
    (worker,) = workers()
    events.close()  # type: ignore[attr-defined]
    assert not worker.is_running()
    assert standing(tmp_path / "runs" / "s") == {"interrupted": 1}


def test_a_worker_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deaf.py").write_text(OWN.replace('print("noise among the events")', "time.sleep(60)"))
    monkeypatch.setattr(pool, "LINGER", 0.2)
    events = execute(open_session(api.load(write(tmp_path, {**SHORT, "model": "deaf:Own"})), tmp_path / "runs", jobs=2))
    assert next(events).kind == "began"
    (worker,) = workers()
    events.close()  # type: ignore[attr-defined]
    assert not worker.is_running()


def test_a_second_ctrl_c_kills_the_workers(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text(OWN.replace('print("noise among the events")', "time.sleep(60)"))
    events = execute(open_session(api.load(write(tmp_path, {**SHORT, "model": "deaf:Own"})), tmp_path / "runs", jobs=2))
    assert next(events).kind == "began"
    (worker,) = workers()
    for seconds in (0.1, 0.3):
        threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(events)
    assert not worker.is_running()
