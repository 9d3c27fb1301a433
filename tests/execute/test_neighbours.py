"""Exclusive means alone on this host, as far as Paceline's own processes go."""

import subprocess
import sys

from paceline.execute import neighbours


def test_another_process_that_trains_is_seen_while_it_lives(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert not neighbours.others()
    script = "from paceline.execute.neighbours import present\nwith present(): print('here', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        other.stdout.readline()
        assert neighbours.others()
        other.kill()
        other.wait()
        assert not neighbours.others(), "a dead process keeps nobody from being alone"
    with neighbours.present():
        assert not neighbours.others(), "oneself is no neighbour"
