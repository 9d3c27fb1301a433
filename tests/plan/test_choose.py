"""Stack or row, and how many processes: the least seconds, by measured speeds or by the model."""

from collections.abc import Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.plan.choose import (
    MEASURE_SECONDS,
    TRY_RUNS,
    Choice,
    Group,
    Speed,
    choose,
    groups,
    kind,
    unmeasured,
    way,
)
from paceline.plan.cost import PROCESS_SECONDS, START_SECONDS, Cost, cost
from paceline.plan.expand import Trial, expand
from paceline.plan.packs import pack
from paceline.plan.stacks import MEMORY_SHARE, alike
from paceline.spec import Run

from .studies import study

PLENTY = 64e9
WAYS = [(stacked, jobs) for stacked in (False, True) for jobs in (1, 2)]
positive = st.floats(1e-6, 1e-1)


def costs(run: Run, jobs: int) -> Cost | None:
    return cost(run, max(1, 2 // jobs))


def found(memory: float = PLENTY, jobs: tuple[int, ...] = (1, 2), **said: Any) -> dict[Hashable, Group]:
    return groups(expand(study(**said), own_parts=False), costs, jobs, memory)


def only(known: dict[Hashable, Group]) -> Group:
    (group,) = known.values()
    return group


def measured(known: dict[Hashable, Group], steps: dict[tuple[bool, int], float]) -> dict[str, dict[str, Speed]]:
    """The same made-up speeds for all groups."""
    speeds = {way(stacked, jobs): Speed(seconds, seconds / 10) for (stacked, jobs), seconds in steps.items()}
    return {group.kind: speeds for group in known.values() if group.kind}


def sizes(choice: Choice) -> list[int]:
    return list(choice.stacks.values())


@given(st.fixed_dictionaries(dict.fromkeys(WAYS, positive)), st.integers(1, 100_000))
def test_the_least_of_what_was_measured(steps: dict[tuple[bool, int], float], length: int) -> None:
    known = found(base={"steps": length}, tune={"lr": [0.1, 0.2, 0.3]})
    rows = only(known).costs[1][0].rows
    seconds = {
        (stacked, jobs): 9 * (START_SECONDS + length * step + rows * step / 10) + PROCESS_SECONDS * (jobs > 1)
        for (stacked, jobs), step in steps.items()
    }
    choice = choose(known, (1, 2), measured(known, steps))
    assert choice.seconds == pytest.approx(min(seconds.values()))
    assert seconds[sizes(choice)[0] > 0, choice.jobs] == pytest.approx(choice.seconds)


def test_every_group_has_its_way_and_all_have_one_number_of_jobs() -> None:
    known = found(base={"steps": 10_000}, compare={"batch": [10, 100]}, repeat=3)
    small, large = (group.kind or "" for group in known.values())
    slow, fast = Speed(1e-3, 1e-3), Speed(1e-4, 1e-4)
    speeds = {
        small: {"row 1": slow, "stack 1": fast, "row 2": slow, "stack 2": slow},
        large: {"row 1": fast, "stack 1": slow, "row 2": fast, "stack 2": slow},
    }
    choice = choose(known, (1, 2), speeds)
    assert (choice.jobs, [size > 0 for size in sizes(choice)]) == (1, [True, False])
    assert list(choice.why.values()) == ["a stack is not faster (measured)"]
    assert set(choice.why) < set(choice.stacks) == set(known)


def test_more_processes_are_taken_when_they_repay_their_start() -> None:
    steps = {(False, 1): 1e-3, (True, 1): 1e-3, (False, 2): 5e-4, (True, 2): 5e-4}
    for length, jobs in ((1000, 1), (100_000, 2)):
        known = found(base={"steps": length}, repeat=4)
        assert choose(known, (1, 2), measured(known, steps)).jobs == jobs
        assert choose(known, (1,), measured(known, steps)).jobs == 1


def test_what_is_asked_for_is_done_at_any_price() -> None:
    known = found(repeat=4)
    dear = measured(known, {(stacked, jobs): 1.0 if stacked else 1e-6 for stacked, jobs in WAYS})
    cheap = measured(known, {(stacked, jobs): 1e-6 if stacked else 1.0 for stacked, jobs in WAYS})
    assert sizes(choose(known, (1,), dear)) == [0]
    assert sizes(choose(known, (1,), dear, stack=True)) == [only(known).most]
    asked = choose(known, (1,), cheap, stack=False)
    assert (sizes(asked), list(asked.why.values())) == ([0], ["as asked"])


@pytest.mark.parametrize(
    ("said", "memory", "why"),
    [
        ({"repeat": 1}, PLENTY, "no other run has the same data, model, loss and batch"),
        ({"repeat": 2}, 1e3, "two of them would take too much memory"),
        (
            {"base": {"data": "mnist", "model": "lab_cnn", "steps": 500, "evaluate_every": 500}, "repeat": 2},
            PLENTY,
            "a stack is not faster (estimated)",
        ),
        ({"base": {"model": "mine:Net"}, "repeat": 1}, PLENTY, "parts of your own"),
    ],
)
def test_why_runs_train_in_a_row(said: dict[str, Any], memory: float, why: str) -> None:
    choice = choose(found(memory, **said), (1,), {})
    assert (sizes(choice), list(choice.why.values())) == ([0], [why])


def test_parts_whose_size_nobody_knows_are_tried() -> None:
    known = found(base={"model": "mine:Net"}, repeat=3)
    assert only(known).kind is None
    assert sizes(choose(known, (1, 2), {})) == [TRY_RUNS]
    assert sizes(choose(known, (1, 2), {}, stack=False)) == [0]
    assert unmeasured(known, (1, 2), {}) == []


def test_nothing_to_train_is_one_process() -> None:
    assert choose({}, (1, 8), {}) == Choice(1, {})


def test_by_the_model_small_runs_are_stacked() -> None:
    choice = choose(found(compare={"optimizer": ["adam", "gd"]}, tune={"lr": [0.1, 0.2]}), (1, 2), {})
    assert (choice.jobs, sizes(choice)[0] > 1, choice.why) == (1, True, {})


def test_groups_hold_every_run_once() -> None:
    cases = {"a": {"lr": 1}, "b": {"lr": 1.0}, "c": {"batch": 5}}
    whole = expand(study(cases=cases, repeat=2))
    known = groups(whole, costs, (1,), PLENTY)
    assert sorted(trial.id for group in known.values() for trial in group.trials) == sorted({t.id for t in whole})
    assert [len(group.trials) for group in known.values()] == [2, 2]
    assert all(alike(trial.run) == key for key, group in known.items() for trial in group.trials)


def test_jobs_share_the_time_only_among_as_many_runs() -> None:
    group = only(found(repeat=3, jobs=(1, 2, 8)))
    assert group.rough(False, 8) == pytest.approx(sum(cost.seconds for cost in group.costs[8]) / 3)
    assert group.rough(False, 2) == pytest.approx(sum(cost.seconds for cost in group.costs[2]) / 2)


def test_little_memory_makes_more_packs() -> None:
    whole = expand(study(base={"model": "mlp"}, repeat=42))
    each = (costs(whole[0].run, 1) or Cost(0, 0, 0, 0)).stack_bytes
    packs = {}
    for runs in (42, 14, 3):
        known = groups(whole, costs, (1,), (runs + 0.5) * each / MEMORY_SHARE)
        choice = choose(known, (1,), {}, stack=True)
        packs[runs] = pack(whole, {}, stacks=choice.stacks)
        assert all(p.stacked and len(p.trials) <= runs for p in packs[runs])
    assert [len(of) for of in packs.values()] == [1, 3, 14]


def of_kind(**said: Any) -> str:
    trials: list[Trial] = expand(study(**{"repeat": 1, **said}))
    return kind(trials)


def test_a_kind_is_of_what_steps_cost() -> None:
    first = of_kind()
    assert first == of_kind(repeat=5) == of_kind(base={"lr": 3, "steps": 99, "schedule": "cosine", "clip_norm": 1})
    others = [{"batch": 7}, {"model": "mlp"}, {"optimizer": "gd"}, {"precision": "fp64"}, {"data": "synthetic"}]
    kinds = {first, *(of_kind(base=other) for other in others)}
    assert len(kinds) == 1 + len(others)
    assert of_kind(base={"data": "mnist"}) == of_kind(base={"data": "fashion_mnist"}), "of one shape"


def test_what_it_would_pay_to_measure() -> None:
    long, jobs = {"steps": 10**8}, (1, 2)
    known = found(base=long, repeat=3)
    group = only(known)
    assert min(group.rough(stacked, count) for stacked, count in WAYS) > MEASURE_SECONDS
    assert unmeasured(known, jobs, {}) == [group]
    steps = dict.fromkeys(WAYS, 1e-3)
    assert unmeasured(known, jobs, measured(known, steps)) == []
    steps.pop((True, 2))
    assert unmeasured(known, jobs, measured(known, steps)) == [group]
    assert unmeasured(known, (1,), measured(known, steps)) == []
    assert unmeasured(found(repeat=3), jobs, {}) == [], "too short"
    assert unmeasured(found(base=long, repeat=1), jobs, {}) == [], "nothing to stack it with"
    assert unmeasured(found(base=long, repeat=3, memory=1e3), jobs, {}) == [], "no room to"
