"""Runs -> packs."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.plan.cost import Cost
from paceline.plan.expand import Trial, expand
from paceline.plan.packs import MAX_RUNS, MAX_SECONDS, Pack, pack
from paceline.plan.stacks import alike

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


WIDE = expand(study(compare={"batch": [10, 20, 30]}, tune={"lr": [0.1, 0.2, 0.3, 0.4]}, repeat=3))
KINDS = list(dict.fromkeys(alike(trial.run) for trial in WIDE))


@given(st.lists(st.integers(0, 20), min_size=3, max_size=3), st.integers(1, 8))
def test_stacks_and_rows_hold_every_run_once(most: list[int], jobs: int) -> None:
    stacks = dict(zip(KINDS, most, strict=True))
    packs = pack(WIDE, {}, jobs=jobs, stacks=stacks)
    assert sorted(trial.id for p in packs for trial in p.trials) == sorted(trial.id for trial in WIDE)
    for p in packs:
        kinds = {alike(trial.run) for trial in p.trials}
        assert p.stacked == (len(p.trials) > 1), "of unknown cost, one in a row is alone"
        assert not p.stacked or len(p.trials) <= stacks[kinds.pop()]
        assert not kinds or not p.stacked


def test_packs_come_in_the_order_of_their_first_runs() -> None:
    place = {trial.id: index for index, trial in enumerate(WIDE)}
    packs = pack(WIDE, {}, stacks={KINDS[1]: 100})
    firsts = [place[p.trials[0].id] for p in packs]
    assert firsts == sorted(firsts)
    assert [p.stacked for p in packs].count(True) == 1


def test_one_that_is_left_is_no_stack() -> None:
    (single,) = pack(WIDE[:1], {}, stacks=dict.fromkeys(KINDS, 100))
    assert not single.stacked


def test_each_job_has_a_stack() -> None:
    alone = [trial for trial in WIDE if alike(trial.run) == KINDS[0]]
    assert [len(p.trials) for p in pack(alone, {}, jobs=3, stacks={KINDS[0]: 100})] == [4, 4, 4]
