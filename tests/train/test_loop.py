"""The plain loop: golden trajectories end to end, endings, the clock, snapshots, own parts."""

import dataclasses
import itertools
import json
from pathlib import Path

import pytest
import torch

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.data.sources.digits import digits
from paceline.data.sources.line import line
from paceline.data.sources.synthetic import synthetic
from paceline.errors import StudyError
from paceline.spec import Run
from paceline.spec.parts import TABLE
from paceline.train import checkpoint
from paceline.train import loop as loop_module
from paceline.train.loop import train
from paceline.train.parallel import beat
from paceline.train.rows import Outcome, Pause, Row

GOLDEN = json.loads((Path(__file__).parents[1] / "optim" / "tf1_optimizers.json").read_text())["cases"]
FILES = Files.search()


@pytest.fixture(scope="module")
def small() -> Dataset:
    return synthetic(FILES, examples=200, validation=50, test=50, shape=(6,), classes=3, noise=0.6)


def run_of(**said) -> Run:
    base = {"data": "synthetic", "model": "softmax", "optimizer": "gd", "lr": 0.1, "batch": 20, "steps": 30}
    return Run(**base | said)


def rows(run: Run, data: Dataset, **how) -> tuple[list[Row], Outcome]:
    items = list(train(run, data, **how))
    assert isinstance(items[-1], Outcome)
    return [item for item in items if isinstance(item, Row)], items[-1]


def timeless(made: list[Row]) -> list[Row]:
    return [dataclasses.replace(row, seconds=0, wall_seconds=0) for row in made]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['optimizer']}-{case['lr']}-{case['hyper']}")
def test_the_line_follows_tensorflow(case):
    optimizer = {"name": case["optimizer"], **case["hyper"]}
    run = Run(
        data="line",
        model="line",
        loss="sum_squares",
        optimizer=optimizer,
        lr=case["lr"],
        steps=1000,
        order="file",
        evaluate_every=1,
    )
    made, _ = rows(run, line(FILES))
    for step, loss, w, b in case["line"]:
        row = made[step]
        assert row.step == step
        if step <= 50:
            assert (row.loss, row.extras["W"], row.extras["b"]) == pytest.approx((loss, w, b), rel=1e-4)
        else:
            assert row.loss < 1e-9 or loss / 4 <= row.loss <= loss * 4


@pytest.mark.parametrize("name", TABLE["optimizer"])
def test_every_optimizer_learns(name, small):
    lr = {"adadelta": 5.0, "ftrl": 0.5, "muon": 0.02, "lion": 0.01, "schedule_free": 0.05}.get(name, 0.1)
    made, outcome = rows(run_of(optimizer=name, lr=lr, steps=60), small)
    assert outcome.status == "done"
    assert made[-1].loss < 0.8 * made[0].loss
    assert made[-1].accuracy > 0.6


@pytest.mark.parametrize("name", TABLE["loss"])
def test_every_loss_trains(name, small):
    loss = {"name": name, "from_logits": True} if name == "sigmoid_focal_ce" else name
    made, outcome = rows(run_of(loss=loss, optimizer="adam", lr=0.02, steps=40), small)
    assert outcome.status == "done"
    assert made[-1].loss < made[0].loss


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ({"steps": 30, "evaluate_every": 10}, [0, 10, 20, 30]),
        ({"steps": 25, "evaluate_every": 10}, [0, 10, 20, 25]),
        ({"steps": 40}, list(range(0, 41, 2))),
        ({"steps": None, "epochs": 2}, [0, 10, 20]),
        ({"steps": None, "epochs": 2, "evaluate_every": 4}, [0, 4, 8, 12, 16, 20]),
        ({"steps": 15, "evaluate_every": "epoch"}, [0, 10, 15]),
    ],
)
def test_rows_stand_where_they_should(said, steps, small):
    made, outcome = rows(run_of(**said), small)
    assert [row.step for row in made] == steps
    assert [row.examples for row in made] == [20 * step for step in steps]
    assert [row.epoch for row in made] == [max(0, step - 1) // 10 for step in steps]
    assert (outcome.status, outcome.step) == ("done", steps[-1])
    assert made[0].train_loss is None
    assert all(row.train_loss is not None and 0 <= row.train_accuracy <= 1 for row in made[1:])
    assert all(a.seconds <= b.seconds and b.seconds <= b.wall_seconds for a, b in itertools.pairwise(made))


def test_the_clock_stops_for_evaluation(small, monkeypatch):
    import time

    def slowly(*args):
        time.sleep(0.05)
        return evaluate(*args)

    evaluate = loop_module.evaluate
    monkeypatch.setattr(loop_module, "evaluate", slowly)
    made, _ = rows(run_of(steps=5, evaluate_every=1), small)
    assert made[-1].wall_seconds - made[-1].seconds > 6 * 2 * 0.05


def test_a_diverging_run_ends_as_diverged_and_says_where(small):
    made, outcome = rows(
        Run(data="line", model="line", loss="sum_squares", optimizer="gd", lr=1, steps=500, evaluate_every=1),
        line(FILES),
    )
    assert outcome.status == "diverged"
    assert f"step {made[-1].step}" in outcome.reason
    assert made[-1].nonfinite
    assert made[-1].loss is None
    assert made[-1].step < 60
    assert not any(row.nonfinite for row in made[:-1])


def test_divergence_between_evaluations_is_noticed_without_waiting_for_them(monkeypatch):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    made, outcome = rows(
        Run(data="line", model="line", loss="sum_squares", optimizer="gd", lr=1, steps=5000, evaluate_every=5000),
        line(FILES),
    )
    assert outcome.status == "diverged"
    assert made[-1].step < 100


def test_schedule_and_warmup_show_in_lr(small):
    said = {
        "schedule": {"name": "exponential", "rate": 0.5, "every": 10, "staircase": True},
        "lr": 0.4,
        "warmup": 4,
        "steps": 24,
    }
    made, _ = rows(run_of(evaluate_every=1, **said), small)
    lrs = [row.lr for row in made]
    assert lrs[:5] == pytest.approx([0.1, 0.1, 0.2, 0.3, 0.4])
    assert lrs[14] == pytest.approx(0.4)
    assert lrs[15] == pytest.approx(0.2)


def test_stops_early_at_a_target_or_out_of_patience(small):
    made, outcome = rows(run_of(steps=500, evaluate_every=5, optimizer="adam", early_stop={"target": 0.8}), small)
    assert outcome.status == "done"
    assert made[-1].validation_accuracy >= 0.8
    assert all(row.validation_accuracy < 0.8 for row in made[:-1])
    assert "reached the target" in outcome.reason
    stop = {"patience": 3, "metric": "loss"}
    made, outcome = rows(run_of(steps=3000, evaluate_every=5, lr=3, early_stop=stop), small)
    best = min(range(len(made)), key=lambda i: made[i].validation_loss)
    assert len(made) - 1 - best == 3
    assert "no better for 3 evaluations" in outcome.reason


def test_clipping_bounds_the_step(small):
    free, _ = rows(run_of(lr=1, steps=1), small)
    model = {}
    for name, said in {"norm": {"clip_norm": 1e-3}, "value": {"clip_value": 1e-4}}.items():
        items = list(train(run_of(lr=1, steps=2, **said), small))
        pause = next(item for item in items if isinstance(item, Pause))
        model[name] = pause.snapshot()["model"]
    assert free[-1].loss != free[0].loss
    norm = torch.cat([p.flatten() for p in model["norm"].values()]).norm().item()
    assert norm <= 2.01e-3
    assert max(p.abs().max().item() for p in model["value"].values()) <= 2.01e-4


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"optimizer": "adam", "schedule": "cosine", "order": "random"},
        {"optimizer": {"name": "rmsprop", "momentum": 0.5, "centered": True}, "batch": "5 + 5 * epoch"},
        {"optimizer": "schedule_free", "model": {"name": "mlp", "widths": [16], "dropout": 0.4}},
        {"optimizer": "muon", "model": {"name": "mlp", "widths": [16, 8]}, "subset": {"size": 60, "redraw": "epoch"}},
        {"optimizer": "torch.optim:Adamax", "overlap": 0.5, "early_stop": {"patience": 100}},
        {"precision": "fp64", "optimizer": "ftrl"},
    ],
    ids=lambda said: str(said.get("optimizer", "gd")),
)
@pytest.mark.parametrize("left_at", [1, 13, 22])
def test_a_resumed_run_equals_the_uninterrupted_one_bit_for_bit(said, left_at, small, tmp_path, monkeypatch):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    run = run_of(**{"evaluate_every": 5, "optimizer": "gd"} | said)
    straight, _ = rows(run, small)
    before = []
    for item in train(run, small):
        if isinstance(item, Row):
            before.append(item)
        if isinstance(item, Pause) and item.step == left_at:
            checkpoint.save(tmp_path / "checkpoint", item.snapshot())
            break
    after, outcome = rows(run, small, resume=checkpoint.load(tmp_path / "checkpoint"))
    assert outcome.step == 30
    assert timeless(before + after) == timeless(straight)
    assert after[-1].seconds > before[-1].seconds


def test_convolutions_resume_bit_for_bit_in_channels_last(tmp_path, monkeypatch):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    data = digits(FILES)
    run = Run(data="digits", model="lab_cnn", optimizer="adam", lr=1e-3, batch=16, steps=6, evaluate_every=2)
    straight, _ = rows(run, data)
    pause = next(item for item in train(run, data) if isinstance(item, Pause) and item.step == 3)
    checkpoint.save(tmp_path / "checkpoint", pause.snapshot())
    after, _ = rows(run, data, resume=checkpoint.load(tmp_path / "checkpoint"))
    assert timeless(after) == timeless(straight)[-2:]


def test_a_run_does_not_depend_on_what_ran_before_it(small):
    run = run_of(model={"name": "mlp", "dropout": 0.5})
    first, _ = rows(run, small)
    torch.manual_seed(99)
    rows(run_of(seed=5), small)
    assert timeless(rows(run, small)[0]) == timeless(first)
    assert timeless(rows(run_of(model={"name": "mlp", "dropout": 0.5}, seed=1), small)[0]) != timeless(first)


def test_torchs_own_dropout_follows_the_step_too(small, tmp_path, monkeypatch):
    (tmp_path / "theirs.py").write_text(
        "from torch import nn\n"
        "def net(input_shape, classes):\n"
        "    return nn.Sequential(nn.Linear(input_shape[0], 16), nn.Dropout(0.5), nn.Linear(16, classes))\n"
    )
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    run = run_of(model="theirs:net", evaluate_every=5)
    straight, _ = rows(run, small, folder=tmp_path)
    pause = next(i for i in train(run, small, tmp_path) if isinstance(i, Pause) and i.step == 12)
    checkpoint.save(tmp_path / "checkpoint", pause.snapshot())
    after, _ = rows(run, small, folder=tmp_path, resume=checkpoint.load(tmp_path / "checkpoint"))
    assert timeless(after) == timeless(straight)[3:]


def test_softmax_on_real_mnist_reaches_what_everybody_reaches(mnist):
    made, _ = rows(Run(data="mnist", model="softmax", optimizer="adam", lr=0.005, steps=500), mnist)
    assert made[0].accuracy == pytest.approx(0.098)
    assert made[0].loss == pytest.approx(2.302585, abs=1e-5)
    assert 0.905 < made[-1].accuracy < 0.93


def test_lab_cnn_learns_real_mnist_in_a_hundred_steps(mnist):
    few = dataclasses.replace(
        mnist,
        validation=None,
        test=type(mnist.test)(mnist.test.x[:1000], mnist.test.y[:1000]),
    )
    made, _ = rows(
        Run(data="mnist", model="lab_cnn", optimizer="adam", lr=1e-3, batch=50, steps=100, evaluate_every=100), few
    )
    assert made[-1].accuracy > 0.9


def test_the_step_of_divergence_is_the_same_every_time(small):
    run = run_of(model={"name": "mlp", "widths": [16]}, lr=1e20, steps=3000, evaluate_every=3000)
    ends = {rows(run, small)[1].step for _ in range(3)}
    assert len(ends) == 1
    made, _ = rows(run, small)
    assert made[-1].accuracy is None


def test_a_resumed_run_keeps_its_threads(small, tmp_path, monkeypatch):
    monkeypatch.setattr(beat, "PAUSE_SECONDS", 0.0)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    pause = next(item for item in train(run_of(), small) if isinstance(item, Pause))
    checkpoint.save(tmp_path / "checkpoint", pause.snapshot())
    torch.set_num_threads(1)
    _, outcome = rows(run_of(), small, resume=checkpoint.load(tmp_path / "checkpoint"), cores=1)
    assert outcome.threads == 2
    torch.set_num_threads(before)


def test_a_schedule_that_makes_nonsense_is_refused(small, tmp_path):
    (tmp_path / "odd.py").write_text("def nonsense(step, total): return float('nan') if step == 3 else 1.0\n")
    with pytest.raises(StudyError, match="lr nan at step 3"):
        rows(run_of(schedule="odd:nonsense"), small, folder=tmp_path)


def test_an_own_network_may_view_its_pictures(tmp_path):
    (tmp_path / "viewer.py").write_text(
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self, classes):\n"
        "        super().__init__()\n"
        "        self.conv, self.out = nn.Conv2d(1, 4, 3, padding=1), nn.Linear(256, classes)\n"
        "    def forward(self, x):\n"
        "        x = self.conv(x)\n"
        "        return self.out(x.view(x.size(0), -1))\n"
    )
    _, outcome = rows(run_of(data="digits", model="viewer:Net", steps=2), digits(FILES), folder=tmp_path)
    assert outcome.status == "done"
