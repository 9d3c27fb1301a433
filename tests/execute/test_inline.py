import signal
import threading
from pathlib import Path

import pytest
import torch

from paceline import api
from paceline.execute.inline import inline
from paceline.execute.session import _settle_packs, execute, open_session
from paceline.execute.stop import stop_on_signal
from paceline.record.layout import make_folder

from .studies import ENDLESS, SHORT, job, rows, standing, write


def packs(folder: Path, **said: object) -> tuple[list[str], Path]:
    """A study's packs, one a run, written and not begun."""
    session = open_session(api.load(write(folder, SHORT, measure="time", **said)), folder / "runs")
    make_folder(session.folder.path)
    return _settle_packs(session, session.missing()), session.folder.path


def test_packs_one_after_the_other_timed_exclusive(tmp_path: Path) -> None:
    names, record = packs(tmp_path, repeat=3)
    told = list(inline(names, job(record, tmp_path)))
    assert [event.pack for event in told if event.kind == "ended"] == names
    assert set(api.results("s", out=tmp_path / "runs").runs["timing"]) == {"exclusive"}


def test_a_run_has_the_threads_of_the_job_and_takes_what_it_has_work_for(tmp_path: Path) -> None:
    names, record = packs(tmp_path)
    list(inline(names, job(record, tmp_path, threads=2)))
    assert torch.get_num_threads() == 1
    assert '"threads": 2' in next(record.glob("*/machine.json")).read_text()
    assert '"threads": 1' in next(record.glob("*/status.json")).read_text()


def test_what_cannot_be_recorded_is_refused_and_nothing_more_is_tried(tmp_path: Path) -> None:
    names, record = packs(tmp_path, repeat=3)
    (record / names[1] / "rows.jsonl").mkdir()
    told = list(inline(names, job(record, tmp_path)))
    assert [event.kind for event in told if event.kind in ("ended", "refused")] == ["ended", "refused"]
    assert "rows.jsonl: cannot be written" in told[-1].reason


def test_ctrl_c_between_two_events_stops_at_the_next_boundary(tmp_path: Path) -> None:
    session = open_session(api.load(write(tmp_path, ENDLESS, repeat=2)), tmp_path / "runs", jobs=1, stack=False)
    told, before = [], signal.getsignal(signal.SIGINT)
    for event in execute(session):
        told.append(event)
        if event.kind == "progress" and len(told) < 5:
            signal.raise_signal(signal.SIGINT)
    assert [told[-2].status, told[-1].kind] == ["interrupted", "stopped"]
    assert standing(tmp_path / "runs" / "s") == {"interrupted": 1, "queued": 1}
    assert rows(tmp_path / "runs" / "s").height >= 1
    assert signal.getsignal(signal.SIGINT) is before


def test_a_stop_between_packs_begins_no_other(tmp_path: Path) -> None:
    names, record = packs(tmp_path, repeat=3)
    for event in inline(names, job(record, tmp_path)):
        if event.kind == "ended":
            signal.raise_signal(signal.SIGTERM)
    assert standing(record) == {"done": 1, "queued": 2}


def test_a_second_ctrl_c_is_a_keyboard_interrupt_and_a_second_sigterm_is_not() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_on_signal() as stop:
        assert not stop()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


def test_it_works_in_a_thread_that_may_not_take_signals(tmp_path: Path) -> None:
    file = write(tmp_path, SHORT)
    thread = threading.Thread(target=api.run, args=(file,), kwargs={"out": tmp_path / "runs"})
    thread.start()
    thread.join()
    assert standing(tmp_path / "runs" / "s") == {"done": 1}
