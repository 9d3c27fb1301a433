"""The anatomy of a step: what is kept of a measurement. A real one is in tests/test_cli_devices.py."""

import json
import time
from pathlib import Path

import pytest

from paceline.errors import DeviceError
from paceline.execute import anatomy as anatomies
from paceline.execute.anatomy import Anatomy, Costs, Work, anatomy, costs_of
from paceline.spec import Run

from .test_neighbours import another

RUN = Run(data="digits", model={"name": "mlp", "widths": [8]}, optimizer="gd", lr=0.1, batch=8, steps=3, device="cpu")
WORK = Work(8, 2.0, (0.0, 1.0), (4, 8), ((1,), (2, 1)), 0.5, 0.1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "paceline"


def test_costs_are_the_line_through_measured_messages():
    taken = [(size, 5e-4 + 1.5 * size * 2e-9) for size in (1e3, 1e6, 1e7)]
    found = costs_of(taken, 4, on_cores=True)
    assert (found.call_seconds, found.seconds_per_byte) == (pytest.approx(5e-4), pytest.approx(2e-9))
    assert found.on_cores
    assert costs_of([(1e3, 1e-3), (1e6, 1e-4)], 2, on_cores=False).seconds_per_byte == 0  # never below


def test_what_was_written_is_read_back():
    import dataclasses

    found = Anatomy(WORK, (WORK, WORK.scaled(2.0)), Costs(1.0, 2.0, True), 5.0)
    assert Anatomy.of(json.loads(json.dumps(dataclasses.asdict(found)))) == found


class Measured:
    """Counts how often a team would be started."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, run, alone, together, folder, data):
        import dataclasses

        self.times += 1
        return dataclasses.asdict(Anatomy(WORK, (WORK,), Costs(0.0, 0.0, True), time.time()))


def test_a_measurement_is_kept_and_shared_by_what_no_step_feels(monkeypatch):
    measured = Measured()
    monkeypatch.setattr(anatomies, "_measured", measured)
    anatomy(RUN, 8, (4,))
    for said in ({"seed": 3}, {"lr": 0.2}, {"steps": 9}, {"devices": 4}):
        assert anatomy(RUN.model_copy(update=said), 8, (4,)).alone == WORK
    assert measured.times == 1
    anatomy(RUN, 8, (4, 1))
    anatomy(RUN.model_copy(update={"accumulate": 2}), 8, (4,))
    assert measured.times == 3


@pytest.mark.parametrize("broken", ["", "{", '{"x": 1}', "[]"])
def test_a_cache_that_cannot_be_read_is_measured_anew(broken, monkeypatch, cache):
    measured = Measured()
    monkeypatch.setattr(anatomies, "_measured", measured)
    anatomy(RUN, 8, (4,))
    (file,) = cache.glob("anatomies-*.json")
    file.write_text(broken)
    anatomy(RUN, 8, (4,))
    assert measured.times == 2


def test_an_old_measurement_is_forgotten(monkeypatch):
    measured = Measured()
    monkeypatch.setattr(anatomies, "_measured", measured)
    monkeypatch.setattr("paceline.cache.KEPT_SECONDS", -1.0)
    anatomy(RUN, 8, (4,))
    anatomy(RUN, 8, (4,))
    assert measured.times == 2


def test_what_was_measured_beside_another_process_is_used_and_not_kept(monkeypatch, cache):
    measured = Measured()
    monkeypatch.setattr(anatomies, "_measured", measured)
    with another():
        assert anatomy(RUN, 8, (4,)).disturbed
    assert not list(cache.glob("anatomies-*.json"))
    assert not anatomy(RUN, 8, (4,)).disturbed
    assert not anatomy(RUN, 8, (4,)).disturbed
    assert measured.times == 2


def test_a_team_that_fails_says_why():
    wrong = RUN.model_copy(update={"data": Run(**{**_said(), "data": "no_such_module:data"}).data})
    with pytest.raises(DeviceError, match=r"could not be measured: .*no_such_module"):
        anatomy(wrong, 8, (4,))


def _said():
    return {"data": "digits", "model": "softmax", "optimizer": "gd", "lr": 0.1, "steps": 1}


def test_a_measurement_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr("paceline.execute.anatomy.PATIENCE", 0.1)
    with pytest.raises(DeviceError, match=r"not measured within 0.1 s. Try a smaller batch, or --no-mechanism."):
        anatomy(RUN, 8, (4,))
