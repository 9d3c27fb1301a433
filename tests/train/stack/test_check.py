"""Parts of a user's own are tried before they are stacked; what ships is not."""

from types import SimpleNamespace

import pytest

from paceline.errors import StackError
from paceline.train.stack import check
from paceline.train.stack.check import checked

from .together import mlp, run_of

PARTS = """
from paceline import Rule

def _right(gradient, state, parameter, hyper):
    return parameter - hyper["lr"] * gradient, state

def _number(gradient, state, parameter, hyper):
    return parameter - float(hyper["lr"]) * gradient, state

def _mixed(gradient, state, parameter, hyper):
    return parameter - hyper["lr"] * gradient / (gradient.norm() + 1), state

def _together(gradient, state, parameter, hyper):
    dims = tuple(range(1 if hyper.get("stacked") else 0, gradient.dim()))
    return parameter - hyper["lr"] * gradient / (gradient.square().sum(dims, keepdim=True).sqrt() + 1e-3), state

right, number, mixed, together = (Rule(lambda p, h: {}, update) for update in (_right, _number, _mixed, _together))

class Counts(nn.Linear):
    def __init__(self):
        super().__init__(6, 3)
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        return super().forward(x) * (1 + self.calls % 2)

class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.last = nn.Linear(6, 3), 0.0
    def forward(self, x):
        x = self.layer(x)
        self.last = float(x.detach().mean()) if type(x) is torch.Tensor and not torch._C._functorch.is_batchedtensor(x) else self.last
        return x
    def extras(self):
        return {"last": self.last}

def margin(outputs, targets): return F.multi_margin_loss(outputs, targets)
def slow(step, total): return 0.5
"""


@pytest.fixture
def _no_time(monkeypatch):
    monkeypatch.setattr(check, "time", SimpleNamespace(perf_counter=lambda: 0.0))


@pytest.mark.usefixtures("_no_time")
@pytest.mark.parametrize(
    "said", [{"optimizer": "mine:right"}, {"loss": "mine:margin"}, {"schedule": "mine:slow"}], ids=str
)
def test_parts_that_stack_well_pass(said, small, own):
    runs = [run_of(lr=lr, seed=seed, **said) for lr in (0.1, 0.2) for seed in (0, 1)]
    checked(runs, small, own(PARTS), 1)


@pytest.mark.usefixtures("_no_time")
@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"optimizer": "mine:number"}, "ValueError: only one element"),
        ({"optimizer": "mine:mixed"}, "does not do what each does alone"),
        ({"optimizer": "mine:together", "model": mlp()}, "does not do what each does alone"),
        ({"model": "mine:Counts"}, "it changes itself in its forward pass"),
        ({"model": "mine:Remembers"}, "does not do what each does alone"),
        ({"optimizer": "torch.optim:Adamax"}, "is no rule"),
    ],
    ids=str,
)
def test_parts_that_do_not_are_refused(said, words, small, own):
    with pytest.raises(StackError, match=words):
        checked([run_of(lr=lr, **said) for lr in (0.1, 0.2, 0.3)], small, own(PARTS), 1)


def test_a_stack_that_takes_longer_than_its_runs_in_a_row_is_refused(small, own, monkeypatch):
    runs, folder = [run_of(optimizer="mine:right", lr=lr) for lr in (0.1, 0.2, 0.3, 0.4)], own(PARTS)
    for row, refused in ((12.0, False), (2.0, True)):
        readings = iter([0.0, 10.0, 10.0, 10.0 + row])
        monkeypatch.setattr(check, "time", SimpleNamespace(perf_counter=lambda readings=readings: next(readings)))
        if refused:
            with pytest.raises(StackError, match=r"a stack takes 2\.5 s a run, in a row 0\.667 s"):
                checked(runs, small, folder, 1)
        else:
            checked(runs, small, folder, 1)


def test_what_ships_is_not_tried(small, monkeypatch):
    monkeypatch.setattr(check, "train_stack", None)
    checked([run_of(data="mine:data", lr=lr) for lr in (0.1, 0.2)], small, None, 1)


@pytest.mark.usefixtures("_no_time")
def test_a_few_steps_are_tried_whatever_the_runs_say(small, own, monkeypatch):
    seen = []

    def train(run, *rest, **how):
        seen.append(run)
        return before(run, *rest, **how)

    before = check.train
    monkeypatch.setattr(check, "train", train)
    long = {"steps": None, "epochs": 1000, "evaluate_every": "epoch", "warmup": 10**6}
    checked([run_of(optimizer="mine:right", lr=lr, **long) for lr in (0.1, 0.2, 0.3, 0.4, 0.5)], small, own(PARTS), 1)
    assert [(run.steps, run.epochs, run.evaluate_every, run.warmup) for run in seen] == [(3, None, 1, 0)] * 3
