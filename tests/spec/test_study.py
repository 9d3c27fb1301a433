"""A study: its keys, axes and cases, and what is refused of them."""

from pathlib import Path

import pytest

from paceline.errors import StudyError
from paceline.plan.expand import expand
from paceline.spec.document import Document, parse
from paceline.spec.full import READ_BY
from paceline.spec.identity import setting_hash
from paceline.spec.study import Study, from_document, load

from .conftest import Refused
from .studies import study

SETTINGS = (
    "Allowed: accumulate, augment, base_lr, batch, batch_mode, channels_last, clip_norm, clip_value, compile, data, "
    "device, devices, early_stop, epochs, evaluate_every, finetune_after, freeze, fused, image_size, loader, loss, lr, "
    "lr_scale, model, noise_every, normalize, optimizer, order, overlap, precision, schedule, seed, steps, strategy, subset, sync_batch_norm, threads, warmup, weights."
)
NESTED = "dotted keys go into data, model, loss, optimizer, schedule, strategy, subset, early_stop, augment, loader."


def read(text: str) -> Study:
    return from_document(parse(text, "study.yaml"), Path())


def test_a_study_file(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(study("question: why?\ncompare: {optimizer: [adam, gd]}\nselect: test\n"))
    loaded = load(file)
    assert (loaded.name, loaded.question, loaded.repeat, loaded.select) == ("trial", "why?", 3, "test")
    assert loaded.compare == {"optimizer": ["adam", "gd"]}
    assert loaded.folder == tmp_path.resolve()
    assert loaded.document.where(("compare",)) == f"{file}:9"


def test_a_mapping_needs_no_file() -> None:
    assert from_document(Document("<mapping>", {"name": "a"}), Path()).name == "a"


SIZED = study(
    "compare: {batch: [7, 9], overlap: [2, true]}\n"
    "tune: {sample: 4, lr: {low: 0.1, high: 1}}\n"
    "cases:\n- {name: a, warmup: 1}\n- {name: b, warmup: 2, tune: {clip_norm: [1, 2]}}\n"
    "scales:\n"
    "  seeds: {repeat: 1}\n"
    "  part: {batch: [9.0], overlap: true, cases: [a], repeat: 9, tune.sample: 3}\n"
    "  tuned: {cases.b.tune.clip_norm: [2]}\n"
    "  other: {batch: [8]}\n"
    "  otherwise: {overlap: [1]}\n"
    "  spread: {tune.lr: {low: 0.2, high: 1}}\n"
    "  denser: {tune.sample: 5}\n"
    "  base: {steps: 3}\n"
    "  argument: {optimizer.beta1: 0.5}\n"
    "  same: {steps: 10, device: auto}\n"
    "  case: {cases: {a: {warmup: 1}, b: {warmup: 3}}}\n"
    "  alone: {cases: {}}\n"
    "  gone: {compare: {batch: [7]}}\n"
    "  read: {select: test}\n"
    "  words: {question: 'Why: so?', published: {accuracy: 0.9}}\n"
)


@pytest.mark.parametrize(
    ("scale", "full", "part"),
    [
        ("seeds", True, True),
        ("same", True, True),
        ("words", True, True),
        ("part", False, True),
        ("tuned", False, True),
        *((scale, False, False) for scale in ("other", "otherwise", "spread", "denser", "base", "argument", "case")),
        *((scale, False, False) for scale in ("alone", "gone", "read")),
    ],
)
def test_what_a_size_leaves_of_the_full_study(tmp_path: Path, scale: str, full: bool, part: bool) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(SIZED)
    found = load(file, scale=scale)
    assert (found.changed, found.part) == ("" if full else f"the size '{scale}'", part)
    assert (load(file).changed, load(file).part) == ("", True)
    if scale != "read":
        assert part == (settings(found) <= settings(load(file))), "as the runs themselves say"


def settings(study: Study) -> set[str]:
    return {setting_hash(trial.run).hexdigest() for trial in expand(study)}


def test_what_is_set_makes_a_study_less_than_full_too(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(SIZED)

    def said(*sets: str, scale: str | None = None) -> tuple[str, bool]:
        found = load(file, sets=list(sets), seeds=2, scale=scale)
        return found.changed, found.part

    assert said() == said("seed=7", "name=other", "repeat=1", "measure=accuracy") == ("", True)
    assert said("steps=1") == ("--set steps=1", False)
    assert said("steps=1", "steps=10") == ("", True)
    assert said("batch=9") == ("--set batch=9", True)
    assert said("cases=[{name: b, warmup: 2}]") == ("--set cases=[{name: b, warmup: 2}]", False)
    assert said("name=x", "steps=1", "lr=3", scale="part") == ("the size 'part', --set steps=1 and --set lr=3", False)
    assert said("batch=9", scale="seeds") == ("--set batch=9", True)


def test_what_is_unsaid_of_a_study_is_the_same_in_both_places() -> None:
    assert {key: Study.model_fields[key].default for key in READ_BY} == READ_BY


def test_cases_in_a_list_are_the_cases_in_a_mapping() -> None:
    listed = read(study("cases:\n  - {name: a, lr: 1}\n  - name: b\n    tune: {lr: [1, 2]}\n"))
    mapped = read(study("cases:\n  a: {lr: 1}\n  b: {tune: {lr: [1, 2]}}\n"))
    assert listed.cases == mapped.cases == {"a": {"lr": 1}, "b": {"tune": {"lr": [1, 2]}}}
    assert listed.document.where(("cases", "b", "tune", "lr", 1)) == "study.yaml:11"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            study("compair:\n  lr: [1]\n"),
            "8: compair: unknown key 'compair'. Did you mean 'compare'? Allowed: assumed, base, cases, compare, measure, name, published, question, repeat, scales, select, tune.",
        ),
        (study(optimiser="adam"), f"8: base.optimiser: unknown key 'optimiser'. Did you mean 'optimizer'? {SETTINGS}"),
        (study(trial="1"), f"8: base.trial: unknown key 'trial'. {SETTINGS}"),
        (
            study("compare:\n  optimiser:\n  - adam\n"),
            f"9: compare.optimiser: unknown key 'optimiser'. Did you mean 'optimizer'? {SETTINGS}",
        ),
        (study("tune:\n  lrr: [1]\n"), f"9: tune.lrr: unknown key 'lrr'. Did you mean 'lr'? {SETTINGS}"),
        (
            study("cases:\n  a:\n    stps: 3\n"),
            f"10: cases.a.stps: unknown key 'stps'. Did you mean 'steps'? {SETTINGS}",
        ),
        (
            study("cases:\n- name: a\n  stps: 3\n"),
            f"10: cases.a.stps: unknown key 'stps'. Did you mean 'steps'? {SETTINGS}",
        ),
        (
            study("cases:\n  a: {tune: {lrr: [1]}}\n"),
            f"9: cases.a.tune.lrr: unknown key 'lrr'. Did you mean 'lr'? {SETTINGS}",
        ),
        (
            study("compare:\n  lr.x: [1]\n"),
            f"9: compare.lr.x: 'lr' has no 'x'; {NESTED}",
        ),
        (study("compare:\n  model.a-b: [1]\n"), f"9: compare.model.a-b: 'model' has no 'a-b'; {NESTED}"),
        ("name: a\ndata: mnist\n", "2: data: unknown key 'data'. It is a setting of a run: say it in base, as data."),
        (
            "name: a\nlearning_rate: 1\n",
            "2: learning_rate: unknown key 'learning_rate'. It is a setting of a run: say it in base, as lr.",
        ),
        (
            study(seeds="3"),
            "8: base.seeds: unknown key 'seeds'. repeat is said of the whole study: beside base, not in it.",
        ),
        (study("compare:\n  seed: [1, 2]\n"), "9: compare.seed: seeds are no axis; say repeat: N."),
    ],
)
def test_an_unknown_key_is_refused(refused: Refused, text: str, message: str) -> None:
    assert refused(text) == f"study.yaml:{message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (study("repeat: many\n"), "8: repeat: 'many' is not a number."),
        (study("repeat: true\n"), "8: repeat: True is not a number."),
        (study("repeat: 0\n"), "8: repeat: say at least 1, not 0."),
        (study("measure: tme\n"), "8: measure: unknown value 'tme'. Did you mean 'time'? Allowed: accuracy, time."),
        (
            study("select: tests\n"),
            "8: select: unknown value 'tests'. Did you mean 'test'? Allowed: best_epoch, test, validation.",
        ),
        ("name: a/b\n", "1: name: a name has letters"),
        ("name: 3\n", "1: name: say a text, not 3."),
        ("base: {}\n", "1: name: 'name' is missing."),
        ("name: a\nbase: 3\n", "2: base: say a mapping (key: value), not 3."),
        (study("tune:\n"), "8: tune: say a mapping (key: value); it is empty."),
        (study("cases:\n  a:\n"), "9: cases.a: say a mapping (key: value); it is empty."),
        (study("cases:\n  a: {tune: 3}\n"), "9: cases.a.tune: tune is a mapping of axes to lists of values."),
        (study("cases:\n- {lr: 1}\n"), "9: cases.0: a case in a list needs a name: - {name: ..., ...}."),
        (
            study("cases:\n- {name: a, lr: 1}\n- {name: a, lr: 2}\n"),
            "10: cases.1: two cases are named 'a'; a name stands once.",
        ),
        (study("scales:\n  small: {}\n"), "9: scales.small: an empty scale; say what it changes."),
        (study("compare:\n  optimizer: []\n"), "9: compare.optimizer: an empty axis; give it at least one value."),
        (study("tune:\n  lr: []\n"), "9: tune.lr: an empty axis; give it at least one value."),
        (study("cases:\n  a: {tune: {lr: []}}\n"), "9: cases.a.tune.lr: an empty axis; give it at least one value."),
        (study("compare:\n  optimizer: adam\n"), "9: compare.optimizer: say a list of values, as [a, b], not 'adam'."),
        (study("tune:\n  lr: 0.1\n"), "9: tune.lr: an axis is a list of values, not 0.1."),
        (
            study("tune:\n  lr: {low: 0.1, high: 1}\n"),
            "9: tune.lr: of a range points are drawn; say how many: sample: 20 in tune, beside it.",
        ),
        (
            study("cases:\n  a: {lr: [1, 2]}\n"),
            "9: cases.a.lr: one value goes here, not a list; lr: [1, 2] goes under compare, or under tune to take",
        ),
        (study("tune:\n  lr: [1, 2, 1.0]\n"), "9: tune.lr.2: 1.0 stands twice on this axis."),
        (
            study("compare:\n  optimizer:\n  - {name: gd}\n  - {name: gd}\n"),
            "11: compare.optimizer.1: {'name': 'gd'} stands twice",
        ),
        (
            study(f"compare:\n  lr: [{', '.join(map(str, range(1, 2000)))}, 7]\n"),
            "9: compare.lr.1999: 7 stands twice on this axis.",
        ),
        (
            study("compare:\n  lr: [1]\ntune:\n  lr: [2]\n"),
            "11: tune.lr: 'lr' is compared and tuned; it can be one of the two.",
        ),
        (
            study("tune:\n  lr: [1]\ncases:\n  a: {lr: 2}\n"),
            "11: cases.a.lr: 'lr' is an axis of the study; a case cannot set it too.",
        ),
        (
            study("compare:\n  lr: [1]\ncases:\n  a: {tune: {lr: [2]}}\n"),
            "11: cases.a.tune.lr: 'lr' is an axis of the study",
        ),
    ],
)
def test_what_is_wrong_is_refused(refused: Refused, text: str, message: str) -> None:
    assert refused(text).startswith(f"study.yaml:{message}")


@pytest.mark.parametrize(
    ("tune", "message"),
    [
        ("{sample: 0, lr: [1]}", "8: tune.sample: 0 is not a number of samples; say a whole number from 1."),
        ("{sample: true, lr: [1]}", "8: tune.sample: True is not a number of samples"),
        ("{sample: 3}", "8: tune: nothing to sample; give tune at least one axis."),
        ("{sample: 3, lr: 1}", "8: tune.lr: say a list, or {low: ..., high: ..., scale: linear or log}."),
        ("{sample: 3, lr: []}", "8: tune.lr: an empty axis"),
        (
            "{sample: 3, lr: {low: 1, hihg: 2}}",
            "8: tune.lr.hihg: unknown key 'hihg'. Did you mean 'high'? Allowed: high, low, scale.",
        ),
        ("{sample: 3, lr: {low: 1}}", "8: tune.lr.high: 'high' is missing."),
        ("{sample: 3, lr: {low: a, high: 2}}", "8: tune.lr.low: 'a' is not a number."),
        ("{sample: 3, lr: {low: 1, high: .inf}}", "8: tune.lr.high: inf is not a number."),
        (
            "{sample: 3, lr: {low: 1, high: 2, scale: logg}}",
            "8: tune.lr.scale: unknown value 'logg'. Did you mean 'log'? Allowed: linear, log.",
        ),
        ("{sample: 3, lr: {low: 2, high: 1}}", "8: tune.lr: low must be below high, and above 0 on a log scale."),
        (
            "{sample: 3, lr: {low: 0, high: 1, scale: log}}",
            "8: tune.lr: low must be below high, and above 0 on a log scale.",
        ),
        ("{sample: 3, lr: {low: -1, high: 1}}", "8: tune.lr.#0: say a number above 0, not 0.0."),
    ],
)
def test_a_wrong_sample_is_refused(refused: Refused, tune: str, message: str) -> None:
    assert refused(study(f"tune: {tune}\n")).startswith(f"study.yaml:{message}")


def test_one_and_true_are_two_values() -> None:
    assert read(study("compare: {overlap: [1, true, 0.25]}\n")).compare == {"overlap": [1, True, 0.25]}


def test_the_first_error_of_an_impossible_mapping_says_where_it_came_from() -> None:
    with pytest.raises(StudyError, match=r"<mapping>: base.lrr: unknown key 'lrr'. Did you mean 'lr'\?"):
        from_document(Document("<mapping>", {"name": "a", "base": {"lrr": 1}}), Path())
