import importlib.metadata
import json
import os
import platform
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from paceline import api
from paceline.execute.cores import environment
from paceline.record import machine
from paceline.record.machine import describe, usable_cores
from paceline.spec.part import read as read_part
from paceline.spec.sources import source_hash


@pytest.fixture(autouse=True)
def _fresh() -> None:
    describe.cache_clear()


def git(folder: Path, *words: str) -> str:
    name = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(folder), *name, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_machine_and_its_software(tmp_path: Path) -> None:
    found = describe(tmp_path)
    assert found["host"] == socket.gethostname()
    assert found["system"] == platform.platform()
    assert found["python"] == platform.python_version()
    assert found["packages"]["torch"] == importlib.metadata.version("torch")
    assert found["packages"]["paceline"] == importlib.metadata.version("paceline")
    assert found["cpu"]
    assert found["cores"] == usable_cores() >= 1
    assert found["memory_gb"] > 0.1
    assert isinstance(found["gpus"], list)
    assert found["git"] is None
    assert json.loads(json.dumps(found)) == found


def test_a_package_that_is_not_there_has_no_version() -> None:
    assert machine._version("no-such-package") is None


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")
def test_cores_are_those_that_were_granted() -> None:
    script = (
        "import os; from paceline.record.machine import usable_cores;"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(usable_cores())"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "1\n"


def test_the_name_of_the_cpu_where_proc_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "Path", lambda name: Path("/nowhere"))
    assert machine.cpu_name() == platform.processor() or platform.machine()


@pytest.mark.parametrize(
    ("node", "build", "found"),
    [
        ("nvidia0", "2.9.0", True),
        ("nvidia0", "2.9.0+cu128", True),
        ("nvidia0", "2.9.0+cpu", False),
        ("nvidiactl", "2.9.0", False),
        ("kfd", "2.9.0+rocm6.4", True),
        ("dxg", "2.9.0", True),
        ("null", "2.9.0", False),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="it has one")
def test_an_accelerator_is_looked_for_without_torch(tmp_path: Path, node: str, build: str, found: bool) -> None:
    (tmp_path / node).touch()
    assert machine.accelerator(tmp_path, build) is found


def test_gpus_are_those_that_may_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node in ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / node).touch()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert machine.gpus(tmp_path) == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,-1,1")
    assert machine.gpus(tmp_path) == ["0"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-abc")
    assert machine.gpus(tmp_path) == ["3", "GPU-abc"]
    assert [environment(1, place)["CUDA_VISIBLE_DEVICES"] for place in (0, 1, 2)] == ["3", "GPU-abc", "3"]
    assert environment(1)["CUDA_VISIBLE_DEVICES"] == "3, GPU-abc"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert environment(1, 0)["CUDA_VISIBLE_DEVICES"] == ""


def test_commit_and_changes_of_the_checkout_that_the_study_lies_in(tmp_path: Path) -> None:
    git(tmp_path, "init")
    assert describe(tmp_path)["git"] is None  # nothing committed yet
    (tmp_path / "model.py").write_text("a = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "study.json").write_text("records beside the study are no change of it")
    commit = git(tmp_path, "rev-parse", "HEAD")
    describe.cache_clear()
    assert describe(tmp_path)["git"] == {"commit": commit, "dirty": False}
    (tmp_path / "model.py").write_text("a = 2\n")
    describe.cache_clear()
    assert describe(tmp_path)["git"] == {"commit": commit, "dirty": True}


def test_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe(tmp_path)["git"] is None


def noted(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("*/machine.json")
    return json.loads(file.read_text())


def test_a_pack_notes_threads_data_and_sources_and_keeps_where_it_was_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_loss_of_test_machine.py").write_text(
        "def half(outputs, targets):\n    return ((outputs - targets) ** 2).mean() / 2\n"
    )
    base = {"data": "line", "model": "line", "loss": "own_loss_of_test_machine:half", "optimizer": "gd"}
    file = tmp_path / "s.yaml"
    file.write_text(json.dumps({"name": "s", "base": {**base, "lr": 0.01, "steps": 3}, "repeat": 2}))
    study = api.load(file)
    api.run(study, out=tmp_path / "runs")
    first = noted(tmp_path / "runs" / "s")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path)])
    assert first["threads"] == usable_cores()
    assert first["device"] == "cpu"
    assert first["data"]["line"].startswith("sha256:")
    loss = read_part("loss", base["loss"])
    assert first["sources"] == {loss.name: source_hash(loss, tmp_path)}
    assert first["earlier"] == []

    (status,) = (tmp_path / "runs" / "s").glob("*/status.json")
    stands = json.loads(status.read_text())
    next(iter(stands["runs"].values()))["status"] = "interrupted"
    status.write_text(json.dumps(stands))
    monkeypatch.setattr(socket, "gethostname", lambda: "elsewhere")
    api.run(study, out=tmp_path / "runs")
    second = noted(tmp_path / "runs" / "s")
    assert second["host"] == "elsewhere"
    assert [old["host"] for old in second["earlier"]] == [first["host"]]
    assert (second["data"], second["sources"]) == (first["data"], first["sources"])
