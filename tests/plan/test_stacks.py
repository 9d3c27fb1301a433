"""Which runs may share a stack, and how large it is."""

import math
from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.plan.expand import Trial
from paceline.plan.stacks import CACHE_BYTES, LANE, MAX_STACK, alike, apart, most_runs, split
from paceline.spec import Run
from paceline.spec.parts import TABLE

FIRST: dict[str, Any] = {
    "data": {"name": "digits"},
    "model": {"name": "mlp"},
    "loss": {"name": "softmax_ce"},
    "optimizer": "adam",
    "lr": 0.1,
    "steps": 10,
}
ALIKE: dict[str, list[Any]] = {
    "seed": [0, 1, 7],
    "optimizer": ["adam", "gd", {"name": "muon", "ns_steps": 3}, "torch.optim:SGD"],
    "lr": [0.1, 0.01],
    "schedule": ["constant", "cosine"],
    "warmup": [0, 3],
    "steps": [10, 20],
    "evaluate_every": [None, 5],
    "early_stop": [None, {"patience": 3}],
    "clip_norm": [None, 1.0],
    "clip_value": [None, 1.0],
    "model.dropout": [0.0, 0.5],
    "model.init": ["kaiming", "torch"],
    "loss.label_smoothing": [0.0, 0.1],
}
UNLIKE: dict[str, list[Any]] = {
    "data": [{"name": "digits"}, {"name": "synthetic"}, {"name": "digits", "validation": 200}],
    "model.widths": [[128], [128, 128]],
    "model.activation": ["relu", "tanh"],
    "loss.name": ["softmax_ce", "mse"],
    "batch": [100, 50, "50 + 10 * epoch"],
    "order": ["shuffle", "file"],
    "subset": [None, 64, {"size": 64, "redraw": "epoch"}],
    "overlap": [0, 0.5],
    "precision": ["fp32", "fp64"],
    "device": ["auto", "cpu"],
}


def run(**said: Any) -> Run:
    plain = {key: dict(value) if isinstance(value, dict) else value for key, value in FIRST.items()}
    for key, value in said.items():
        part, _, argument = key.partition(".")
        if argument:
            plain[part][argument] = value
        else:
            plain[key] = value
    return Run.model_validate(plain)


def drawn(of: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({key: st.sampled_from(values) for key, values in of.items()})


@given(drawn(UNLIKE), drawn(ALIKE), drawn(ALIKE))
def test_runs_that_differ_in_what_a_stack_allows_are_alike(
    fixed: dict[str, Any], one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert alike(run(**fixed, **one)) == alike(run(**fixed, **other))
    assert len({alike(run(**fixed, **one)), alike(run(**fixed, **other))}) == 1


@pytest.mark.parametrize("key", UNLIKE)
@given(drawn(UNLIKE), drawn(ALIKE), drawn(ALIKE))
def test_runs_that_differ_in_anything_else_are_not(
    key: str, fixed: dict[str, Any], one: dict[str, Any], other: dict[str, Any]
) -> None:
    for a, b in combinations(UNLIKE[key], 2):
        assert alike(run(**{**fixed, key: a}, **one)) != alike(run(**{**fixed, key: b}, **other))


def test_an_argument_that_is_said_and_its_default_are_alike() -> None:
    assert alike(run(**{"model.widths": [128]})) == alike(run())


def test_what_the_table_stacks_is_an_argument() -> None:
    entries = [entry for kind in ("model", "loss") for entry in TABLE[kind].values()]
    assert all(set(entry.stacks) <= set(entry.args) for entry in entries)
    assert not any(entry.stacks for kind in ("data", "optimizer", "schedule") for entry in TABLE[kind].values())


@given(st.floats(0, 1e12), st.integers(0, 10**9), st.sampled_from([4, 8]), st.floats(0, 1e13))
def test_a_stack_fits_into_memory(each: float, parameters: int, width: int, memory: float) -> None:
    most = most_runs(each, parameters, width, memory)
    assert 1 <= most <= MAX_STACK
    assert most == 1 or most * each <= memory
    assert most <= 4 or most * parameters * width <= CACHE_BYTES
    assert most <= most_runs(each, parameters, width, memory * 2)


def trials(seeds: dict[int, int], **said: Any) -> list[Trial]:
    """So many settings of each seed."""
    made = [run(seed=seed, **said) for seed in seeds]
    return [Trial(f"{r.seed}-{i}", "", {}, r) for r in made for i in range(seeds[r.seed])]


several = st.dictionaries(st.integers(0, 30), st.integers(1, 2 * LANE), min_size=1, max_size=8)


@given(several, st.integers(1, 50), st.integers(1, 8), st.sampled_from(["shuffle", "file"]))
def test_a_split_has_every_run_once_in_stacks_of_at_most(
    seeds: dict[int, int], most: int, jobs: int, order: str
) -> None:
    whole = trials(seeds, order=order)
    stacks = list(split(whole, most, jobs))
    assert Counter(trial.id for stack in stacks for trial in stack) == Counter(trial.id for trial in whole)
    assert all(1 <= len(stack) <= min(most, math.ceil(len(whole) / jobs)) for stack in stacks)
    if len(whole) % jobs == 0:
        assert len(stacks) >= jobs


@given(several, st.integers(1, 50), st.integers(1, 8))
def test_seeds_of_many_settings_have_stacks_of_their_own(seeds: dict[int, int], most: int, jobs: int) -> None:
    seeds = {**seeds, 99: LANE}
    assert all(len({trial.run.seed for trial in stack}) == 1 for stack in split(trials(seeds), most, jobs))


def test_seeds_of_few_settings_share_a_stack() -> None:
    whole = trials(dict.fromkeys(range(10), 3))
    assert [len(stack) for stack in split(whole, 100, 1)] == [30]
    assert [len(stack) for stack in split(whole, 10, 1)] == [9, 9, 9, 3]
    assert [len(stack) for stack in split(whole, 100, 2)] == [15, 15]


def test_where_nothing_is_drawn_seeds_do_not_matter() -> None:
    whole = trials(dict.fromkeys(range(4), LANE), order="file")
    assert [len(stack) for stack in split(whole, 100, 1)] == [4 * LANE]
    assert len(list(split(trials(dict.fromkeys(range(4), LANE), order="file", subset=64), 100, 1))) == 4


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, None),
        ({"precision": "fp64"}, None),
        ({"precision": "bf16"}, "mixed precision"),
        ({"base_lr": 0.1}, "base and head train apart"),
        ({"model": "resnet18", "data": "cifar10"}, "fills the machine by itself"),
        ({"model": "resnet18", "data": "cifar10", "freeze": "base", "weights": "imagenet"}, None),
        ({"model": "resnet18", "data": "cifar10", "freeze": "base"}, "a frozen base of its own"),
        ({"model": "resnet18", "data": "cifar10", "freeze": "base", "weights": "w.pth", "finetune_after": 1}, "apart"),
        ({"model": "resnet18", "data": "cifar10", "freeze": "base", "augment": {"flip": True}}, "apart"),
    ],
)
def test_why_a_run_never_trains_in_a_stack(said, why):
    base = {"data": "mnist", "model": "softmax", "optimizer": "gd", "lr": 0.1, "steps": 5}
    found = apart(Run(**base | said))
    assert found is why or why in found
