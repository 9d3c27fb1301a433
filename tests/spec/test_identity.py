"""What makes a run the same run."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.spec import Run, plain, run_id
from paceline.spec.identity import FORMAT, repeat_id, setting_hash

DEFAULTS = {
    "loss": "softmax_ce",
    "schedule": "constant",
    "warmup": 0,
    "batch": 100,
    "order": "shuffle",
    "subset": None,
    "overlap": 0,
    "steps": None,
    "epochs": None,
    "evaluate_every": None,
    "early_stop": None,
    "clip_norm": None,
    "clip_value": None,
    "precision": "fp32",
    "device": "auto",
    "seed": 0,
    "weights": "none",
    "freeze": "none",
    "finetune_after": None,
    "base_lr": 1.0,
    "image_size": None,
    "normalize": "auto",
    "augment": None,
    "loader": None,
    "accumulate": 1,
    "channels_last": None,
    "compile": False,
    "fused": None,
    "threads": None,
    "devices": 1,
    "strategy": "ddp",
    "batch_mode": "global",
    "lr_scale": "none",
    "sync_batch_norm": False,
    "noise_every": None,
}
REQUIRED = {"data", "model", "optimizer", "lr"}

SMALL: dict[str, Any] = {"data": "digits", "model": "softmax", "optimizer": "adam", "lr": 0.1, "steps": 10}
RUNS: dict[str, dict[str, Any]] = {
    "02b599190f944890": SMALL,
    "3c0df11d151ffc83": {
        "data": "mnist",
        "model": {"name": "mlp", "widths": [32, 16]},
        "optimizer": {"name": "sgd", "momentum": 0.9, "nesterov": True},
        "lr": 0.01,
        "epochs": 2,
        "batch": "30 + 10 * epoch",
        "seed": 7,
    },
    "ba90f2ebcf25a22f": {
        "data": "line",
        "model": "line",
        "loss": "mse",
        "optimizer": "gd",
        "lr": 0.01,
        "steps": 100,
        "batch": 4,
        "order": "file",
    },
    "8f025983837cccde": {
        "data": {"name": "synthetic", "shape": [1, 8, 8]},
        "model": "lab_cnn",
        "optimizer": "muon",
        "lr": 0.02,
        "steps": 5,
        "schedule": {"name": "exponential", "rate": 0.5, "every": 10},
        "warmup": 2,
        "subset": {"size": 64, "redraw": "epoch"},
        "early_stop": {"target": 0.9},
        "clip_norm": 1,
        "precision": "fp64",
    },
    "aada487b45e275ce": {
        "data": "my_data:load",
        "model": {"name": "my_models:Net", "width": 3, "sizes": [1, 2.0]},
        "optimizer": "torch.optim:RMSprop",
        "lr": 1e-3,
        "steps": 1,
    },
}


def read(said: dict[str, Any]) -> Run:
    return Run.model_validate(said)


def test_defaults_are_frozen() -> None:
    """An id hashes what is not default: a default that changes gives old runs a new meaning under their old id.

    A new field is added here with its default. An entry that stands here is never changed.
    """
    fields = Run.model_fields
    assert {name for name, field in fields.items() if field.is_required()} == REQUIRED
    found = {
        name: getattr(field.default, "name", field.default) for name, field in fields.items() if name not in REQUIRED
    }
    assert found == DEFAULTS


@pytest.mark.parametrize("expected", RUNS)
def test_ids_are_frozen(expected: str) -> None:
    """These ids stand in records that exist. If this fails, every finished run would be trained again: mend the
    change, not the literal."""
    assert FORMAT == 1
    assert run_id(read(RUNS[expected])) == expected


@pytest.mark.parametrize("expected", RUNS)
def test_a_run_is_read_back_from_its_record(expected: str) -> None:
    """The worker reads `plain` from pack.json and refuses a run whose id is another."""
    run = read(RUNS[expected])
    again = read(json.loads(json.dumps(plain(run))))
    assert again == run
    assert run_id(again) == expected


@given(st.sampled_from(sorted(RUNS)), st.randoms(use_true_random=False))
def test_key_order_does_not_matter(expected: str, source: random.Random) -> None:
    def shuffled(said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        return {key: shuffled(said[key]) for key in source.sample(list(said), len(said))}

    assert run_id(read(shuffled(RUNS[expected]))) == expected


@given(st.sampled_from(sorted(RUNS)), st.sets(st.sampled_from(sorted(DEFAULTS))))
def test_saying_a_default_does_not_matter(expected: str, names: set[str]) -> None:
    assert run_id(read({**{name: DEFAULTS[name] for name in names}, **RUNS[expected]})) == expected


@given(st.sampled_from(sorted(RUNS)), st.sets(st.sampled_from(["data", "model", "loss", "optimizer", "schedule"])))
def test_a_name_and_a_mapping_with_a_name_are_one(expected: str, parts: set[str]) -> None:
    said = {**DEFAULTS, **RUNS[expected]}
    wrapped = {part: {"name": said[part]} for part in parts if isinstance(said[part], str)}
    assert run_id(read({**RUNS[expected], **wrapped})) == expected


@pytest.mark.parametrize(
    "change",
    [
        {"optimizer": {"name": "adam", "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}},
        {"lr": 1 / 10, "steps": 10.0},
        {"overlap": False},
        {"batch": 100.0},
    ],
)
def test_other_words_for_the_same_run(change: dict[str, Any]) -> None:
    assert run_id(read({**SMALL, **change})) == "02b599190f944890"


@pytest.mark.parametrize(
    "change",
    [
        {"lr": 0.1000001},
        {"seed": 1},
        {"optimizer": "adamw"},
        {"optimizer": {"name": "adam", "beta2": 0.99}},
        {"steps": None, "epochs": 10},
        {"subset": 10},
        {"early_stop": {"patience": 1}},
        {"loss": {"name": "softmax_ce", "label_smoothing": 0.1}},
    ],
)
def test_another_run_has_another_id(change: dict[str, Any]) -> None:
    assert run_id(read({**SMALL, **change})) != "02b599190f944890"


def test_own_arguments_keep_their_type() -> None:
    """1 and 1.0 are two arguments to a user's own code, though Python calls them equal."""
    own = [read({**SMALL, "model": {"name": "m:N", "width": width}}) for width in (1, 1.0, True)]
    assert len({run_id(run) for run in own}) == 3


def test_minus_zero_is_zero_in_whatever_order_they_come() -> None:
    line = {"data": "line", "loss": "mse", "optimizer": "gd", "lr": 1, "steps": 1}
    ids = [run_id(read({**line, "model": {"name": "line", "W": zero}})) for zero in (-0.0, 0.0, 0)]
    assert len(set(ids)) == 1
    assert "-0.0" not in json.dumps(plain(read({**line, "model": {"name": "line", "W": -0.0}})))


@given(st.integers(0, 10**9))
def test_a_repeat_continues_the_hash_of_its_setting(seed: int) -> None:
    assert repeat_id(setting_hash(read(SMALL)), seed) == run_id(read({**SMALL, "seed": seed}))


def test_plain_says_only_what_is_not_default() -> None:
    assert plain(read({**DEFAULTS, **SMALL})) == SMALL
    said = RUNS["8f025983837cccde"]
    assert plain(read(said)) == {**said, "clip_norm": 1.0}
