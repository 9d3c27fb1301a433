"""A stack's curves are those of its runs alone: every optimizer, what may differ between runs, endings, checkpoints."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.data.sources.line import line
from paceline.data.sources.synthetic import synthetic
from paceline.errors import StackError, StudyError
from paceline.spec import Run
from paceline.spec.parts import TABLE
from paceline.train import checkpoint
from paceline.train.features import embedded
from paceline.train.rows import Pause
from paceline.train.stack import loop as loop_module
from paceline.train.stack import stack as stack_module
from paceline.train.stack.loop import train_stack

from .together import LR, Curve, alone, assert_alike, assert_each_as_alone, curves, mlp, run_of, stacked

MODELS = {
    "softmax": {"model": "softmax", "steps": 100},
    "mlp": {"model": mlp(widths=[16, 8], dropout=0.3), "steps": 100},
    "lab_cnn": {"model": "lab_cnn", "steps": 50, "batch": 4},
}


@pytest.mark.parametrize("model", MODELS)
def test_every_optimizer_in_double_precision(model, small, tiny):
    slowly = 0.05 if model == "lab_cnn" else 1
    runs = [
        run_of(optimizer=name, lr=LR.get(name, 0.1) * slowly, evaluate_every=10, **MODELS[model])
        for name in TABLE["optimizer"]
    ]
    assert_each_as_alone(runs, tiny if model == "lab_cnn" else small)


@pytest.mark.parametrize("model", MODELS)
def test_every_optimizer_in_single_precision(model, small, pictures):
    slowly = 0.01 if model == "lab_cnn" else 1
    said = MODELS[model] | {"steps": 10, "precision": "fp32", "evaluate_every": 1}
    runs = [run_of(optimizer=name, lr=LR.get(name, 0.1) * slowly, **said) for name in TABLE["optimizer"]]
    assert_each_as_alone(runs, pictures if model == "lab_cnn" else small, rel=1e-4)


def _each(name: str, *values: Any, **said: Any) -> list[dict[str, Any]]:
    return [{**said, name: value} for value in values]


MIXED: dict[str, list[dict[str, Any]]] = {
    "lr": _each("lr", 0.01, 0.1, 1.0),
    "steps": _each("steps", 7, 30, 12, 30, 1),
    "epochs": _each("epochs", 1, 2.5, 0.3, 3, steps=None),
    "epochs and steps": [{"steps": None, "epochs": 2}, {"steps": 15}, {"steps": 20}],
    "evaluate_every": _each("evaluate_every", 1, 4, "epoch", None, 100),
    "batch that grows": _each("epochs", 1, 3, 2, steps=None, batch="20 + 10 * epoch"),
    "batch that grows, by steps": _each("evaluate_every", "epoch", 3, batch="20 + 10 * epoch"),
    "batch that does not divide": _each("seed", 0, 1, 2, batch=33),
    "batch of all": _each("seed", 0, 1, batch=1000),
    "batches that overlap": _each("seed", 0, 1, overlap=0.5),
    "patience": _each("early_stop", None, {"patience": 2, "metric": "loss"}, {"patience": 1}, lr=3.0, evaluate_every=2),
    "target": _each("early_stop", {"target": 0.7}, {"target": 0.4, "metric": "loss"}, None, evaluate_every=1),
    "schedule": _each(
        "schedule",
        "constant",
        "cosine",
        {"name": "exponential", "rate": 0.5, "every": 7, "staircase": True},
        {"name": "step", "at": [5, 10], "rate": 0.3},
        {"name": "linear", "final": 0.1},
        "one_cycle",
    ),
    "schedule over other lengths": _each("steps", 10, 20, 30, schedule="cosine"),
    "warmup": _each("warmup", 0, 5, 10, schedule="cosine"),
    "warmup alone": _each("warmup", 0, 5, 10),
    "clip_norm": _each("clip_norm", None, 1e-3, 0.1, 10.0, lr=1.0),
    "clip_value": _each("clip_value", None, 1e-3, 0.1, 10.0, lr=1.0),
    "clipped in both ways": [{"clip_norm": 0.1}, {"clip_value": 0.01}, {"clip_norm": 0.05, "clip_value": 0.02}, {}],
    "dropout": _each("model", *(mlp(widths=[8, 6], dropout=rate) for rate in (0, 0.2, 0.7, 1))),
    "init": _each("model", *(mlp(init=how) for how in ("kaiming", "torch", "truncated_normal"))),
    "init of softmax": _each("model", *({"name": "softmax", "init": how} for how in ("zeros", "normal", "torch"))),
    "one run": [{"optimizer": "adam"}],
}


@pytest.mark.parametrize("model", ["softmax", "mlp"])
@pytest.mark.parametrize("case", MIXED)
def test_what_differs_between_runs(case, model, small):
    base = {"model": mlp(dropout=0.2) if model == "mlp" else "softmax"}
    assert_each_as_alone([run_of(**base | said) for said in MIXED[case]], small)


@pytest.mark.parametrize("name", TABLE["optimizer"])
def test_every_number_of_an_optimizer_may_differ_between_runs(name, small):
    args = TABLE["optimizer"][name].args
    knobs = []
    for factor, extra in ((1, 0), (0.5, 0.05), (0.9, 0.1)):
        of_run = {key: arg.default * factor or extra for key, arg in args.items() if arg.type == "number"}
        knobs.append({"name": name, **of_run})
        if name == "sgd":
            knobs.append({"name": name, "momentum": 0.9 * factor, "nesterov": True})
        if name in ("rmsprop", "muon"):
            knobs.append({**knobs[-1], **({"centered": True} if name == "rmsprop" else {"nesterov": False})})
    lr = LR.get(name, 0.1)
    runs = [run_of(optimizer=said, lr=lr, model=mlp(), steps=20) for said in knobs]
    assert_each_as_alone(runs, small)


def test_all_is_dropped_and_decays(small):
    said = {"optimizer": {"name": "adamw", "weight_decay": 0.5}, "model": mlp(dropout=1)}
    assert_each_as_alone([run_of(**said), run_of(**said, lr=0.2)], small)


def test_a_line_for_each_start_with_its_parameters_as_curves():
    base = {"data": "line", "loss": "sum_squares", "order": "file", "batch": 4, "evaluate_every": 1}
    runs = [
        run_of(**base, model={"name": "line", "W": w, "b": b}, optimizer=optimizer, lr=lr)
        for w, b in ((0.3, -0.3), (1.0, 2.0))
        for optimizer, lr in (("gd", 0.01), ("adam", 0.1), ("gd", 1.0))
    ]
    found = assert_each_as_alone(runs, line(Files.search()))
    assert len({curve.rows[-1].extras["W"] for curve in found}) == 6


def test_runs_that_start_alike_are_scored_once_before_the_first_step(small, monkeypatch):
    scored = []

    def scores(program, at, *rest):
        scored.append(at.runs)
        return before(program, at, *rest)

    before = stack_module.scores
    monkeypatch.setattr(stack_module, "scores", scores)
    smooth = {"name": "softmax_ce", "label_smoothing": 0.2}
    said = [{"seed": 0}, {"seed": 1, "lr": 0.2}, {"seed": 0, "lr": 0.3}, {"seed": 0, "loss": smooth}, {"seed": 1}]
    assert_each_as_alone([run_of(model=mlp(), steps=2, evaluate_every=2, **each) for each in said], small)
    assert scored == [3, 3, 5, 5]


@pytest.mark.parametrize(("place", "precision"), [(0, "fp64"), (1, "fp64"), (3, "fp64"), (1, "fp32")])
@pytest.mark.parametrize("seeds", [1, 2])
@pytest.mark.parametrize("model", MODELS)
def test_a_run_that_diverges_leaves_its_neighbours_alone(model, seeds, place, precision, small, pictures, monkeypatch):
    monkeypatch.setattr(loop_module, "PAUSE_SECONDS", 0.0)
    data = pictures if model == "lab_cnn" else small
    base = MODELS[model] | {"steps": 8, "loss": "mse", "evaluate_every": 4, "precision": precision}
    sound = [run_of(**base, optimizer=name, lr=1e-3, seed=i % seeds) for i, name in enumerate(("gd", "adam", "gd"))]
    bad = run_of(**base, lr=1e60 if precision == "fp64" else 1e8)
    items, places = [], {}
    for item in train_stack([*sound[:place], bad, *sound[place:]], data):
        items.append(item)
        if isinstance(item, Pause):
            places[item.step] = sorted(item.snapshot()["places"])
    found = curves(items, 4)
    diverged = found.pop(place)
    near, very_near = (1e-8, 1e-12) if precision == "fp64" else (1e-3, 1e-5)
    assert_alike(diverged, alone(bad, data), data, rel=near)
    end = diverged.outcome
    assert (end.status, 1 < end.step < 8) == ("diverged", True)
    assert places == {step: [p for p in range(4) if step < end.step or p != place] for step in range(1, 8)}
    for curve, expected in zip(found, stacked(sound, data), strict=True):
        assert_alike(curve, expected, data, rel=very_near)


STACKS: dict[str, list[dict[str, Any]]] = {
    "every optimizer": [{"optimizer": name, "lr": LR.get(name, 0.1)} for name in TABLE["optimizer"]],
    "seeds": [{"seed": seed, "optimizer": name} for name in ("adam", "muon") for seed in (0, 1, 2)],
    "dropout": _each("model", *(mlp(dropout=rate) for rate in (0, 0.3, 0.6)), optimizer="schedule_free"),
    "runs that end": [*_each("steps", 4, 15, 20, 30), {"early_stop": {"patience": 2, "metric": "loss"}, "lr": 3.0}],
    "knobs": _each("optimizer", *({"name": "momentum", "momentum": m} for m in (0.1, 0.5, 0.9)), schedule="cosine"),
    "losses": _each("loss", *({"name": "softmax_ce", "label_smoothing": s} for s in (0, 0.2)), order="random"),
    "subset": _each("seed", 0, 1, 0, subset={"size": 70, "redraw": "epoch"}, clip_norm=0.5, precision="fp32"),
}


@pytest.mark.parametrize("left_at", [1, 13, 22])
@pytest.mark.parametrize("stack", STACKS)
def test_a_resumed_stack_equals_the_uninterrupted_one_bit_for_bit(stack, left_at, small, tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "PAUSE_SECONDS", 0.0)
    runs = [run_of(**{"model": mlp(dropout=0.1), "evaluate_every": 5} | said) for said in STACKS[stack]]
    straight = stacked(runs, small)
    items, state = _leave(runs, small, left_at, tmp_path)
    places = state["places"]
    assert len(places) == sum(curve.outcome.step > left_at for curve in straight)
    later = list(train_stack([runs[place] for place in places], small, resume=state))
    items += [item if isinstance(item, Pause) else (places[item[0]], item[1]) for item in later]
    assert [_timeless(curve) for curve in curves(items, len(runs))] == [_timeless(curve) for curve in straight]


def _leave(runs: list[Run], data: Dataset, step: int, folder: Path) -> tuple[list[Any], dict[str, Any]]:
    """What a stack says up to a step, and the state it is left in, read back from a file."""
    items: list[Any] = []
    for item in train_stack(runs, data):
        items.append(item)
        if isinstance(item, Pause) and item.step == step:
            checkpoint.save(folder / "checkpoint", item.snapshot())
            return items, checkpoint.load(folder / "checkpoint")
    raise AssertionError(f"no pause at step {step}")


def _timeless(curve: Curve) -> tuple[Any, ...]:
    rows = [dataclasses.replace(row, seconds=0, wall_seconds=0) for row in curve.rows]
    return rows, dataclasses.replace(curve.outcome, evaluation_seconds=0)


def test_batch_norm_and_convolutions_resume_bit_for_bit(pictures, own, tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "PAUSE_SECONDS", 0.0)
    folder = own(
        "def net(classes):\n"
        "    return nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(27, classes))\n"
    )
    runs = [run_of(model="mine:net", batch=8, steps=8, evaluate_every=2, seed=seed) for seed in (0, 1, 0)]
    straight = stacked(runs, pictures, folder)
    pause = next(item for item in train_stack(runs, pictures, folder) if isinstance(item, Pause) and item.step == 5)
    checkpoint.save(tmp_path / "checkpoint", pause.snapshot())
    after = stacked(runs, pictures, folder, resume=checkpoint.load(tmp_path / "checkpoint"))
    assert [_timeless(curve) for curve in after] == [_timeless(Curve(rows[3:], end)) for rows, end in straight]


def test_a_resumed_stack_goes_on_without_some_of_its_runs(small, tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "PAUSE_SECONDS", 0.0)
    runs = [
        run_of(optimizer=name, seed=seed, evaluate_every=5) for seed in (0, 1) for name in ("adam", "gd", "momentum")
    ]
    straight = stacked(runs, small)
    _, state = _leave(runs, small, 12, tmp_path)
    places = state["places"]
    said = {place: [] for place in places}
    for item in train_stack([runs[place] for place in places], small, resume=state, without=[0, 2, 3]):
        if isinstance(item, Pause):
            assert sorted(item.snapshot()["places"]) == [1, 4, 5]
        else:
            said[places[item[0]]].append(item[1])
    gone = [places[index] for index in (0, 2, 3)]
    assert not any(said[place] for place in gone)
    for place in set(places) - set(gone):
        rest = Curve(said[place][:-1], said[place][-1])
        assert_alike(rest, Curve(straight[place].rows[3:], straight[place].outcome), small, rel=1e-12)


def test_a_stack_without_some_of_its_runs_from_the_start(small):
    runs = [run_of(optimizer=name) for name in ("gd", "adam", "momentum")]
    items = [item for item in train_stack(runs, small, without=[1]) if not isinstance(item, Pause)]
    assert {place for place, _ in items} == {0, 2}
    assert not list(train_stack(runs, small, without=[0, 1, 2]))
    only = [item for place, item in items if place == 2]
    assert_alike(Curve(only[:-1], only[-1]), alone(runs[2], small), small)


def test_pauses_count_to_the_longest_run_that_is_left(small):
    pauses = [item for item in train_stack([run_of(steps=s) for s in (10, 20)], small) if isinstance(item, Pause)]
    assert {pause.total for pause in pauses} == {20}
    assert [pause.step for pause in pauses] == sorted({pause.step for pause in pauses})
    assert pauses[-1].step < 20


def test_the_clock_stops_for_evaluation_and_goes_on_after_a_checkpoint(small, tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "PAUSE_SECONDS", 0.0)
    runs = [run_of(lr=lr, evaluate_every=5) for lr in (0.1, 0.2)]
    items, state = _leave(runs, small, 12, tmp_path)
    before = [item[1] for item in items if not isinstance(item, Pause)]
    after = stacked(runs, small, resume=state)[0]
    seconds = [row.seconds for row in (*before, *after.rows)]
    assert seconds == sorted(seconds)
    assert all(row.seconds <= row.wall_seconds for row in after.rows)
    assert 0 < after.outcome.evaluation_seconds <= after.rows[-1].wall_seconds


def test_overflow_is_noticed_at_the_step_at_which_a_run_alone_notices_it(small):
    runs = [
        run_of(model=mlp(), loss="mse", lr=lr, precision="fp32", steps=60, evaluate_every=60)
        for lr in (0.1, 30, 1e3, 1e9)
    ]
    found = stacked(runs, small)
    ends = [alone(run, small).outcome for run in runs]
    assert [(curve.outcome.status, curve.outcome.step) for curve in found] == [(end.status, end.step) for end in ends]
    assert [end.status for end in ends] == ["done", *["diverged"] * 3]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"optimizer": "torch.optim:Adamax"}, "torch.optim:Adamax is no rule"),
        ({"model": "mine:empty"}, "no parameters"),
        ({"model": "mine:many"}, "other shapes in other runs"),
        ({"model": "mine:flat"}, "outputs of shape"),
        ({"loss": "mine:picky"}, "ValueError: too few"),
    ],
)
def test_what_cannot_be_stacked_is_refused_before_anything_is_said(said, words, small, own):
    folder = own(
        "def empty(): return nn.Identity()\n"
        "def many(classes): return nn.Sequential(nn.Linear(6, w := int(torch.randint(2, 99, ()))), nn.Linear(w, classes))\n"
        "class flat(nn.Linear):\n"
        "    def __init__(self): super().__init__(6, 3)\n"
        "    def forward(self, x): return super().forward(x).sum()\n"
        "def picky(outputs, targets):\n"
        "    if len(targets) < 10: raise ValueError('too few')\n"
        "    return F.cross_entropy(outputs, targets)\n"
    )
    with pytest.raises(StackError, match=words):
        train_stack([run_of(seed=seed, **said) for seed in (0, 1)], small, folder)


def test_a_schedule_that_makes_nonsense_is_refused(small, own):
    folder = own("def nonsense(step, total): return float('nan') if step == 3 else 1.0\n")
    with pytest.raises(StudyError, match="lr nan at step 3"):
        stacked([run_of(), run_of(schedule="mine:nonsense")], small, folder)


def test_a_stack_takes_the_threads_it_has_work_for(small):
    assert {curve.outcome.threads for curve in stacked([run_of(), run_of(lr=0.2)], small, cores=2)} == {1}


@pytest.mark.parametrize("augment", [{"flip": True, "crop": 1}, {"shift": 1, "rotate": 10, "cutout": 2}])
@pytest.mark.parametrize("order", ["shuffle", "file"])
def test_each_run_sees_the_changed_pictures_that_it_sees_alone(augment, order, pictures):
    runs = [run_of(model=mlp(), augment=augment, order=order, seed=s, lr=lr) for s in (0, 1) for lr in (0.1, 0.2)]
    found = assert_each_as_alone(runs, pictures)
    plain = stacked([run.model_copy(update={"augment": None}) for run in runs], pictures)
    assert all(a.rows[-1].loss != b.rows[-1].loss for a, b in zip(found, plain, strict=True))


@pytest.mark.parametrize("model", ["mobilenet_v2", "squeezenet1_1"])
def test_heads_over_the_features_of_one_base_stack(model, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    images = synthetic(Files.search(), examples=40, validation=10, test=20, shape=(3, 16, 16), classes=3, noise=1.0)
    base = {"model": {"name": model, "stem": "small"}, "freeze": "base", "weights": "none", "steps": 10}
    runs = [run_of(**base, optimizer=name, lr=0.01, precision="fp64") for name in ("adam", "gd", "momentum")]
    features = embedded(runs[0], images, tmp_path, Files.search())
    assert_each_as_alone(runs, features)


def test_mistakes_are_those_of_each_run_alone(small):
    runs = [run_of(lr=lr, seed=seed, steps=40) for lr in (0.01, 0.3) for seed in (0, 1)]
    for run, curve in zip(runs, stacked(runs, small), strict=True):
        examined = alone(run, small).outcome.examined
        assert examined is not None
        assert curve.outcome.examined is not None
        assert curve.outcome.examined.matrix == examined.matrix
        assert [m.index for m in curve.outcome.examined.worst] == [m.index for m in examined.worst]
