"""Values set from outside: --set in all its forms, --scale, --seeds."""

from pathlib import Path
from typing import Any

import pytest

from paceline.plan.expand import expand
from paceline.spec.document import Document, parse
from paceline.spec.override import _STUDY, override
from paceline.spec.run import Loader, Run
from paceline.spec.study import Study, load

from .conftest import Refused
from .studies import study

TEXT = study(
    "compare:\n  optimizer: [adam, sgd]\n"
    "tune:\n  lr: [0.1, 0.2]\n"
    "cases:\n  a: {batch: 3}\n  v1.5: {batch: 4, tune: {warmup: [1, 2]}}\n"
    "scales:\n  small: {steps: 3, repeat: 1, tune.lr: [0.5]}\n  broken: {stps: 3}\n"
)


def loaded(folder: Path, *sets: str, **options: Any) -> Study:
    file = folder / "study.yaml"
    file.write_text(TEXT)
    return load(file, sets=list(sets), **options)


def test_every_key_of_a_study_can_be_set() -> None:
    assert set(_STUDY) == set(Study.model_fields)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("steps=200", "base.steps", 200),
        (" steps = 200 ", "base.steps", 200),
        ("base.steps=200", "base.steps", 200),
        ("lr=0.5", "tune.lr", [0.5]),
        ("lr=1e-3", "tune.lr", [0.001]),
        ("lr=[0.5, 0.6]", "tune.lr", [0.5, 0.6]),
        ("tune.lr=[0.5, 0.6]", "tune.lr", [0.5, 0.6]),
        ("tune.lr=0.5", "tune.lr", [0.5]),
        ("tune.sample=2", "tune.sample", 2),
        ("tune={sample: 3, lr: {low: 0.1, high: 1}}", "tune", {"sample": 3, "lr": {"low": 0.1, "high": 1}}),
        ("tune={lr: [3]}", "tune", {"lr": [3]}),
        ("optimizer=gd", "compare.optimizer", ["gd"]),
        ("optimizer={name: adam, beta2: 0.5}", "compare.optimizer", [{"name": "adam", "beta2": 0.5}]),
        ("compare.optimizer=[gd]", "compare.optimizer", ["gd"]),
        ("optimizer.weight_decay=0.1", "base.optimizer~weight_decay", 0.1),
        ("model={name: mlp, widths: [3, 4]}", "base.model", {"name": "mlp", "widths": [3, 4]}),
        ("batch=9", "cases.a.batch", 9),
        ("batch=9", "cases.v1~5.batch", 9),
        ("batch=9", "base.batch", 9),
        ("batch=30 + 10 * epoch", "base.batch", "30 + 10 * epoch"),
        ("warmup=3", "cases.v1~5.tune.warmup", [3]),
        ("cases.a.batch=7", "cases.a.batch", 7),
        ("cases.a.clip_norm=7", "cases.a.clip_norm", 7),
        ("cases.a={batch: 8}", "cases.a", {"batch": 8}),
        ("cases.v1.5.batch=7", "cases.v1~5.batch", 7),
        ("cases.v1.5.tune.warmup=[3]", "cases.v1~5.tune.warmup", [3]),
        ("cases.a.tune.warmup=3", "cases.a.tune.warmup", [3]),
        ("cases=[a]", "cases", {"a": {"batch": 3}}),
        ("scales.small.steps=5", "scales.small.steps", 5),
        ("repeat=2", "repeat", 2),
        ("name=other", "name", "other"),
        ("question='why: so?'", "question", "why: so?"),
        ("question=a=b", "question", "a=b"),
        ("assumed=[a]", "assumed", ["a"]),
        ("published={accuracy: 0.9}", "published", {"accuracy": 0.9}),
    ],
)
def test_set(tmp_path: Path, text: str, key: str, value: object) -> None:
    found: Any = loaded(tmp_path, text).model_dump()
    for step in key.split("."):
        found = found[step.replace("~", ".")]
    assert found == value


def test_a_value_set_in_a_case_leaves_the_others(tmp_path: Path) -> None:
    assert loaded(tmp_path, "cases.a.batch=7").cases["v1.5"]["batch"] == 4


def test_the_last_set_wins_and_set_wins_over_scale(tmp_path: Path) -> None:
    assert loaded(tmp_path, "steps=1", "steps=2").base["steps"] == 2
    assert loaded(tmp_path, "steps=5", scale="small").base["steps"] == 5


def test_scale(tmp_path: Path) -> None:
    small = loaded(tmp_path, scale="small")
    assert (small.base["steps"], small.repeat, small.tune) == (3, 1, {"lr": [0.5]})


NESTED = study(
    "cases:\n  a: {optimizer: adam}\n  b: {optimizer: {name: adam, beta1: 0.7}}\n"
    "  c: {optimizer.beta1: 0.8}\n  d: {tune: {optimizer.beta1: [0.6, 0.8]}}\n  e: {loader.workers: 1}\n"
    "  f: {loader: memory}\n"
    "scales:\n  two: {loader.workers: 5, loader: {prefetch: 3}}\n",
    loader__workers="2", early_stop__patience="2", optimizer__beta2="0.5",
)  # fmt: skip


def runs(folder: Path, text: str, *sets: str, **options: Any) -> dict[str, Run]:
    file = folder / "study.yaml"
    file.write_text(text)
    return {trial.case: trial.run for trial in expand(load(file, sets=list(sets), **options))}


def test_a_dotted_key_reaches_every_case(tmp_path: Path) -> None:
    found = runs(tmp_path, NESTED, "optimizer.beta1=0.5")
    assert {name: run.optimizer.complete["beta1"] for name, run in found.items()} == dict.fromkeys("abcdef", 0.5)
    assert {name: run.optimizer.complete["beta2"] for name, run in found.items()} == {
        **dict.fromkeys("ab", 0.999),
        **dict.fromkeys("cdef", 0.5),
    }


def test_a_whole_part_stands_above_the_dotted_keys_of_the_file(tmp_path: Path) -> None:
    found = runs(tmp_path, NESTED, "loader=4", "early_stop=null")
    assert {run.loader for run in found.values()} == {Loader(workers=4)}
    assert {run.early_stop for run in found.values()} == {None}
    assert runs(tmp_path, NESTED, "base.loader=4")["a"].loader == Loader(workers=4)
    assert runs(tmp_path, NESTED, "loader.workers=3", "loader=4", "loader.prefetch=7")["e"].loader == Loader(
        workers=4, prefetch=7
    )


def test_in_a_size_the_order_of_part_and_dotted_key_says_nothing(tmp_path: Path) -> None:
    assert runs(tmp_path, NESTED, scale="two")["e"].loader == Loader(workers=5, prefetch=3)


def test_values_of_an_axis_keep_the_dotted_keys_of_the_file(tmp_path: Path) -> None:
    text = study("compare: {optimizer: [adam, adamw]}\n", optimizer=None, optimizer__beta1="0.7")
    assert str(runs(tmp_path, text, "optimizer=adam")[""].optimizer) == "adam(beta1=0.7)"
    assert str(runs(tmp_path, text, "optimizer.beta2=0.5")[""].optimizer) == "adamw(beta1=0.7, beta2=0.5)"
    cases = study(
        "cases:\n  a: {optimizer: adamw, tune: {optimizer.beta1: [0.6, 0.8]}}\n"
        "  b: {optimizer.beta2: 0.4, tune: {optimizer: [adam, adamw]}}\n"
    )
    assert str(runs(tmp_path, cases, "optimizer.beta1=0.5")["a"].optimizer) == "adamw(beta1=0.5)"
    assert str(runs(tmp_path, cases, "optimizer=adam")["b"].optimizer) == "adam(beta2=0.4)"


def test_a_text_in_a_size_is_that_text(tmp_path: Path) -> None:
    text = study("scales:\n  quick: {question: 'Quick: which?', steps: 3}\n")
    (tmp_path / "study.yaml").write_text(text)
    assert load(tmp_path / "study.yaml", scale="quick").question == "Quick: which?"


def test_seeds(tmp_path: Path) -> None:
    assert loaded(tmp_path, "repeat=7", seeds=2).repeat == 2


def test_the_document_itself_is_left_alone() -> None:
    document = parse("tune: {lr: [1]}\n")
    override(document, "lr", 2, "--set lr=2")
    assert document.data == {"tune": {"lr": [1]}}
    assert override(Document("f", [1]), "lr", 2, "").data == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "say key=value, as in --set steps=200."),
        ("steps", "say key=value, as in --set steps=200."),
        ("=3", "say key=value, as in --set steps=200."),
        (" =3", "say key=value, as in --set steps=200."),
        ("steps=", "base.steps: say how long to train: steps or epochs, one of the two."),
        ("steps=many", "base.steps: 'many' is not a number."),
        ("stps=3", "base.stps: unknown key 'stps'. Did you mean 'steps'? Allowed: accumulate,"),
        ("steps=[", "is not valid YAML: did not find expected node content."),
        ("steps=*a", "anchors and aliases (& and *) are not allowed"),
        ("steps=!!python/name:os.system x", "the tag tag:yaml.org,2002:python/name:os.system is not allowed"),
        ("base.lr=0.5", "lr is an axis (tune.lr), so the base's changes no run; say lr instead of base.lr."),
        (
            "base.batch=9",
            "every case sets batch itself, so the base's changes no run; say batch instead of base.batch.",
        ),
        ("base.optimizer=gd", "optimizer is an axis (compare.optimizer), so the base's changes no run; say optimizer"),
        ("lr=-1", "tune.lr.0: say a number above 0, not -1."),
        ("tune.lr=[]", "tune.lr: an empty axis; give it at least one value."),
        ("tune.lrr=[1]", "tune.lrr: unknown key 'lrr'. Did you mean 'lr'?"),
        ("lr={low: 1, high: 2}", "tune.lr: of a range points are drawn; say how many"),
        ("optimizer=adma", "compare.optimizer.0: unknown optimizer 'adma'. Did you mean 'adam'?"),
        ("optimizer.beta3=1", "base.optimizer.beta3: optimizer 'adam' has no argument 'beta3'. Did you mean 'beta2'?"),
        ("cases.a.btch=3", "cases.a.btch: unknown key 'btch'. Did you mean 'batch'?"),
        ("cases.v1.batch=3", "cases.v1.batch: no such name among the cases. Did you mean 'v1.5'? Allowed: a, v1.5."),
        ("cases.a=3", "cases.a: say a mapping (key: value), not 3."),
        ("cases=[v15]", "cases.v15: no such name among the cases. Did you mean 'v1.5'? Allowed: a, v1.5."),
        ("cases=[a, a.batch]", "cases.a.batch: no such name among the cases."),
        ("cases=3", "cases: say a mapping (key: value), not 3."),
        ("base=3", "base: say a mapping (key: value), not 3."),
        ("nam=x", "base.nam: unknown key 'nam'."),
    ],
)
def test_a_wrong_set_is_refused(refused: Refused, text: str, message: str) -> None:
    assert refused(TEXT, "--set", text).startswith(f"--set {text}: {message}".strip())


def test_a_wrong_scale_is_refused(refused: Refused) -> None:
    assert refused(TEXT, "--scale", "smal") == (
        "study.yaml:15: scales: no scale 'smal' here. Did you mean 'small'? Allowed: broken, small."
    )
    assert refused(study(), "--scale", "small") == "study.yaml:1: scales: no scale 'small' here. The study has none."
    assert refused(TEXT, "--scale", "broken").startswith("study.yaml:17: base.stps: unknown key 'stps'. Did you mean")
    assert refused(study(), "--set", "cases.a.lr=1").endswith(
        "cases.a.lr: no such name among the cases. The study has none."
    )


@pytest.mark.parametrize("seeds", ["0", "-3", "10001"])
def test_a_wrong_number_of_seeds_is_refused(refused: Refused, seeds: str) -> None:
    said = refused(study(), "--seeds", seeds)
    assert said.startswith(f"--seeds {seeds}: repeat: say at ")
    assert said.endswith(f"not {seeds}.")
