"""Study -> runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import StudyError
from paceline.plan.expand import expand
from paceline.spec import Run, plain, run_id

from .studies import study

rates = st.lists(st.floats(1e-6, 10), min_size=1, max_size=4, unique=True)
batches = st.lists(st.integers(1, 500), min_size=1, max_size=3, unique=True)
optimizers = st.lists(st.sampled_from(["adam", "sgd", "lion", "muon"]), min_size=1, max_size=3, unique=True)


@given(optimizers, rates, batches, st.integers(1, 4))
def test_runs_are_cases_x_compare_x_tune_x_repeat(
    names: list[str], lr: list[float], batch: list[int], repeat: int
) -> None:
    cases = {str(size): {"batch": size} for size in batch}
    trials = expand(study(compare={"optimizer": names}, tune={"lr": lr}, cases=cases, repeat=repeat))
    assert len(trials) == len(batch) * len(names) * len(lr) * repeat
    assert len({trial.id for trial in trials}) == len(trials)
    met = {(t.case, t.axes["optimizer"], t.axes["lr"], t.run.seed) for t in trials}
    assert met == {(c, o, x, s) for c in cases for o in names for x in lr for s in range(repeat)}


@given(optimizers, rates, batches)
def test_an_id_is_that_of_its_run_and_of_what_the_record_says(
    names: list[str], lr: list[float], batch: list[int]
) -> None:
    base = {"subset": {"size": 64}, "early_stop": {"patience": 2}}
    for trial in expand(study(base=base, compare={"optimizer": names, "batch": batch}, tune={"lr": lr}, repeat=2)):
        assert trial.id == run_id(trial.run)
        assert trial.id == run_id(Run.model_validate(json.loads(json.dumps(plain(trial.run)))))


def test_seeds_stand_outermost() -> None:
    trials = expand(study(base={"seed": 5}, tune={"lr": [1, 2]}, repeat=2))
    assert [(t.run.seed, t.axes["lr"]) for t in trials] == [(5, 1), (5, 2), (6, 1), (6, 2)]


def test_data_may_follow_the_seed() -> None:
    """As if each had been said; the same for all settings of one seed."""
    said = {"data": {"name": "synthetic", "seed": "seed"}, "seed": 3}
    found = expand(study(base=said, compare={"lr": [0.1, 0.2]}, repeat=2))
    assert [(trial.run.seed, trial.run.data.complete["seed"]) for trial in found] == [(3, 3), (3, 3), (4, 4), (4, 4)]
    given = study(base={"data": {"name": "synthetic", "seed": 4}, "seed": 4}, compare={"lr": [0.1, 0.2]}, repeat=1)
    assert [trial.id for trial in expand(given)] == [trial.id for trial in found[2:]]
    dotted = study(base={"data": "synthetic", "data.seed": "seed", "seed": 3}, compare={"lr": [0.1]}, repeat=1)
    assert [trial.id for trial in expand(dotted)] == [found[0].id]


def test_a_case_has_its_own_tune_and_stands_above_the_base() -> None:
    cases = {"a": {"optimizer": "gd", "tune": {"lr": [1, 2]}}, "b": {"warmup": 3}}
    trials = expand(study(base={"optimizer.beta2": 0.5}, cases=cases, repeat=1))
    assert [(t.case, str(t.run.optimizer), t.run.lr, t.run.warmup) for t in trials] == [
        ("a", "gd", 1.0, 0),
        ("a", "gd", 2.0, 0),
        ("b", "adam(beta2=0.5)", 0.1, 3),
    ]


def test_two_cases_that_say_the_same_share_a_run() -> None:
    a, b = expand(study(cases={"a": {"lr": 1}, "b": {"lr": 1.0}}, repeat=1))
    assert a.id == b.id


@pytest.mark.parametrize(
    ("axes", "shown"),
    [
        ({"optimizer": ["adam", {"name": "adam", "beta2": 0.5}]}, ["adam", "adam(beta2=0.5)"]),
        ({"lr": [1, 2]}, [1.0, 2.0]),
        ({"batch": [5, "30 + 10*epoch"]}, [5, "30 + 10*epoch"]),
        ({"overlap": [0, True]}, [0, 0.5]),
        ({"clip_norm": [None, 1]}, ["none", 1.0]),
        ({"subset": [None, 64, {"size": 32, "redraw": "epoch"}]}, ["none", "64", "size 32, redraw epoch"]),
        ({"optimizer.beta2": [0.9, 0.99]}, [0.9, 0.99]),
        ({"subset.size": [32, 64]}, [32, 64]),
        ({"data.test": [100, 200]}, [100, 200]),
    ],
)
def test_axes_are_shown_as_tables_say_them(axes: dict[str, Any], shown: list[Any]) -> None:
    (name,) = axes
    assert [trial.axes[name] for trial in expand(study(compare=axes, repeat=1))] == shown


def test_dotted_keys_reach_into_parts_and_groups() -> None:
    base = {"schedule": "exponential", "schedule.every": 5, "early_stop.metric": "loss", "subset": 64}
    axes = {"schedule.rate": [0.5, 0.9], "subset.redraw": ["epoch"]}
    first, second = expand(study(base=base, compare=axes, tune={"early_stop.patience": [3]}, repeat=1))
    assert str(first.run.schedule) == "exponential(every=5, rate=0.5)"
    assert str(second.run.schedule) == "exponential(every=5, rate=0.9)"
    assert plain(first.run)["subset"] == {"size": 64, "redraw": "epoch"}
    assert plain(first.run)["early_stop"] == {"patience": 3, "metric": "loss"}


def test_what_one_case_adds_another_still_misses() -> None:
    cases = {"a": {"tune": {"schedule.rate": [0.5]}}, "b": {"lr": 1}}
    with pytest.raises(StudyError, match=r"base.schedule: schedule 'exponential' needs the argument 'rate'"):
        expand(study(base={"schedule": {"name": "exponential", "every": 5}}, cases=cases))


def test_a_sample_is_the_same_for_every_compared_setting() -> None:
    tune = {"sample": 5, "lr": {"low": 1e-4, "high": 1, "scale": "log"}, "batch": [10, 20]}
    trials = expand(study(compare={"optimizer": ["adam", "sgd"]}, tune=tune, repeat=2))
    assert len(trials) == len({t.id for t in trials}) == 2 * 5 * 2
    points = {
        name: [(t.run.lr, t.run.batch) for t in trials if t.run.optimizer.name == name] for name in ("adam", "sgd")
    }
    assert points["adam"] == points["sgd"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"base": {"data": None}}, "base.data: None is no data"),
        (
            {"compare": {"optimizer.beta3": [1]}},
            "compare.optimizer.beta3.0: optimizer 'adam' has no argument 'beta3'. Did you mean 'beta2'? Allowed: beta1, beta2, epsilon.",
        ),
        (
            {"base": {"optimizer.beta3": 1}},
            "base.optimizer.beta3: optimizer 'adam' has no argument 'beta3'. Did you mean 'beta2'?",
        ),
        (
            {"compare": {"optimizer": ["adam", "gd"], "optimizer.beta2": [0.9]}},
            "compare.optimizer.beta2.0: optimizer 'gd' has no argument 'beta2'. Those that have it: adam, adamw,",
        ),
        ({"compare": {"optimizer.beta2": [0.9, 1.5]}}, "compare.optimizer.beta2.1: 1.5 is outside its range"),
        (
            {"compare": {"subset.sizee": [1]}},
            "compare.subset.sizee.0: subset has no 'sizee'. Did you mean 'size'? Allowed: redraw, size.",
        ),
        ({"compare": {"subset.redraw": ["epoch"]}}, "compare.subset.redraw.0: 'size' is missing."),
        (
            {"compare": {"early_stop.patience": [1], "early_stop.metric": ["los"]}},
            "compare.early_stop.metric.0: unknown value 'los'. Did you mean 'loss'?",
        ),
        (
            {"compare": {"optimizer": ["adam", {"name": "adam"}]}},
            "compare.optimizer.1: {'name': 'adam'} stands twice on this axis, in other words.",
        ),
        ({"compare": {"batch": [50, "50"]}}, "compare.batch.1: '50' stands twice on this axis, in other words."),
        ({"compare": {"overlap": [0.5, True]}}, "compare.overlap.1: True stands twice on this axis, in other words."),
        (
            {"base": {"steps": 1000, "batch": "300 - 100 * epoch"}},
            "base.batch: the batch '300 - 100 * epoch' is 0 at epoch 3",
        ),
        (
            {"base": {"data": "synthetic", "augment": {"flip": True}}},
            "base.augment: this is for images; an example of synthetic has the shape (20,).",
        ),
        ({"base": {"subset": 5000}}, "base.subset: a subset of 5,000 from a training set of 1,137."),
        (
            {"base": {"data": {"name": "digits", "validation": 797, "test": 1000}}},
            "base.data: validation and test leave nothing of digits to train on.",
        ),
        (
            {"compare": {"lr": list(range(1, 1001)), "warmup": list(range(500))}},
            "1,500,000 runs; a study has at most 1,000,000.",
        ),
        ({"tune": {"sample": 400_000, "lr": {"low": 1, "high": 2}}}, "1,200,000 runs; a study has at most 1,000,000."),
        (
            {"cases": {str(i): {"tune": {"lr": list(range(1, 1001))}} for i in range(400)}},
            "1,200,000 runs; a study has at most 1,000,000.",
        ),
    ],
)
def test_what_cannot_be_run_is_refused(said: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError) as error:
        expand(study(**said))
    assert str(error.value).startswith(f"<mapping>: {message}")


@pytest.mark.parametrize("name", ["data", "model", "optimizer", "lr"])
def test_what_every_run_needs(name: str) -> None:
    whole = study()
    whole.base.pop(name)
    with pytest.raises(StudyError, match=rf"base: '{name}' is missing; set it in base, compare, tune or cases"):
        expand(whole)


def test_a_dotted_key_into_nothing() -> None:
    whole = study(compare={"model.init": ["zeros"]})
    whole.base.pop("model")
    with pytest.raises(StudyError, match=r"compare.model.init.0: 'model' itself is missing"):
        expand(whole)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_hundred_thousand_runs_fit_in_memory() -> None:
    driver = """
from pathlib import Path
from paceline.plan.expand import expand
from paceline.spec.document import Document
from paceline.spec.study import from_document
base = {"data": "digits", "model": "softmax", "optimizer": "adam", "steps": 10}
axes = {"optimizer.beta2": [i / 200 for i in range(100)]}
tune = {"lr": [i / 100 for i in range(1, 101)]}
study = {"name": "many", "base": base, "compare": axes, "tune": tune, "repeat": 10}
trials = expand(from_document(Document("<mapping>", study), Path()))
peak = next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(len(trials), len({trial.id for trial in trials}), int(peak) // 1024)
"""
    done = subprocess.run([sys.executable, "-c", driver], capture_output=True, text=True, check=True)
    count, unique, megabytes = map(int, done.stdout.split())
    assert count == unique == 100_000
    assert megabytes < 500


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ({"tune": {"sample": 3, "batch": {"low": 16, "high": 256, "scale": "log"}}}, {64, 32, 128}),
        ({"tune": {"sample": 3, "warmup": {"low": 0, "high": 3}}}, {2, 1, 3}),
        ({"tune": {"sample": 3, "data.validation": {"low": 100, "high": 201}}}, {150, 125, 176}),
        ({"tune": {"sample": 3, "subset": {"low": 50, "high": 101}}}, {76, 63, 88}),
        ({"cases": {"a": {"tune": {"sample": 2, "threads": {"low": 1, "high": 4}}}}}, {3, 2}),
    ],
)
def test_a_range_of_a_setting_that_reads_whole_numbers_is_of_whole_numbers(said: Any, values: set[int]) -> None:
    trials = expand(study(**said, repeat=1))
    assert {str(trial.axes[key]) for trial in trials for key in trial.axes} == {str(value) for value in values}
    assert len(trials) == len(values)


@pytest.mark.parametrize("key", ["lr", "clip_norm", "optimizer.epsilon"])
def test_other_ranges_are_what_they_were(key: str) -> None:
    trials = expand(study(tune={"sample": 3, key: {"low": 1, "high": 2}}, repeat=1))
    assert [trial.axes[key] for trial in trials] == [1.5, 1.25, 1.75]
