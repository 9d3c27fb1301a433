"""The noise of gradients is measured, and nothing else changes by it."""

from typing import Any

import pytest

from paceline.data.locate import Files
from paceline.data.sources.synthetic import synthetic
from paceline.spec import Run
from paceline.spec.argument import ArgumentError
from paceline.spec.check import check
from paceline.train.loop import train
from paceline.train.rows import Row

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


def rows(**said: Any) -> list[Row]:
    return [item for item in train(Run.model_validate({**SAID, **said}), DATA) if isinstance(item, Row)]


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


def test_a_batch_that_has_no_halves_is_left_out():
    assert not any(row.extras for row in rows(noise_every=1, batch=15))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"precision": "fp16"}, "gradients have a scale of their own"),
        ({"devices": 2, "strategy": "pipeline"}, "needs strategy ddp or zero"),
    ],
)
def test_where_it_cannot_be_measured_it_is_refused(said, reason):
    with pytest.raises(ArgumentError, match=reason):
        check(Run.model_validate({**SAID, **said, "noise_every": 5}))
