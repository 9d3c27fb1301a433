"""Exclusive means alone on this host, as far as Paceline's own processes go."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paceline.cache import user_cache
from paceline.execute import neighbours
from paceline.record import process

SCRIPT = "from paceline.execute.neighbours import present\nwith present(): print('here', flush=True); input()"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@contextmanager
def another(**environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process that trains, until it is killed."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], text=True, env={**os.environ, **environment}, **pipes
    ) as found:
        assert found.stdout
        found.stdout.readline()
        yield found
        found.kill()


def mark(**said: object) -> Path:
    file = user_cache() / "training" / "x.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"place": process.place(), "pid": 1, "started": 0.0, **said}))
    return file


def test_another_process_that_trains_is_seen_while_it_lives() -> None:
    assert not neighbours.others()
    with another() as other:
        assert neighbours.others()
        other.kill()
        other.wait()
        assert not neighbours.others(), "a dead process keeps nobody from being alone"
    with neighbours.present():
        assert not neighbours.others(), "oneself is no neighbour"


def test_it_is_seen_whatever_its_folder_for_temporary_files(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    with another(TMPDIR=str(tmp_path / "private")):
        assert neighbours.others()


def test_the_mark_of_a_dead_process_whose_number_another_has_is_swept_away() -> None:
    with another() as other:
        pid = other.pid
        (user_cache() / "training").rename(user_cache() / "elsewhere")
        file = mark(pid=pid, started=5.0)
        assert not neighbours.others()
        assert not file.exists()


@pytest.mark.parametrize("said", [{"place": "another host"}, {"pid": "x"}, {"pid": -1}, {"started": None}])
def test_marks_that_say_nothing_of_this_host_are_left_alone(said: dict[str, object]) -> None:
    file = mark(**said)
    assert not neighbours.others()
    assert file.exists()
