"""What must hold between the fields of a run."""

import pytest

from paceline.spec.check import check
from paceline.spec.run import Run

from .conftest import Refused
from .studies import SAID, study

LINE = {"data": "line", "model": "line", "optimizer": "gd", "loss": "mse"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (study(epochs="3"), "7: base.steps: steps and epochs are both said; take one out, as by --set epochs=null."),
        (study(steps=None), "2: base.steps: say how long to train: steps or epochs, one of the two."),
        (study("cases:\n  a: {steps: 3, epochs: 3}\n"), "9: cases.a.steps: steps and epochs are both said"),
        (study(warmup="11"), "8: base.warmup: warmup is 11 steps, the whole run 10."),
        (study("compare:\n  warmup: [1, 11]\n"), "9: compare.warmup.1: warmup is 11 steps, the whole run 10."),
        (
            study(overlap="0.5", order="random"),
            "8: base.overlap: random batches are drawn one by one and cannot overlap",
        ),
        (study(overlap="5", batch="5"), "8: base.overlap: an overlap of 5 leaves no new example in a batch of 5."),
        (study(early_stop="{metric: loss}"), "8: base.early_stop: say patience or target, one of the two."),
        (study(early_stop="{patience: 3, target: 0.9}"), "8: base.early_stop: say patience or target, one of the two."),
        (study(weights="imagenet"), "8: base.weights: of softmax none are known, only of alexnet, vgg16_bn,"),
        (study(early_stop="{target: 95}"), "8: base.early_stop: an accuracy is at most 1, not 95; say 0.95 for 95 %."),
        (study(optimizer="{name: sgd, nesterov: true}"), "5: base.optimizer: sgd's nesterov needs a momentum above 0"),
        (
            study(optimizer="{name: sgd, nesterov: true, momentum: 0.9, dampening: 0.1}"),
            "5: base.optimizer: sgd's nesterov",
        ),
        (
            study(**{**LINE, "loss": "softmax_ce"}),
            "8: base.loss: line has values, not classes; softmax_ce needs classes. Use mse or sum_squares.",
        ),
        (study(data="line", model="line"), "2: base.loss: line has values, not classes; softmax_ce needs classes."),
        (study(**LINE, early_stop="{patience: 3}"), "9: base.early_stop: line has no accuracy; say metric: loss."),
        (
            study(devices="2", precision="fp16", strategy="{name: ddp, compress: powersgd}"),
            "10: base.strategy: powersgd keeps what it did not send, and in fp16 an overflow would stay in it",
        ),
        (
            study(compile="true", model="lab_cnn", freeze="base", finetune_after="1"),
            "8: base.compile: a base that trains later would be compiled anew",
        ),
        (study(model="line"), "4: base.model: the model line fits one value to one value, not the classes of digits."),
    ],
)
def test_fields_that_contradict_each_other_are_refused(refused: Refused, text: str, message: str) -> None:
    assert refused(text).startswith(f"study.yaml:{message}")


@pytest.mark.parametrize(
    "said",
    [
        {"steps": None, "epochs": 2.5, "batch": "20 - 5 * epoch"},
        {"warmup": 10},
        {"overlap": 0.5, "order": "file"},
        {"optimizer": {"name": "sgd", "nesterov": True, "momentum": 0.9}},
        {"data": "line", "model": "line", "loss": "mse", "early_stop": {"target": 0.1, "metric": "loss"}},
        {"data": "my_data:load", "model": "line", "loss": "mse"},
    ],
)
def test_what_holds_together_passes(said: dict[str, object]) -> None:
    check(Run.model_validate({**SAID, **said}))
