"""Losses: (outputs, targets) -> one number. Targets are class numbers, or values for mse and sum_squares.

The cross entropies are TensorFlow 1's and TensorFlow Addons' functions of the same names, reduced as the labs did:
softmax losses by the mean over examples, sigmoid losses by the mean over examples and classes, the focal loss summed
over classes and averaged over examples. Label smoothing s replaces a one-hot row y by (1 - s) y + s / classes.

Each is written for outputs [..., examples, outputs]: leading dimensions are runs of a stack, which share targets or
have their own, and a knob may then be a tensor with one entry a run.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Knob = float | Tensor


@dataclass(frozen=True)
class Loss:
    """A loss of ours: called for one run, `over` the runs of a stack."""

    over: Callable[..., Tensor]
    values: Callable[..., Tensor] | None = None
    """One number an example, whose mean or sum the loss is; None where the batch has to be seen whole."""
    total: bool = False
    """The sum of the values, not their mean."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.values or self.over)

    def __call__(self, outputs: Tensor, targets: Tensor, **knobs: Any) -> Tensor:
        if targets.is_floating_point():
            outputs, targets = (t[:, None] if t.dim() == 1 else t.flatten(1) for t in (outputs, targets))
        return self.over(outputs, targets, **knobs)


def _mean(values: Callable[..., Tensor]) -> Loss:
    return Loss(lambda *given, **knobs: values(*given, **knobs).mean(-1), values)


def _total(values: Callable[..., Tensor]) -> Loss:
    return Loss(lambda *given, **knobs: values(*given, **knobs).sum(-1), values, total=True)


def _turned(outputs: Tensor) -> bool:
    """Whether neighbours in memory are examples, not outputs, as a stack of dense layers leaves them."""
    return outputs.stride(-1) != 1 and outputs.dim() > 2


def _log_softmax(outputs: Tensor) -> Tensor:
    return outputs.mT.log_softmax(-2).mT if _turned(outputs) else outputs.log_softmax(-1)


def _one_hot(outputs: Tensor, targets: Tensor, label_smoothing: Knob) -> Tensor:
    classes = outputs.shape[-1]
    rows = F.one_hot(targets, classes).to(outputs.dtype)
    rows = rows.mT.contiguous().mT if _turned(outputs) else rows
    if isinstance(label_smoothing, Tensor) or label_smoothing:
        rows = (1 - label_smoothing) * rows + label_smoothing / classes
    return rows


@_mean
def sparse_softmax_ce(outputs: Tensor, targets: Tensor, *, label_smoothing: Knob = 0.0) -> Tensor:
    """-log softmax(outputs) at the class number; smoothed, -sum_c y_c log softmax(outputs)_c."""
    logs = _log_softmax(outputs)
    true = logs.gather(-1, targets.expand(outputs.shape[:-1]).unsqueeze(-1)).squeeze(-1)
    if isinstance(label_smoothing, Tensor):
        label_smoothing = label_smoothing.squeeze(-1)
    elif not label_smoothing:
        return -true
    return -(1 - label_smoothing) * true - label_smoothing * logs.mean(-1)


softmax_ce = sparse_softmax_ce
"""The same number: TensorFlow's takes one-hot rows instead of class numbers."""


def _sigmoid_ce(outputs: Tensor, rows: Tensor, pos_weight: Tensor | None = None) -> Tensor:
    rows = rows.expand_as(outputs)
    return F.binary_cross_entropy_with_logits(outputs, rows, reduction="none", pos_weight=pos_weight)


@_mean
def sigmoid_ce(outputs: Tensor, targets: Tensor, *, label_smoothing: Knob = 0.0) -> Tensor:
    """Each class on its own: -y log s(o) - (1 - y) log(1 - s(o))."""
    return _sigmoid_ce(outputs, _one_hot(outputs, targets, label_smoothing)).mean(-1)


@_mean
def weighted_ce(outputs: Tensor, targets: Tensor, *, pos_weight: Knob, label_smoothing: Knob = 0.0) -> Tensor:
    """sigmoid_ce with the positive term weighed: above 1 favours recall, below 1 precision."""
    rows = _one_hot(outputs, targets, label_smoothing)
    weight = pos_weight if isinstance(pos_weight, Tensor) else outputs.new_full((), pos_weight)
    return _sigmoid_ce(outputs, rows, weight).mean(-1)


@_mean
def sigmoid_focal_ce(
    outputs: Tensor,
    targets: Tensor,
    *,
    alpha: Knob,
    gamma: Knob,
    from_logits: bool,
    label_smoothing: Knob = 0.0,
) -> Tensor:
    """Focal loss (Lin et al. 2017): alpha_t (1 - p_t)^gamma CE. Without from_logits the outputs are taken as
    probabilities, clipped to [1e-7, 1 - 1e-7] as Keras does."""
    rows = _one_hot(outputs, targets, label_smoothing)
    if from_logits:
        p = outputs.sigmoid()
        ce = _sigmoid_ce(outputs, rows)
    else:
        p = outputs.clamp(1e-7, 1 - 1e-7)
        ce = F.binary_cross_entropy(p, rows.expand_as(p), reduction="none")
    p_t = rows * p + (1 - rows) * (1 - p)
    alpha_t = rows * alpha + (1 - rows) * (1 - alpha)
    return (alpha_t * (1 - p_t) ** gamma * ce).sum(-1)


@Loss
def weighted_kappa(
    outputs: Tensor, targets: Tensor, *, weightage: str, epsilon: Knob, label_smoothing: Knob = 0.0
) -> Tensor:
    """log(1 - kappa + epsilon) of Cohen's weighted kappa over the batch, for ordered classes
    (de la Torre et al. 2018, as TensorFlow Addons' WeightedKappaLoss on the softmax of the outputs)."""
    rows, predicted = _one_hot(outputs, targets, label_smoothing), outputs.softmax(-1)
    classes = torch.arange(outputs.shape[-1], device=outputs.device, dtype=outputs.dtype)
    distance = (classes[:, None] - classes[None, :]).abs()
    weights = distance**2 if weightage == "quadratic" else distance
    numerator = ((rows @ weights) * predicted).sum((-2, -1))
    denominator = ((rows.sum(-2) @ weights) * predicted.sum(-2)).sum(-1) / outputs.shape[-2]
    nothing = denominator == 0  # one class, surely predicted: no disagreement, and none expected
    ratio = torch.where(nothing, numerator, numerator / torch.where(nothing, 1, denominator))
    return torch.log(ratio + (epsilon.flatten() if isinstance(epsilon, Tensor) else epsilon))


@_mean
def mse(outputs: Tensor, targets: Tensor, *, label_smoothing: Knob = 0.0) -> Tensor:
    """Mean of the squared errors over all entries; class numbers become one-hot rows."""
    return (outputs - _values(outputs, targets, label_smoothing)).square().mean(-1)


@_total
def sum_squares(outputs: Tensor, targets: Tensor, *, label_smoothing: Knob = 0.0) -> Tensor:
    """Sum of the squared errors over all entries; class numbers become one-hot rows."""
    return (outputs - _values(outputs, targets, label_smoothing)).square().sum(-1)


def _values(outputs: Tensor, targets: Tensor, label_smoothing: Knob) -> Tensor:
    return targets if targets.is_floating_point() else _one_hot(outputs, targets, label_smoothing)
