"""The noise of gradients is measured, and nothing else changes by it."""

from typing import Any

import pytest

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.data.sources.synthetic import synthetic
from paceline.spec import Run
from paceline.spec.argument import ArgumentError
from paceline.spec.check import check
from paceline.train.loop import train
from paceline.train.rows import Row
from tests.pictures import coloured

from .gradients import first_norms

SAID: dict[str, Any] = {
    "data": "synthetic",
    "model": "softmax",
    "optimizer": "gd",
    "lr": 0.1,
    "batch": 20,
    "steps": 5,
    "evaluate_every": 1,
    "device": "cpu",
    "precision": "fp64",
}
DATA = synthetic(Files.search(), examples=60, validation=0, test=20, shape=(1, 8, 8), classes=3)


FROZEN: dict[str, Any] = {
    "data": "cifar10",
    "model": {"name": "squeezenet1_1", "stem": "small"},
    "freeze": "base",
    "augment": {"flip": True},
    "batch": 8,
    "steps": None,
    "epochs": 2,
    "evaluate_every": "epoch",
    "noise_every": 1,
}


def rows(examples: Dataset = DATA, /, **said: Any) -> list[Row]:
    return [item for item in train(Run.model_validate({**SAID, **said}), examples) if isinstance(item, Row)]


@pytest.mark.parametrize(("accumulate", "small"), [(1, [slice(0, 10)]), (2, [slice(0, 10), slice(10, 20)])])
def test_norms_are_those_of_parts_and_of_the_whole(accumulate, small):
    run = Run.model_validate(SAID)
    before, first = rows(noise_every=1, accumulate=accumulate)[:2]
    assert before.extras == {}
    norms = first_norms(run, DATA, [*small, slice(None)])
    assert first.extras == pytest.approx(
        {
            "noise_small_batch": 10,
            "noise_big_batch": 20,
            "noise_small_norm2": sum(norms[:-1]) / len(small),
            "noise_big_norm2": norms[-1],
        }
    )


@pytest.mark.parametrize("model", ["lab_cnn", {"name": "lab_cnn", "dropout": 0.0}])
def test_nothing_is_learnt_from_it(model):
    alike = ("train_loss", "loss", "accuracy")
    plain, looked = (
        rows(model=model, optimizer="adam", lr=1e-3),
        rows(model=model, optimizer="adam", lr=1e-3, noise_every=2),
    )
    assert [[getattr(row, name) for name in alike] for row in looked] == [
        [getattr(row, name) for name in alike] for row in plain
    ]
    assert [bool(row.extras) for row in looked] == [False, True, False, True, False, True]
    assert not any(row.extras for row in plain)


def test_of_a_frozen_base_nothing_is_looked_at():
    pictures = coloured(16, 4, 4)
    one, parts = (rows(pictures, **FROZEN, accumulate=count)[-1].extras for count in (1, 2))
    assert parts["noise_big_norm2"] == pytest.approx(one["noise_big_norm2"])
    assert parts["noise_small_norm2"] >= parts["noise_big_norm2"] > 0


def test_of_a_base_that_has_thawed_all_is():
    """The squared norm of a mean is at most the mean of squared norms: less is seen where parts are looked at in part."""
    _, frozen, thawed = rows(coloured(16, 4, 4), **FROZEN, accumulate=2, finetune_after=1)
    assert thawed.extras["noise_big_norm2"] > frozen.extras["noise_big_norm2"]
    assert thawed.extras["noise_small_norm2"] >= thawed.extras["noise_big_norm2"]


def test_a_batch_that_has_no_halves_is_left_out():
    assert not any(row.extras for row in rows(noise_every=1, batch=15))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"precision": "fp16"}, "gradients have a scale of their own"),
        ({"devices": 2, "strategy": "pipeline"}, "needs strategy ddp or zero without powersgd, .* here it is pipeline"),
        ({"devices": 2, "strategy": {"name": "ddp", "compress": "powersgd"}}, "here it is ddp.compress=powersgd"),
    ],
)
def test_where_it_cannot_be_measured_it_is_refused(said, reason):
    with pytest.raises(ArgumentError, match=reason):
        check(Run.model_validate({**SAID, **said, "noise_every": 5}))
