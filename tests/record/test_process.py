"""Which process wrote something down."""

import os
import subprocess
import sys

import psutil
import pytest

from paceline.record import process


def test_this_process_lives_and_another_of_its_number_does_not() -> None:
    assert process.lives(os.getpid(), process.started())
    assert not process.lives(os.getpid(), process.started() - 1000)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there ticks since boot are to be had")
def test_a_clock_that_is_set_kills_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    since = process.started()
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: 0.0)
    assert process.lives(os.getpid(), since)
    assert process.started() == since


def test_an_ended_process_does_not_live() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        since = process._since(psutil.Process(other.pid))
        assert process.lives(other.pid, since)
        other.kill()
        assert other.wait()
    assert not process.lives(other.pid, since)
