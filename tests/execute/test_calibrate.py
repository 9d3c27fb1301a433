"""Measuring how runs train fastest on this machine, before they do."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from paceline import api
from paceline.cli import app
from paceline.errors import PacelineError
from paceline.execute import calibrate as calibration
from paceline.execute import session as sessions
from paceline.execute import speeds
from paceline.execute.calibrate import calibrate
from paceline.execute.session import Session, open_session
from paceline.plan.choose import Speed

from .studies import ENDLESS, SHORT, write
from .test_neighbours import another

SAYING = "Measuring how 2 runs of softmax train fastest on this machine, about "


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def opened(folder: Path, base: dict[str, Any], *, measure: str = "accuracy", repeat: int = 2, **said: Any) -> Session:
    return open_session(api.load(write(folder, base, repeat=repeat, measure=measure)), folder / "runs", **said)


def test_a_long_study_is_measured_once_and_then_planned_by_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "usable_cores", lambda: 2)
    monkeypatch.setattr(calibration, "usable_cores", lambda: 2)
    monkeypatch.setattr(calibration, "ROUNDS", 1)
    session = opened(tmp_path, ENDLESS)
    assert session.jobs_said == (1, 2)
    (line,) = calibrate(session, session.missing())
    assert line.startswith(SAYING)
    (group,) = session.groups.values()
    (found,) = speeds.load().values()
    assert found.keys() == {"row 1", "stack 1", "row 2", "stack 2"}
    assert all(0 < speed.step < 0.1 and 0 <= speed.evaluation < 0.1 for speed in found.values())

    again = opened(tmp_path, ENDLESS)
    assert list(calibrate(again, again.missing())) == []
    expected = {jobs: min(group.seconds(way, jobs, again.speeds) for way in (False, True)) for jobs in (1, 2)}
    assert again.jobs == min(expected, key=lambda jobs: expected[jobs])
    assert again.choice.seconds >= min(expected.values())


@pytest.mark.parametrize(
    ("base", "said"),
    [
        (SHORT, {}),
        (ENDLESS, {"repeat": 1}),
        (ENDLESS, {"measure": "time"}),
        (ENDLESS, {"jobs": 2, "stack": False}),
        (ENDLESS, {"jobs": 1, "stack": True}),
    ],
    ids=["short", "single", "of time", "as asked in a row", "as asked stacked"],
)
def test_nothing_is_measured_where_nothing_hangs_on_it(
    tmp_path: Path, base: dict[str, Any], said: dict[str, Any]
) -> None:
    session = opened(tmp_path, base, **said)
    assert list(calibrate(session, session.missing())) == []


def test_runs_that_cost_alike_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other values of the same data are other groups, whose steps cost the same."""
    monkeypatch.setattr(calibration, "measure", lambda group, jobs: {"row 1": Speed(1.0, 1.0)})
    study = write(tmp_path, ENDLESS, repeat=2, compare={"data.seed": [0, 1, 2]})
    session = open_session(api.load(study), tmp_path / "runs")
    assert len(session.groups) == 3
    (line,) = calibrate(session, session.missing())
    assert line.startswith(SAYING)


def test_a_study_whose_packs_stand_is_not_measured(tmp_path: Path) -> None:
    session = opened(tmp_path, ENDLESS)
    assert list(calibrate(session, set())) == []


def test_a_measurement_that_fails_is_said_and_the_plan_rests_on_estimates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    session = opened(tmp_path, ENDLESS)
    said, failed = calibrate(session, session.missing())
    assert said.startswith(SAYING)
    assert failed.startswith("That failed, so the plan rests on estimates: the measuring process")
    assert speeds.load() == {}


def test_a_measuring_process_that_has_died_is_an_error_and_nothing_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    (group,) = opened(tmp_path, ENDLESS).groups.values()
    with calibration._Worker(group, 1, 0) as worker:
        worker._process.wait()
        with pytest.raises(PacelineError, match="is gone"):
            worker.begin()


@pytest.mark.parametrize("how", ["api", "cli"])
def test_the_run_that_measures_goes_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """A measurement made up: in a row is faster, against all estimates."""

    def measured(session: Session, missing: set[str]) -> Iterator[str]:
        yield "Measuring."
        for group in session.groups.values():
            speeds.keep(group.kind or "", {"row 1": Speed(1e-9, 1e-9), "stack 1": Speed(1.0, 1.0)})

    monkeypatch.setattr(api, "calibrate", measured)
    monkeypatch.setattr(calibration, "calibrate", measured)
    file = write(tmp_path, SHORT, repeat=2)
    if how == "api":
        api.run(file, out=tmp_path / "runs")
    else:
        app(["run", str(file), "--out", str(tmp_path / "runs")], standalone_mode=False)
    assert set(api.results("s", out=tmp_path / "runs").runs["timing"]) == {"exclusive"}


def test_beside_another_process_that_trains_nothing_is_measured(tmp_path: Path) -> None:
    session = opened(tmp_path, ENDLESS)
    with another():
        (line,) = calibrate(session, session.missing())
    assert line.startswith("How 2 runs of softmax train fastest is not measured, for another process trains here")
    assert speeds.load() == {}


def test_what_another_process_may_have_disturbed_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins while speeds are measured; and who measures is seen by others."""
    session, exits = opened(tmp_path, ENDLESS), ExitStack()

    def measure(*_: Any) -> dict[str, Speed]:
        exits.enter_context(another())
        marks = (tmp_path / "cache" / "paceline" / "training").glob("*.json")
        assert str(os.getpid()) in "".join(mark.read_text() for mark in marks)
        return {"row 1": Speed(1.0, 1.0)}

    monkeypatch.setattr(calibration, "measure", measure)
    with exits:
        _, line = calibrate(session, session.missing())
    assert line.startswith("Another process began to train meanwhile, so that is not kept")
    assert speeds.load() == {}
