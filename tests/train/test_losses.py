"""Each loss against its formula on numbers worked out by hand (plain Python, no torch)."""

import math

import pytest
import torch

from paceline.spec.parts import TABLE
from paceline.train import losses

O = torch.tensor([[2.0, 0.0, -1.0], [0.5, 1.0, 0.0]])  # noqa: E741
Y = torch.tensor([0, 2])


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def softmax(row):
    total = sum(math.exp(z) for z in row)
    return [math.exp(z) / total for z in row]


def rows(smoothing=0.0):
    return [[(1 - smoothing) * (c == y) + smoothing / 3 for c in range(3)] for y in Y.tolist()]


def cells(smoothing=0.0):
    return [(o, y) for os, ys in zip(O.tolist(), rows(smoothing), strict=True) for o, y in zip(os, ys, strict=True)]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("name", ["softmax_ce", "sparse_softmax_ce"])
def test_softmax_cross_entropies(name, smoothing):
    by_hand = [
        -sum(y * math.log(p) for y, p in zip(ys, softmax(os), strict=True))
        for os, ys in zip(O.tolist(), rows(smoothing), strict=True)
    ]
    assert getattr(losses, name)(O, Y, label_smoothing=smoothing).item() == pytest.approx(sum(by_hand) / 2)


def test_softmax_ce_of_a_known_case():
    assert losses.softmax_ce(torch.zeros(4, 10), torch.arange(4)).item() == pytest.approx(math.log(10))


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_sigmoid_ce(smoothing):
    by_hand = [-y * math.log(sigmoid(o)) - (1 - y) * math.log(1 - sigmoid(o)) for o, y in cells(smoothing)]
    assert losses.sigmoid_ce(O, Y, label_smoothing=smoothing).item() == pytest.approx(sum(by_hand) / 6)


@pytest.mark.parametrize("weight", [0.5, 1.0, 1.5])
def test_weighted_ce(weight):
    by_hand = [-weight * y * math.log(sigmoid(o)) - (1 - y) * math.log(1 - sigmoid(o)) for o, y in cells()]
    assert losses.weighted_ce(O, Y, pos_weight=weight).item() == pytest.approx(sum(by_hand) / 6)


@pytest.mark.parametrize(("alpha", "gamma"), [(0.25, 2.0), (0.5, 2.0), (0.5, 0.0), (0.9, 1.5)])
def test_sigmoid_focal_ce_from_logits(alpha, gamma):
    total = 0.0
    for o, y in cells():
        p = sigmoid(o) if y else 1 - sigmoid(o)
        total += (alpha if y else 1 - alpha) * (1 - p) ** gamma * -math.log(p)
    value = losses.sigmoid_focal_ce(O, Y, alpha=alpha, gamma=gamma, from_logits=True)
    assert value.item() == pytest.approx(total / 2)


def test_sigmoid_focal_ce_without_logits_takes_probabilities_and_clips_them():
    p = torch.tensor([[0.7, 0.2, 3.0], [0.1, -1.0, 0.6]])
    clipped = [[0.7, 0.2, 1 - 1e-7], [0.1, 1e-7, 0.6]]
    total = 0.0
    for ps, ys in zip(clipped, rows(), strict=True):
        for q, y in zip(ps, ys, strict=True):
            right = q if y else 1 - q
            total += (0.25 if y else 0.75) * (1 - right) ** 2 * -math.log(right)
    value = losses.sigmoid_focal_ce(p, Y, alpha=0.25, gamma=2.0, from_logits=False)
    assert value.item() == pytest.approx(total / 2, rel=2e-2)  # log(1e-7) is coarse in float32
    exact = losses.sigmoid_focal_ce(p.double(), Y, alpha=0.25, gamma=2.0, from_logits=False)
    assert exact.item() == pytest.approx(total / 2, rel=1e-6)


@pytest.mark.parametrize("weightage", ["quadratic", "linear"])
def test_weighted_kappa(weightage):
    power = 2 if weightage == "quadratic" else 1
    p = [softmax(row) for row in O.tolist()]
    labels = Y.tolist()
    observed = sum(abs(c - y) ** power * p[n][c] for n, y in enumerate(labels) for c in range(3))
    expected = sum(abs(y - c) ** power * p[m][c] for y in labels for m in range(2) for c in range(3)) / 2
    value = losses.weighted_kappa(O, Y, weightage=weightage, epsilon=1e-6)
    assert value.item() == pytest.approx(math.log(observed / expected + 1e-6), rel=1e-5)


def test_weighted_kappa_of_a_batch_of_one_class_predicted_right_is_its_floor():
    outputs = torch.tensor([[200.0, 0.0]], requires_grad=True)
    value = losses.weighted_kappa(outputs, torch.tensor([0]), weightage="linear", epsilon=1e-6)
    assert value.item() == pytest.approx(math.log(1e-6))
    value.backward()
    assert torch.isfinite(outputs.grad).all()


def test_squares():
    outputs, values = torch.tensor([[1.0], [4.0]]), torch.tensor([[0.0], [1.0]])
    assert losses.mse(outputs, values).item() == 5.0
    assert losses.sum_squares(outputs, values).item() == 10.0
    by_hand = sum((o - y) ** 2 for o, y in cells(0.1))
    assert losses.mse(O, Y, label_smoothing=0.1).item() == pytest.approx(by_hand / 6)
    assert losses.sum_squares(O, Y, label_smoothing=0.1).item() == pytest.approx(by_hand)


RUNS, EXAMPLES, CLASSES = 4, 7, 5
KNOBS = {
    "label_smoothing": (0.0, 0.1, 0.4, 1.0),
    "pos_weight": (0.5, 1.0, 2.0, 0.1),
    "alpha": (0.25, 0.5, 0.9, 0.0),
    "gamma": (0.0, 2.0, 1.5, 1.0),
    "epsilon": (1e-6, 1e-2, 0.3, 1.0),
}
OVER_RUNS = [
    *((name, {}) for name in TABLE["loss"] if name not in ("sigmoid_focal_ce", "weighted_kappa")),
    ("sigmoid_focal_ce", {"from_logits": True}),
    ("sigmoid_focal_ce", {"from_logits": False}),
    ("weighted_kappa", {"weightage": "quadratic"}),
    ("weighted_kappa", {"weightage": "linear"}),
]


def _outputs(turned: bool) -> torch.Tensor:
    """Of a stack: neighbours in memory are classes, or examples as dense layers leave them."""
    draw = torch.Generator().manual_seed(0)
    outputs = torch.rand(RUNS, EXAMPLES, CLASSES, generator=draw, dtype=torch.float64)
    outputs = outputs.mT.contiguous().mT if turned else outputs
    return outputs.requires_grad_()


def _targets(shared: bool, values: bool) -> torch.Tensor:
    draw = torch.Generator().manual_seed(1)
    shape = (EXAMPLES,) if shared else (RUNS, EXAMPLES)
    if values:
        return torch.randn(*shape, CLASSES, generator=draw, dtype=torch.float64)
    return torch.randint(0, CLASSES, shape, generator=draw)


def _of_run(targets: torch.Tensor, run: int, shared: bool) -> torch.Tensor:
    return targets if shared else targets[run]


@pytest.mark.parametrize("turned", [False, True], ids=["classes together", "examples together"])
@pytest.mark.parametrize("shared", [True, False], ids=["targets shared", "targets of its own"])
@pytest.mark.parametrize("alike", [True, False], ids=["knobs shared", "knobs of its own"])
@pytest.mark.parametrize(("name", "shape"), OVER_RUNS, ids=str)
def test_a_loss_over_runs_is_the_loss_of_each(name, shape, alike, shared, turned):
    loss, free = getattr(losses, name), TABLE["loss"][name].stacks
    knobs = [{key: KNOBS[key][1 if alike else run] for key in free} | shape for run in range(RUNS)]
    columns = {key: torch.tensor(KNOBS[key], dtype=torch.float64).view(-1, 1, 1) for key in free}
    for values in (False, True) if name in ("mse", "sum_squares") else (False,):
        outputs, targets = _outputs(turned), _targets(shared, values)
        found = loss.over(outputs, targets, **(knobs[0] if alike else columns | shape))
        each = torch.stack([loss(outputs[run], _of_run(targets, run, shared), **knobs[run]) for run in range(RUNS)])
        torch.testing.assert_close(found, each, rtol=1e-12, atol=1e-14)
        gradients = [torch.autograd.grad(total.sum(), outputs)[0] for total in (found, each)]
        torch.testing.assert_close(*gradients, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(("name", "shape"), OVER_RUNS, ids=str)
def test_the_values_of_examples_make_up_the_loss(name, shape):
    loss = getattr(losses, name)
    assert (loss.values is None) == (name == "weighted_kappa")
    assert loss.total == (name == "sum_squares")
    if loss.values is None:
        return
    knobs = {key: KNOBS[key][1] for key in TABLE["loss"][name].stacks} | shape
    outputs, targets = _outputs(turned=True), _targets(shared=True, values=False)
    values = loss.values(outputs, targets, **knobs)
    assert values.shape == (RUNS, EXAMPLES)
    total = values.sum(-1) if loss.total else values.mean(-1)
    torch.testing.assert_close(loss.over(outputs, targets, **knobs), total, rtol=1e-12, atol=0)
    parts = torch.cat([loss.values(outputs[:, at], targets[at], **knobs) for at in (slice(0, 3), slice(3, None))], 1)
    torch.testing.assert_close(parts, values, rtol=1e-12, atol=0)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2)], ids=str)
def test_squares_of_values_of_any_shape(shape):
    outputs, values = torch.randn(6, *shape), torch.randn(6, *shape)
    for given in (values, values.reshape(6, -1)):
        assert losses.mse(outputs, given).item() == pytest.approx((outputs - values).square().mean().item())
        assert losses.sum_squares(outputs, given).item() == pytest.approx((outputs - values).square().sum().item())
