"""Runs -> packs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.plan.cost import Cost
from paceline.plan.expand import Trial, expand
from paceline.plan.packs import MAX_RUNS, MAX_SECONDS, Pack, pack

from .studies import study

RUN = expand(study(repeat=1))[0].run
seconds = st.lists(st.none() | st.floats(0.01, 100), max_size=250)


def trials(count: int) -> list[Trial]:
    return [Trial(f"{index:016x}", "", {}, RUN) for index in range(count)]


def costs(seconds: list[float | None]) -> dict[str, Cost | None]:
    known = [None if value is None else Cost(1, 1, value, 1.0) for value in seconds]
    return dict(zip((trial.id for trial in trials(len(seconds))), known, strict=True))


@given(seconds, st.integers(1, 8), st.booleans())
def test_every_run_stands_once_and_in_order(seconds: list[float | None], jobs: int, alone: bool) -> None:
    runs = trials(len(seconds))
    packs = pack([*runs, *runs[:10]], costs(seconds), jobs=jobs, alone=alone)
    assert [trial.id for p in packs for trial in p.trials] == [trial.id for trial in runs]
    assert len({p.id for p in packs}) == len(packs)
    assert all(1 <= len(p.trials) <= MAX_RUNS for p in packs)


@given(seconds, st.integers(1, 8))
def test_a_pack_is_short_and_an_unknown_run_is_alone(seconds: list[float | None], jobs: int) -> None:
    known = costs(seconds)
    for p in pack(trials(len(seconds)), known, jobs=jobs):
        times = [c.seconds if (c := known[trial.id]) else None for trial in p.trials]
        assert times == [None] or None not in times
        assert len(times) == 1 or sum(t or 0 for t in times) <= MAX_SECONDS


@given(seconds)
def test_timing_asks_for_a_pack_a_run(seconds: list[float | None]) -> None:
    assert all(len(p.trials) == 1 for p in pack(trials(len(seconds)), costs(seconds), alone=True))


def test_short_runs_share_packs_so_that_all_jobs_have_work() -> None:
    packs = pack(trials(400), costs([0.5] * 400), jobs=2)
    assert len(packs) == 8
    assert {len(p.trials) for p in packs} == {50}


def test_a_pack_is_named_by_its_runs() -> None:
    runs = trials(3)
    names = {Pack(tuple(runs)).id, Pack(tuple(runs[:2])).id, Pack(tuple(reversed(runs))).id}
    assert len(names) == 3
    assert Pack(tuple(runs)).id == Pack(tuple(trials(3))).id
    assert all(len(name) == 12 for name in names)


@pytest.mark.parametrize("count", [0, 1, 101])
def test_free_runs(count: int) -> None:
    assert [len(p.trials) for p in pack(trials(count), costs([0.0] * count))] == [100, 1][-count:] * bool(count)


def test_nothing_is_lost_between_neighbours() -> None:
    packs = pack(trials(50), costs([7.0] * 50), jobs=1)
    limit = min(MAX_SECONDS, 50 * 7.0 / 4)
    assert all((len(a.trials) + len(b.trials)) * 7 > limit for a, b in pairwise(packs))
