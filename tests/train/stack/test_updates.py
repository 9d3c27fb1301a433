"""Slices of a stack: which runs share one, that they update as alone, and what clipping does."""

from typing import Any

import pytest
import torch
from torch import nn

from paceline.optim.adam import adam
from paceline.optim.gd import gd
from paceline.spec import Part
from paceline.spec.part import read
from paceline.spec.parts import TABLE
from paceline.train.stack import updates
from paceline.train.stack.updates import Clip, group_key, slices, update

from .together import LR, assert_each_as_alone, mlp, run_of

RULES = """
from paceline import Rule

def _drag(gradient, state, parameter, hyper):
    speed = hyper.get("momentum", 0.9) * state["speed"] + gradient
    return parameter - hyper["lr"] * speed, {"speed": speed}

drag = Rule(lambda parameter, hyper: {"speed": torch.zeros_like(parameter)}, _drag)

def _mean(gradient, state, parameter, hyper):
    new = parameter - hyper["lr"] * gradient
    return new, {"mean": torch.lerp(state["mean"], new, 1 / hyper["step"])}

def _at_evaluation(parameter, state, hyper):
    return parameter + hyper["share"] * hyper["lr"] * hyper["step"] * (state["mean"] - parameter)

averaged = Rule(lambda parameter, hyper: {"mean": parameter.clone()}, _mean, at_evaluation=_at_evaluation)

def _counted(gradient, state, parameter, hyper):
    return parameter - hyper["lr"] / state["count"] * gradient, {"count": state["count"] + 1}

counted = Rule(lambda parameter, hyper: {"count": torch.ones((), dtype=parameter.dtype)}, _counted)

def _unit(gradient, state, parameter, hyper):
    dims = tuple(range(1 if hyper.get("stacked") else 0, gradient.dim()))
    norm = gradient.square().sum(dims, keepdim=True).sqrt()
    return parameter - hyper["lr"] * gradient / (norm + 1e-3), state

unit = Rule(lambda parameter, hyper: {}, _unit, elementwise=False)
"""


def test_runs_share_a_slice_if_they_share_the_rule_and_what_shapes_it():
    def key(said: Any) -> tuple[Any, ...]:
        return group_key(read("optimizer", said))

    assert key("rmsprop") == key({"name": "rmsprop", "decay": 0.5, "momentum": 0.1})
    assert key("rmsprop") != key({"name": "rmsprop", "centered": True})
    assert key("muon") != key({"name": "muon", "ns_steps": 4})
    assert key("adam") != key("adamw")
    assert key({"name": "mine:rule", "a": 0.1}) == key({"name": "mine:rule", "a": 0.2})
    assert key({"name": "mine:rule", "a": 0.1}) != key("mine:rule")
    assert isinstance(read("optimizer", "adam"), Part)


def test_a_group_too_large_for_the_cache_is_cut(monkeypatch):
    monkeypatch.setattr(updates, "BLOCK", 25)
    runs = [run_of(optimizer=name) for name in ("adam", "adam", "adam", "adam", "adam", "gd", "gd")]
    rules = {run.optimizer.path: rule for run, rule in zip(runs[4:6], (adam, gd), strict=True)}
    made = slices(runs, rules, {"w": torch.zeros(7, 3, 4), "": torch.zeros(7, 5)})
    assert [(one.first, one.last, one.rule is adam) for one in made] == [
        (0, 2, True),
        (2, 4, True),
        (4, 5, True),
        (5, 7, False),
    ]


def test_a_stack_cut_into_small_slices_trains_the_same(small, monkeypatch):
    monkeypatch.setattr(updates, "BLOCK", 100)
    steps = (20, 5, 20, 10, 20, 15, 20, 20)
    runs = [
        run_of(model=mlp(), optimizer=name, lr=0.01 * (1 + i), steps=count)
        for name in ("adam", "muon")
        for i, count in enumerate(steps)
    ]
    assert_each_as_alone(runs, small)


def test_runs_leave_with_their_state_and_a_rule_with_its_last_run(small):
    names = ("adam", "gd", "schedule_free", "adam", "momentum", "schedule_free")
    knobs = [
        {"name": name, **({"beta1": 0.4 + 0.1 * i} if name in ("adam", "schedule_free") else {})}
        for i, name in enumerate(names)
    ]
    runs = [run_of(optimizer=said, steps=steps) for said, steps in zip(knobs, (20, 4, 4, 8, 12, 20), strict=True)]
    assert_each_as_alone(runs, small)


ONE_BY_ONE = [
    (name, knob)
    for name, entry in TABLE["optimizer"].items()
    for knob, arg in entry.args.items()
    if arg.type == "number"
]


@pytest.mark.parametrize(("name", "knob"), ONE_BY_ONE)
def test_one_number_differs_and_the_others_are_shared(name, knob, small):
    numbers = {key: arg.default or 0.05 for key, arg in TABLE["optimizer"][name].args.items() if arg.type == "number"}
    knobs = [{"name": name, **numbers, knob: numbers[knob] * factor} for factor in (1, 0.7)]
    assert_each_as_alone([run_of(optimizer=said, lr=LR.get(name, 0.1), steps=8) for said in knobs], small, rel=1e-11)


def test_a_slice_that_is_kept_in_part():
    runs = [
        run_of(optimizer={"name": "adam", "beta1": beta}, lr=lr) for beta, lr in ((0.9, 0.1), (0.8, 0.2), (0.7, 0.3))
    ]
    leaves = {"w": torch.randn(3, 2, 2, dtype=torch.float64), "": torch.randn(3, 4, dtype=torch.float64)}
    (whole,) = slices(runs, {runs[0].optimizer.path: adam}, leaves)
    whole.place(leaves)
    update([whole], 1, leaves, {name: torch.ones_like(leaf) for name, leaf in leaves.items()})
    part = whole.keep([0, 2], 5)
    assert (part.first, part.last, part.lr.tolist()) == (5, 7, [0.1, 0.3])
    assert part.knobs["beta1"].tolist() == [0.9, 0.7]
    assert part.knobs["beta2"] == 0.999
    assert all(
        torch.equal(part.state[name][key], value[[0, 2]]) for name in leaves for key, value in whole.state[name].items()
    )
    none = whole.keep([7, 8], 0)
    assert (none.first, none.last) == (0, 0)


def test_a_slice_comes_back_as_it_was_saved():
    runs = [run_of(optimizer={"name": "adam", "beta1": beta}) for beta in (0.9, 0.8)]
    leaves = {"w": torch.randn(2, 3, 3)}
    (one,) = slices(runs, {runs[0].optimizer.path: adam}, leaves)
    one.place(leaves)
    update([one], 1, leaves, {"w": torch.ones(2, 3, 3)})
    again = updates.Slice.loaded(one.saved(), adam, torch.device("cpu"))
    assert again.saved() == one.saved()


@pytest.mark.parametrize(
    "limits", [{"clip_value": 0.1}, {"clip_norm": 0.5}, {"clip_value": 0.2, "clip_norm": 0.3}], ids=str
)
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e30])
def test_clipping_is_torchs_for_each_run(limits, size):
    draw = torch.Generator().manual_seed(0)
    gradients = {"w": torch.randn(3, 4, 2, generator=draw) * size, "": torch.randn(3, 5, generator=draw) * size}
    gradients["w"][2, 0, 0] = float("nan")
    clip = Clip.of([run_of(**limits), run_of(), run_of(**limits)], gradients["w"])
    found = clip(gradients)
    for run in range(3):
        parameters = [nn.Parameter(torch.zeros_like(gradient[run])) for gradient in gradients.values()]
        for parameter, gradient in zip(parameters, gradients.values(), strict=True):
            parameter.grad = gradient[run].clone()
        if run != 1 and "clip_value" in limits:
            nn.utils.clip_grad_value_(parameters, limits["clip_value"])
        if run != 1 and "clip_norm" in limits:
            nn.utils.clip_grad_norm_(parameters, limits["clip_norm"])
        for name, parameter in zip(gradients, parameters, strict=True):
            torch.testing.assert_close(found[name][run], parameter.grad, rtol=1e-5, atol=0, equal_nan=True)


def test_nothing_is_clipped_where_no_run_says_so():
    clip = Clip.of([run_of(), run_of()], torch.zeros(1))
    assert (clip.value, clip.norm) == (None, None)


OWN_RULES: dict[str, list[Any]] = {
    "an own rule": ["mine:drag", "mine:drag"],
    "a number said by some": [
        "mine:drag",
        {"name": "mine:drag", "momentum": 0.3},
        "mine:drag",
        {"name": "mine:drag", "momentum": 0.5},
    ],
    "beside built-in ones": ["adam", "mine:drag", "gd", "mine:averaged"],
    "evaluated elsewhere": [{"name": "mine:averaged", "share": share} for share in (0.1, 0.7)],
    "one number for all": ["mine:counted", "mine:counted"],
    "the norm of all": ["mine:unit", "mine:unit"],
}


@pytest.mark.parametrize("case", OWN_RULES)
def test_rules_of_a_users_own(case, small, own):
    folder = own(RULES)
    said = [{"name": rule, "share": 0.5} if rule == "mine:averaged" else rule for rule in OWN_RULES[case]]
    runs = [
        run_of(optimizer=rule, lr=0.02 * (1 + i), seed=i % 2, steps=20 - 5 * (i % 2), schedule="cosine")
        for i, rule in enumerate(said)
    ]
    assert_each_as_alone(runs, small, folder)
