"""Full disks, unwritable folders, files edited by hand: a clear word, exit code 2, and nothing lost."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paceline import api
from paceline.train import checkpoint

from .studies import BASE, SHORT, files, lines, rows, standing, write
from .zygote import Child, Zygote

either_way = pytest.mark.parametrize("way", ["--no-stack", "--stack"])
ROWS = {**BASE, "steps": 400, "evaluate_every": 1}


def refused(child: Child, *words: str) -> None:
    assert child.wait() == 2, child.said
    assert "error: " in child.said
    assert "Traceback" not in child.said
    for word in words:
        assert word in child.said


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A filesystem of 64 KB, and how to make it larger."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount")
    yield place, lambda: subprocess.run(["mount", "-o", "remount,size=10m", place], check=True) and None
    subprocess.run(["umount", place], check=True)


@either_way
def test_a_disk_that_fills_up(
    way: str, tmp_path: Path, paceline: Zygote, small_disk: tuple[Path, Callable[[], None]]
) -> None:
    disk, enlarge = small_disk
    file = write(tmp_path, ROWS, repeat=2)
    command = ("run", file, "--out", disk, way)
    refused(paceline(*command), "No space left on device", "what is recorded so far is kept")
    kept = rows(disk / "s")
    assert kept.height > 50
    refused(paceline(*command), "cannot be written")
    assert rows(disk / "s").height >= kept.height - 1
    enlarge()
    assert paceline(*command).wait() == 0
    api.run(file, out=tmp_path / "whole", stack=way == "--stack")
    assert rows(disk / "s").equals(rows(tmp_path / "whole" / "s"))
    assert files(disk / "s") == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}


def test_a_file_that_may_not_grow(tmp_path: Path, paceline: Zygote) -> None:
    file, record = write(tmp_path, ROWS), tmp_path / "runs" / "s"
    refused(paceline("run", file, "--out", tmp_path / "runs", file_size=20_000), "rows.jsonl", "File too large")
    assert rows(record).height > 20
    assert standing(record) == {"interrupted": 1}
    assert paceline("run", file, "--out", tmp_path / "runs").wait() == 0
    api.run(file, out=tmp_path / "whole")
    assert rows(record).equals(rows(tmp_path / "whole" / "s"))


@either_way
def test_a_checkpoint_that_finds_no_room(way: str, tmp_path: Path, paceline: Zygote) -> None:
    base = {**SHORT, "model": {"name": "mlp", "widths": [100, 100]}}
    file, record = write(tmp_path, base, repeat=2), tmp_path / "runs" / "s"
    child = paceline("run", file, "--out", tmp_path / "runs", way, file_size=20_000, checkpoint_seconds=0)
    refused(child, "checkpoint: cannot be written", "File too large")
    assert standing(record) == ({"interrupted": 2} if way == "--stack" else {"interrupted": 1, "queued": 1})
    assert paceline("run", file, "--out", tmp_path / "runs").wait() == 0
    assert standing(record) == {"done": 2}
    assert files(record) == {"pack.json", "machine.json", "rows.jsonl", "examined.jsonl", "status.json"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder_that_cannot_be_written(tmp_path: Path, paceline: Zygote, jobs: int) -> None:
    file = write(tmp_path, SHORT)
    (tmp_path / "out").write_text("a file")
    refused(paceline("run", file, "--out", tmp_path / "out", "--jobs", jobs), "out/s: cannot be written")
    refused(paceline("run", file, "--out", "/proc", "--jobs", jobs), "/proc/s: cannot be written")
    assert (tmp_path / "out").read_text() == "a file"


@pytest.fixture
def record(tmp_path: Path, paceline: Zygote) -> Path:
    """A study of two runs, one done and one interrupted with a checkpoint."""
    file = write(tmp_path, SHORT, repeat=2)
    assert paceline("run", file, "--out", tmp_path / "runs", "--no-stack", checkpoint_seconds=0).wait() == 0
    place = tmp_path / "runs" / "s"
    (status,) = place.glob("*/status.json")
    stands = json.loads(status.read_text())
    list(stands["runs"].values())[1]["status"] = "interrupted"
    status.write_text(json.dumps(stands))
    return place


EDITS = {
    "pack.json cut short": ("pack.json", lambda text: text[: len(text) // 2]),
    "pack.json of another setting": ("pack.json", lambda text: text.replace('"batch": 20', '"batch": 21')),
    "pack.json with a wrong value": ("pack.json", lambda text: text.replace('"batch": 20', '"batch": "many"')),
    "pack.json without its settings": ("pack.json", lambda text: text.replace('"config"', '"settings"')),
    "pack.json without runs": ("pack.json", lambda text: text.replace('"runs"', '"ran"')),
    "status.json emptied": ("status.json", lambda text: ""),
    "status.json with an unknown status": ("status.json", lambda text: text.replace("interrupted", "resting")),
    "status.json of another format": ("status.json", lambda text: text.replace('"format": 1', '"format": 2')),
    "rows.jsonl with a broken line": ("rows.jsonl", lambda text: text.replace('"step":2', '"step":', 1)),
    "rows.jsonl with a word for a number": ("rows.jsonl", lambda text: text.replace('"step":2', '"step":"two"', 1)),
    "machine.json a list": ("machine.json", lambda text: "[]"),
    "machine.json with odd data": ("machine.json", lambda text: text.replace('"data": {', '"data": 5, "x": {')),
    "machine.json with an odd past": ("machine.json", lambda text: text.replace('"earlier": []', '"earlier": [1]')),
    "status.json with odd sources": ("status.json", lambda text: text.replace('"sources": {', '"sources": 5, "x": {')),
    "checkpoint of noise": ("checkpoint", lambda text: "noise"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_file_edited_by_hand_is_named_and_left_as_it_is(
    edit: str, tmp_path: Path, record: Path, paceline: Zygote
) -> None:
    name, change = EDITS[edit]
    (pack,) = record.glob("*/pack.json")
    target = pack.with_name(name)
    before = target.read_text() if target.exists() else ""
    target.write_text(change(before))
    assert target.read_text() != before
    others = {path: path.read_bytes() for path in pack.parent.iterdir() if path.name != "rows.jsonl"}
    refused(paceline("run", tmp_path / "s.yaml", "--out", tmp_path / "runs"), name)
    assert {path: path.read_bytes() for path in others} == others or name == "rows.jsonl"
    target.write_text(before) if before else target.unlink()
    assert paceline("run", tmp_path / "s.yaml", "--out", tmp_path / "runs").wait() == 0
    assert standing(record) == {"done": 2}


def test_a_checkpoint_of_something_else(tmp_path: Path, record: Path, paceline: Zygote) -> None:
    (pack,) = record.glob("*/pack.json")
    for state in ({"run": "x"}, {}, {"run": ["x"], "data": 1, "sources": {}}):
        checkpoint.save(pack.with_name("checkpoint"), state)
    checkpoint.save(pack.with_name("checkpoint"), {})
    refused(paceline("run", tmp_path / "s.yaml", "--out", tmp_path / "runs"), "checkpoint", "the run starts anew")


def test_rows_deleted_by_hand(tmp_path: Path, record: Path, paceline: Zygote) -> None:
    (file,) = record.glob("*/rows.jsonl")
    shutil.move(file, tmp_path / "elsewhere")
    refused(paceline("run", tmp_path / "s.yaml", "--out", tmp_path / "runs"), "rows.jsonl", "it is gone")
    shutil.move(tmp_path / "elsewhere", file)
    assert paceline("run", tmp_path / "s.yaml", "--out", tmp_path / "runs").wait() == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "folder": "", "study": []}'])
def test_a_study_edited_by_hand_is_refused_when_read_and_mended_by_a_run(
    text: str, tmp_path: Path, record: Path, paceline: Zygote
) -> None:
    (record / "study.json").write_text(text)
    for verb in ("table", "status"):
        refused(paceline(verb, "s", "--out", tmp_path / "runs"), "study.json")
    assert paceline("run", tmp_path / "s.yaml", "--out", tmp_path / "runs").wait() == 0
    assert paceline("table", "s", "--out", tmp_path / "runs").wait() == 0


def test_a_study_that_cannot_be_read_is_a_line_beside_the_others(
    tmp_path: Path, record: Path, paceline: Zygote
) -> None:
    shutil.copytree(record, record.with_name("t"))
    (record / "study.json").write_text("{")
    child = paceline("status", "--out", tmp_path / "runs")
    assert child.wait() == 2
    assert "\nt " in child.said
    assert "error: s: " in child.said
    assert "Traceback" not in child.said


def test_a_pack_folder_deleted_while_it_is_trained_is_not_called_done(tmp_path: Path) -> None:
    from paceline.execute.session import execute, open_session

    file = write(tmp_path, SHORT)
    for event in execute(open_session(api.load(file), tmp_path / "runs")):
        if event.kind == "progress" and lines(tmp_path / "runs" / "s"):
            shutil.rmtree(tmp_path / "runs" / "s" / event.pack)
        last = event
    assert last.kind == "refused"
    assert "No such file" in last.reason
    api.run(file, out=tmp_path / "runs")
    assert rows(tmp_path / "runs" / "s")["step"].to_list() == [0, 2, 4, 6]
