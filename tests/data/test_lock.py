import errno
import subprocess
import sys
import threading

from paceline.data import lock
from paceline.data.lock import alone


def test_the_second_waits_for_the_first(tmp_path):
    order, waits = [], threading.Event()

    def second():
        with alone(tmp_path, waits.set):
            order.append("second")

    with alone(tmp_path, waits.set):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(10)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_holder_that_dies_leaves_no_lock(tmp_path):
    code = (
        "import os, sys, pathlib; from paceline.data.lock import alone\n"
        "with alone(pathlib.Path(sys.argv[1]), print): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)]).returncode == 9
    waited = []
    with alone(tmp_path, lambda: waited.append(1)):
        assert waited == []


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    def refuse(handle, *, wait):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock", refuse)
    with alone(tmp_path, lambda: None):
        pass
