"""Claims among real processes: some hold, some die holding, some come back from another host."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from paceline.errors import RecordError
from paceline.record import claim as claims
from paceline.record import process
from paceline.record.claim import LEASE, Claim, alive, waited

HOLD = """
import sys, time
from pathlib import Path
from paceline.record.claim import Claim
with Claim(Path(sys.argv[1])) as claim:
    print(claim.held, flush=True)
    time.sleep(60)
"""

STORM = """
import os, random, sys, time
from pathlib import Path
from paceline.record.claim import Claim

path, marker = Path(sys.argv[1]), Path(sys.argv[1] + ".marker")

def live(seed):
    draw = random.Random(seed)
    while time.monotonic() < end:
        with Claim(path) as claim:
            if not claim.held:
                continue
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL))  # fails if another holds too
            time.sleep(draw.random() * 0.002)
            marker.unlink()
            if draw.random() < 0.3:
                os._exit(7)  # dies holding

def fork(seed):
    if os.fork() == 0:
        try:
            live(seed)
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)

end = time.monotonic() + float(sys.argv[2])
for seed in range(5):
    fork(seed)
codes = []
while codes.count(0) + codes.count(1) < 5:
    codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
    if codes[-1] == 7:
        seed += 1
        fork(seed)
print(codes.count(7))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "claim"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "True\n"
        yield process
        process.kill()


def plant(path: Path, age: float = 0.0, **changes: object) -> None:
    """A claim as somebody else has left it."""
    owner = {"place": "elsewhere", "pid": 1, "started": 0.0, "token": "abc", **changes}
    path.write_text(json.dumps(owner))
    os.utime(path, (time.time() - age, time.time() - age))


def takes(path: Path) -> bool:
    with Claim(path) as claim:
        return claim.held


def test_one_holds_and_leaves_nothing_behind(path: Path) -> None:
    with Claim(path) as first:
        assert first.held
        assert alive(path)
        assert not takes(path)
        assert alive(path)
    assert not alive(path)
    assert list(path.parent.iterdir()) == []
    assert takes(path)


def test_it_is_released_when_the_work_fails(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Claim(path):
        raise ZeroDivisionError
    assert list(path.parent.iterdir()) == []


def test_a_living_process_keeps_it_and_a_killed_one_loses_it_at_once(path: Path, holder: subprocess.Popen[str]) -> None:
    os.utime(path, (0, 0))  # however long it has been silent: on this host its process is looked at
    assert alive(path)
    assert not takes(path)
    holder.kill()
    holder.wait()
    assert not alive(path)
    assert takes(path)
    assert list(path.parent.iterdir()) == []


def test_a_process_that_is_dead_but_not_yet_buried_holds_nothing(path: Path, holder: subprocess.Popen[str]) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    while psutil.Process(holder.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert not alive(path)
    assert takes(path)


def test_another_process_with_the_number_of_a_dead_one_holds_nothing(path: Path) -> None:
    plant(path, place=process.place(), pid=os.getpid(), started=psutil.Process().create_time() - 100)
    assert not alive(path)
    assert takes(path)


def test_from_another_host_it_lives_until_its_lease_is_over(path: Path) -> None:
    plant(path, age=LEASE - 10)
    assert alive(path)
    assert not takes(path)
    plant(path, age=LEASE + 10)
    assert not alive(path)
    assert takes(path)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["", '{"pla', "[]", "5", "{}", '{"place": "h", "pid": "x", "started": 1, "token": "a"}', '{"place": "h", "pid": -1, "started": 1, "token": "a"}', '{"place": "h", "pid": 1, "started": 1, "token": "/"}'],
)  # fmt: skip
def test_one_killed_while_it_wrote_its_claim_blocks_no_longer_than_the_lease(path: Path, text: str) -> None:
    path.write_text(text)
    assert alive(path)
    assert not takes(path)
    os.utime(path, (time.time() - LEASE - 1, time.time() - LEASE - 1))
    assert not alive(path)
    assert takes(path)
    assert list(path.parent.iterdir()) == []


def test_a_number_that_no_process_can_have_is_dead(path: Path) -> None:
    plant(path, place=process.place(), pid=10**12)
    assert takes(path)


def test_an_heir_that_died_too_is_followed(path: Path) -> None:
    plant(path, age=LEASE + 1, token="first")
    plant(path.with_name(".claim.first"), age=LEASE + 1, token="second")
    with Claim(path) as third:
        assert third.held
        assert path.with_name(".claim.second").exists()
        assert not takes(path)
    assert list(path.parent.iterdir()) == []


def test_a_slow_taker_of_a_claim_that_was_followed_and_released_gets_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(path, age=LEASE + 1)
    make = claims._make

    def late(mine: Path) -> bool:
        monkeypatch.setattr(claims, "_make", make)
        assert takes(path)
        return make(mine)

    monkeypatch.setattr(claims, "_make", late)
    with Claim(path) as slow:
        assert not slow.held
    assert list(path.parent.iterdir()) == []
    assert takes(path)


def test_it_is_touched_while_it_is_held(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "BEAT", 0.02)
    with Claim(path) as claim:
        os.utime(path, (0, 0))
        until = time.monotonic() + 5
        while path.stat().st_mtime < 1 and time.monotonic() < until:
            time.sleep(0.01)
        assert path.stat().st_mtime > 1
        assert not claim.lost


def test_one_that_was_taken_over_learns_it_and_leaves_the_heir_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "BEAT", 0.02)
    with Claim(path) as claim:
        heir = path.with_name(f".claim.{json.loads(path.read_text())['token']}")
        plant(heir)
        until = time.monotonic() + 5
        while not claim.lost and time.monotonic() < until:
            time.sleep(0.01)
        assert claim.lost
    assert path.exists()
    assert heir.exists()
    assert alive(path)


def test_waited_waits_for_the_one_before(path: Path, holder: subprocess.Popen[str]) -> None:
    began = time.monotonic()
    subprocess.Popen(["sh", "-c", f"sleep 0.4; kill -9 {holder.pid}"]).wait()
    with waited(path):
        assert alive(path)
    assert time.monotonic() - began > 0.3
    assert list(path.parent.iterdir()) == []


def test_waited_polls(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(path)
    monkeypatch.setattr(claims, "POLL", 0.0)
    monkeypatch.setattr(claims, "LEASE", 0.2)
    with waited(path):
        assert alive(path)


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"claim: cannot be written \(No such file"), Claim(tmp_path / "no" / "claim"):
        pass
    with pytest.raises(RecordError, match=r"claim: cannot be written"), Claim(Path("/proc/claim")):
        pass


def test_a_full_disk_leaves_no_half_claim(path: Path) -> None:
    script = (
        "import resource, sys; from pathlib import Path; from paceline.record.claim import Claim\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))\n"
        "Claim(Path(sys.argv[1])).__enter__()"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True)
    assert "RecordError" in done.stderr
    assert "File too large" in done.stderr
    assert list(path.parent.iterdir()) == []


def test_age_where_the_folder_takes_no_probe() -> None:
    assert claims._now(Path("/proc")) == pytest.approx(time.time(), abs=5)
    assert not alive(Path("/proc/claim"))


def test_in_a_storm_of_takers_that_die_holding_never_do_two_hold_at_once(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", STORM, str(path), "2"], capture_output=True, text=True, timeout=60)
    *said, last = done.stdout.splitlines()
    assert not said, done.stdout + done.stderr
    assert int(last) > 20


def test_a_claim_is_not_lost_because_it_could_not_be_read_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file can be opened for the length of two beats."""
    monkeypatch.setattr(claims, "BEAT", 0.01)
    path = tmp_path / "claim"
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Claim(path) as claim:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))
        try:
            for _ in range(3):
                touched = path.stat().st_mtime_ns
                while path.stat().st_mtime_ns == touched:
                    time.sleep(0.001)
            assert alive(path)
            with Claim(path) as other:
                assert not other.held
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        assert not claim.lost
    assert not path.exists()
