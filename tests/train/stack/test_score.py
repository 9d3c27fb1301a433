"""Loss and accuracy of a stack: each run's own, in chunks or whole, where outputs tie or are no numbers."""

import math
from typing import Any

import pytest
import torch

from paceline.data.dataset import Dataset, Split
from paceline.data.memory import Memory
from paceline.spec.parts import TABLE
from paceline.train import build, losses
from paceline.train.stack import score
from paceline.train.stack.lanes import Lanes
from paceline.train.stack.layers import Pass
from paceline.train.stack.program import program
from paceline.train.stack.score import StackLoss, finite, hits, scores
from paceline.train.stack.weights import Weights

from .together import alone, assert_alike, assert_each_as_alone, mlp, run_of, stacked

NAN, INF = math.nan, math.inf


def _turned(outputs: torch.Tensor) -> torch.Tensor:
    return outputs.mT.contiguous().mT


@pytest.mark.parametrize("layout", [torch.Tensor.contiguous, _turned])
@pytest.mark.parametrize("shared", [True, False])
def test_hits_are_where_argmax_is_the_target(shared, layout):
    draw = torch.Generator().manual_seed(0)
    targets = torch.randint(0, 4, (9,) if shared else (5, 9), generator=draw)
    without_ties = torch.randn(5, 9, 4, generator=draw)
    with_ties = torch.randint(0, 3, (5, 9, 4), generator=draw).double()
    spoilt = without_ties.clone()
    spoilt[2], spoilt[3, 4, 1], spoilt[4, :, 2] = NAN, NAN, INF
    for outputs in (without_ties, with_ties, spoilt, torch.zeros(5, 9, 4), -spoilt):
        assert torch.equal(hits(layout(outputs), targets), outputs.argmax(-1) == targets)


def test_ties_of_one_run_count_even_if_another_has_no_numbers():
    """Of two classes, an example that ties has as many too many of the largest as one of NaN has too few."""
    outputs = torch.tensor([[[NAN, NAN]] * 3, [[1.0, 1.0]] * 3])
    targets = torch.tensor([0, 1, 1])
    assert hits(outputs, targets).tolist() == (outputs.argmax(-1) == targets).tolist()


def test_runs_with_an_output_that_is_not_finite_are_told_even_where_sums_overflow():
    large = torch.finfo(torch.float32).max
    outputs = torch.zeros(6, 3, 2)
    outputs[1, 2, 0], outputs[2, 0, 1] = NAN, -INF
    outputs[3] = large
    outputs[4, 0], outputs[4, 1] = large, -large
    outputs[5, 0, 0], outputs[5, 0, 1] = INF, -INF
    expected = [True, False, False, True, True, False]
    assert finite(outputs).tolist() == expected
    assert finite(_turned(outputs)).tolist() == expected
    assert finite(torch.cat([outputs[:1], outputs[3:5]])).tolist() == [True, True, True]


def _knobs(name: str) -> list[dict[str, Any]]:
    """Three settings of a loss in which all differs that may."""
    values = {
        "label_smoothing": (0.0, 0.1, 0.4),
        "pos_weight": (0.5, 1.0, 2.0),
        "alpha": (0.25, 0.5, 0.9),
        "gamma": (0.0, 2.0, 1.5),
        "epsilon": (1e-6, 1e-2, 0.3),
    }
    return [{"name": name, **{key: values[key][i] for key in TABLE["loss"][name].stacks}} for i in range(3)]


LOSSES = [
    *((name, {}) for name in TABLE["loss"]),
    ("sigmoid_focal_ce", {"from_logits": True}),
    ("weighted_kappa", {"weightage": "linear"}),
]


@pytest.mark.parametrize("seeds", [(0, 0, 0, 0), (0, 1, 1, 0)], ids=["one lane", "two lanes"])
@pytest.mark.parametrize(("name", "shape"), LOSSES, ids=str)
def test_every_number_of_a_loss_may_differ_between_runs(name, shape, seeds, small):
    knobs = [*_knobs(name), {"name": name}]
    runs = [
        run_of(loss=said | shape, seed=seed, model=mlp(init="truncated_normal"), lr=0.01, steps=12, evaluate_every=3)
        for said, seed in zip(knobs, seeds, strict=True)
    ]
    found = assert_each_as_alone(runs, small)
    assert len({curve.rows[0].loss for curve in found[:3]}) == 3


@pytest.mark.parametrize("loss", ["softmax_ce", "weighted_kappa", "sum_squares"])
def test_a_split_in_chunks_scores_as_it_does_whole(loss, small, monkeypatch):
    runs = [run_of(model=mlp(), seed=seed, loss=loss, optimizer="schedule_free") for seed in range(3)]
    whole = stacked(runs, small)
    seen = []

    def chunk(split: Memory, start: int, stop: int) -> torch.Tensor:
        seen.append(stop - start)
        return before(split, start, stop)

    before = Memory.chunk
    monkeypatch.setattr(Memory, "chunk", chunk)
    monkeypatch.setattr(score, "CHUNK_VALUES", 3 * 8 * 7)
    for curve, expected in zip(stacked(runs, small), whole, strict=True):
        assert_alike(curve, expected, small, rel=1e-12)
        assert [row.accuracy for row in curve.rows] == [row.accuracy for row in expected.rows]
    assert max(seen) == 7


def test_a_sum_over_chunks_overflows_where_it_does_for_a_run_alone(monkeypatch):
    monkeypatch.setattr(score, "CHUNK_VALUES", 3)
    x = torch.full((4, 1), 1e19)
    data = Dataset("large", Split(x, -x), None, Split(x, -x), None, "")
    lines = [{"name": "line", "W": w, "b": 0.0} for w in (-0.5, 0.3, 9.0)]
    runs = [run_of(model=model, loss="mse", precision="fp32", steps=1) for model in lines]
    found = stacked(runs, data)
    assert [curve.rows[0].nonfinite for curve in found] == [False, True, True]
    for run, curve in zip(runs, found, strict=True):
        assert_alike(curve, alone(run, data), data, rel=1e-6)


VALUES = [("mine:whole", shape) for shape in ((), (1,), (3,), (2, 2))] + [
    ("mine:squeezed", shape) for shape in ((), (1,))
]


@pytest.mark.parametrize(("model", "shape"), VALUES, ids=str)
@pytest.mark.parametrize("loss", ["mse", "sum_squares", "mine:distance"])
def test_values_of_any_shape_instead_of_classes(shape, model, loss, own):
    folder = own(
        "def whole(outputs): return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, outputs))\n"
        "class squeezed(nn.Linear):\n"
        "    def __init__(self): super().__init__(5, 1)\n"
        "    def forward(self, x): return super().forward(x).squeeze(-1)\n"
        "def distance(outputs, targets): return (outputs.reshape(targets.shape) - targets).abs().mean()\n"
    )
    draw = torch.Generator().manual_seed(0)
    split = Split(torch.randn(40, 5, generator=draw), torch.randn(40, *shape, generator=draw))
    data = Dataset("values", split, None, split, None, "")
    for seeds in ((0, 0, 0), (0, 1, 0)):
        runs = [run_of(model=model, loss=loss, seed=seed, lr=0.01 * (i + 1), steps=6) for i, seed in enumerate(seeds)]
        found = assert_each_as_alone(runs, data, folder)
        assert all(row.accuracy is None and row.train_accuracy is None for curve in found for row in curve.rows)


def test_an_own_loss_over_classes(small, own):
    folder = own("def margin(outputs, targets, width): return F.multi_margin_loss(outputs, targets, margin=width)\n")
    runs = [
        run_of(loss={"name": "mine:margin", "width": 0.7}, lr=lr, seed=seed) for lr in (0.1, 0.3) for seed in (0, 1)
    ]
    assert_each_as_alone(runs, small, folder)


def test_scores_are_of_the_runs_of_the_pass(small):
    runs = [run_of(model=mlp(), seed=seed) for seed in range(4)]
    models = [build.model(run, small, folder=None).double() for run in runs]
    weights = Weights(models)
    split = Memory(small.test, torch.device("cpu"), torch.float64, False)
    at = Pass(weights.parameters(), weights.buffers, Lanes((0,) * 4, split.targets.device), training=False)
    loss = StackLoss.of(runs, losses.softmax_ce, split.chunk(0, 1), 1)
    for model, found in zip(models, scores(program(models[0]), at, loss, split), strict=True):
        outputs = model(small.test.x.double())
        assert found.loss == pytest.approx(losses.softmax_ce(outputs, small.test.y).item(), rel=1e-12)
        assert found.accuracy == (outputs.argmax(-1) == small.test.y).double().mean().item()
