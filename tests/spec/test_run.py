"""What one field of a run may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from paceline.spec.run import FIELDS, EarlyStop, Run, Subset, construct

from .conftest import Refused
from .studies import SAID, study


def run(**said: object) -> Run:
    return Run.model_validate({**SAID, **said})


def test_a_run_is_frozen_and_knows_its_fields() -> None:
    with pytest.raises(ValidationError):
        run().lr = 0.2
    with pytest.raises(ValidationError, match="Extra inputs"):
        run(learning_rate=0.1)


def test_a_constructed_run_equals_a_validated_one() -> None:
    validated = run(schedule="cosine", subset=64)
    assert construct({name: getattr(validated, name) for name in FIELDS}) == validated


@pytest.mark.parametrize(
    ("field", "said", "read"),
    [
        ("lr", 1, 1.0),
        ("steps", 1e3, 1000),
        ("batch", 32.0, 32),
        ("batch", "30  +  10*epoch", "30 + 10*epoch"),
        ("overlap", True, 0.5),
        ("overlap", False, 0),
        ("overlap", 3.0, 3),
        ("overlap", 0.0, 0),
        ("overlap", 0.25, 0.25),
        ("subset", 64, Subset(size=64)),
        ("early_stop", {"patience": 3}, EarlyStop(patience=3)),
        ("evaluate_every", "epoch", "epoch"),
        ("evaluate_every", 5, 5),
        ("warmup", 3, 3),
    ],
)
def test_a_field_is_read_into_one_form(field: str, said: object, read: object) -> None:
    value = getattr(run(**{field: said}), field)
    assert value == read
    assert type(value) is type(read)


@given(st.sampled_from(["lr", "steps", "warmup", "epochs", "clip_norm", "seed"]), st.text() | st.booleans())
def test_a_word_is_never_a_number(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match="is not a number"):
        run(**{field: value})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (study(lr="big"), "6: base.lr: 'big' is not a number."),
        (study(lr="'0.1'"), "6: base.lr: '0.1' is not a number."),
        (study(lr="true"), "6: base.lr: True is not a number."),
        (study(lr=".inf"), "6: base.lr: inf is not a number."),
        (study(lr=".nan"), "6: base.lr: nan is not a number."),
        (study(lr=""), "6: base.lr: say a number; it is empty."),
        (study(lr="[0.1]"), "6: base.lr: one value goes here, not a list; lr: [0.1] goes under compare, or under tune"),
        (study(lr="-0.1"), "6: base.lr: say a number above 0, not -0.1."),
        (study(lr="0"), "6: base.lr: say a number above 0, not 0."),
        (study(steps="1.5"), "7: base.steps: say a whole number, not 1.5."),
        (study(steps="0"), "7: base.steps: say at least 1, not 0."),
        (study(seed="-1"), "8: base.seed: say at least 0, not -1."),
        (study(seed=str(10**19)), "8: base.seed: say at most 1e+18, not 1000"),
        (study(compile="maybe"), "8: base.compile: say true or false, not 'maybe'."),
        (study(batch="0"), "8: base.batch: 0 is not a batch size; say a whole number from 1, or e.g. 30 + 10 * epoch."),
        (study(batch="2.5"), "8: base.batch: 2.5 is not a batch size"),
        (study(batch=".inf"), "8: base.batch: inf is not a batch size"),
        (study(batch="[2]"), "8: base.batch: one value goes here, not a list; batch: [2] goes under compare"),
        (
            study(overlap="1.5"),
            "8: base.overlap: 1.5 is not an overlap; say a share below 1, a number of examples, or true",
        ),
        (study(overlap=".inf"), "8: base.overlap: inf is not an overlap"),
        (
            study(order="shufle"),
            "8: base.order: unknown value 'shufle'. Did you mean 'shuffle'? Allowed: file, random, shuffle.",
        ),
        (
            study(device="gpu"),
            "8: base.device: unknown value 'gpu'. Did you mean 'cuda'? Allowed: auto, cpu, cuda, mps.",
        ),
        (
            study(evaluate_every="epoc"),
            "8: base.evaluate_every: unknown value 'epoc'. Did you mean 'epoch'? Allowed: epoch.",
        ),
        (study(evaluate_every="0"), "8: base.evaluate_every: say at least 1, not 0."),
        (
            study(subset="{sizee: 3}"),
            "8: base.subset.sizee: subset has no 'sizee'. Did you mean 'size'? Allowed: redraw, size.",
        ),
        (
            study(subset="{size: 3, redraw: epochs}"),
            "8: base.subset.redraw: unknown value 'epochs'. Did you mean 'epoch'? Allowed: epoch, never.",
        ),
        (study(subset="{redraw: epoch}"), "8: base.subset.size: 'size' is missing."),
        (study(subset="true"), "8: base.subset: "),
        (
            study(early_stop="{patince: 3}"),
            "8: base.early_stop.patince: early_stop has no 'patince'. Did you mean 'patience'? Allowed: metric, patience, target.",
        ),
        (
            study(early_stop="{patience: 3, metric: acuracy}"),
            "8: base.early_stop.metric: unknown value 'acuracy'. Did you mean 'accuracy'? Allowed: accuracy, loss.",
        ),
    ],
)
def test_a_wrong_value_is_refused(refused: Refused, text: str, message: str) -> None:
    assert refused(text).startswith(f"study.yaml:{message}")
