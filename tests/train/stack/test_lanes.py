"""Runs that see the same batch: who they are, and that seeds in one stack keep their curves."""

from typing import Any

import pytest
import torch

from paceline.data.batches import Composition
from paceline.data.memory import Memory
from paceline.train.stack.lanes import Lanes, batches, gather

from .together import assert_each_as_alone, mlp, run_of

CPU = torch.device("cpu")


def test_a_lane_is_a_seed_where_anything_is_drawn():
    def of_run(*seeds: int, **said: Any) -> tuple[int, ...]:
        return Lanes.of([run_of(seed=seed, **said) for seed in seeds], CPU).of_run

    assert of_run(3, 1, 3, 2) == (0, 1, 0, 2)
    assert of_run(3, 1, 3, 2, order="random") == (0, 1, 0, 2)
    assert of_run(3, 1, 3, 2, order="file", subset=50) == (0, 1, 0, 2)
    assert of_run(3, 1, 3, 2, order="file") == (0, 0, 0, 0)


def test_runs_are_sorted_by_lane_and_back():
    lanes = Lanes((0, 1, 0, 2, 1, 0), CPU)
    assert (lanes.count, lanes.sizes) == (3, [3, 2, 1])
    assert lanes.order.tolist() == [0, 2, 5, 1, 4, 3]
    assert lanes.order[lanes.back].tolist() == list(range(6))
    assert Lanes((0, 0, 1), CPU).order is None
    assert Lanes((0, 0, 1), CPU).back is None


def test_every_lane_has_the_batches_of_its_runs(small):
    runs = [run_of(seed=seed, batch="30 + 10 * epoch") for seed in (4, 7, 4)]
    training = Memory(small.train, CPU, torch.float64, False)
    drawn = batches(runs, Lanes.of(runs, CPU), 200, start=3)
    for number, (first, second) in zip(range(3, 12), drawn, strict=False):
        alone = [next(Composition(run, 200).batches(number)) for run in runs[:2]]
        assert [one.indices.tolist() for one in (first, second)] == [one.indices.tolist() for one in alone]
        assert (first.step, first.epoch, first.ends_epoch) == (number, alone[0].epoch, alone[0].ends_epoch)
        x, y = gather(training, [first, second], [0, 0])
        assert x.shape == (2, len(first.indices), 6)
        assert torch.equal(x[1], small.train.x[second.indices].double())
        assert torch.equal(y[0], small.train.y[first.indices])
        assert gather(training, [first], [0])[0].shape == (len(first.indices), 6)


SEEDS = {
    "side by side": [0, 0, 1, 1],
    "in turn": [0, 1, 0, 1],
    "unequal": [0, 1, 1, 2, 0, 1],
    "one each": [0, 1, 2],
}


@pytest.mark.parametrize("model", ["softmax", "mlp", "conv"])
@pytest.mark.parametrize("seeds", SEEDS)
def test_seeds_in_one_stack(seeds, model, small, pictures, own):
    """Some of the runs end before the others, so that lanes become unequal or are left by all their runs."""
    folder = own(
        "def conv(classes): return nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(27, classes))\n"
    )
    made = {"softmax": "softmax", "mlp": mlp(dropout=0.3), "conv": "mine:conv"}[model]
    optimizers, steps = ("adam", "gd", "muon"), (20, 11, 4, 20, 15)
    runs = [
        run_of(model=made, seed=seed, optimizer=optimizers[i % 3], lr=0.02, steps=steps[i % 5], batch=15)
        for i, seed in enumerate(SEEDS[seeds])
    ]
    assert_each_as_alone(runs, pictures if model == "conv" else small, folder)


ORDERS: list[dict[str, Any]] = [
    {"order": "file"},
    {"order": "random"},
    {"order": "file", "subset": 70},
    {"order": "shuffle", "subset": {"size": 70, "redraw": "epoch"}},
    {"order": "random", "subset": 70, "batch": "10 + 15 * epoch"},
    {"order": "shuffle", "overlap": 5},
]


@pytest.mark.parametrize("said", ORDERS, ids=str)
def test_orders_and_subsets(said, small):
    runs = [
        run_of(**said, seed=seed, model=mlp(dropout=0.2), lr=lr)
        for seed, lr in ((0, 0.1), (1, 0.2), (0, 0.3), (2, 0.1))
    ]
    assert_each_as_alone(runs, small)
