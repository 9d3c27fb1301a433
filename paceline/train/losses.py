"""Losses: (outputs, targets) -> one number. Targets are class numbers, or values for mse and sum_squares.

The cross entropies are TensorFlow 1's and TensorFlow Addons' functions of the same names, reduced as the labs did:
softmax losses by the mean over examples, sigmoid losses by the mean over examples and classes, the focal loss summed
over classes and averaged over examples. Label smoothing s replaces a one-hot row y by (1 - s) y + s / classes.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def _one_hot(outputs: Tensor, targets: Tensor, label_smoothing: float) -> Tensor:
    classes = outputs.shape[-1]
    rows = F.one_hot(targets, classes).to(outputs.dtype)
    return (1 - label_smoothing) * rows + label_smoothing / classes if label_smoothing else rows


def softmax_ce(outputs: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """-sum_c y_c log softmax(outputs)_c."""
    return F.cross_entropy(outputs, _one_hot(outputs, targets, label_smoothing))


def sparse_softmax_ce(outputs: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """The same number as softmax_ce, from class numbers instead of one-hot rows."""
    return F.cross_entropy(outputs, targets, label_smoothing=label_smoothing)


def sigmoid_ce(outputs: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """Each class on its own: -y log s(o) - (1 - y) log(1 - s(o))."""
    return F.binary_cross_entropy_with_logits(outputs, _one_hot(outputs, targets, label_smoothing))


def weighted_ce(outputs: Tensor, targets: Tensor, *, pos_weight: float, label_smoothing: float = 0.0) -> Tensor:
    """sigmoid_ce with the positive term weighed: above 1 favours recall, below 1 precision."""
    rows = _one_hot(outputs, targets, label_smoothing)
    return F.binary_cross_entropy_with_logits(outputs, rows, pos_weight=outputs.new_tensor(pos_weight))


def sigmoid_focal_ce(
    outputs: Tensor,
    targets: Tensor,
    *,
    alpha: float,
    gamma: float,
    from_logits: bool,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Focal loss (Lin et al. 2017): alpha_t (1 - p_t)^gamma CE. Without from_logits the outputs are taken as
    probabilities, clipped to [1e-7, 1 - 1e-7] as Keras does."""
    rows = _one_hot(outputs, targets, label_smoothing)
    if from_logits:
        p = outputs.sigmoid()
        ce = F.binary_cross_entropy_with_logits(outputs, rows, reduction="none")
    else:
        p = outputs.clamp(1e-7, 1 - 1e-7)
        ce = F.binary_cross_entropy(p, rows, reduction="none")
    p_t = rows * p + (1 - rows) * (1 - p)
    alpha_t = rows * alpha + (1 - rows) * (1 - alpha)
    return (alpha_t * (1 - p_t) ** gamma * ce).sum(-1).mean()


def weighted_kappa(
    outputs: Tensor, targets: Tensor, *, weightage: str, epsilon: float, label_smoothing: float = 0.0
) -> Tensor:
    """log(1 - kappa + epsilon) of Cohen's weighted kappa over the batch, for ordered classes
    (de la Torre et al. 2018, as TensorFlow Addons' WeightedKappaLoss on the softmax of the outputs)."""
    rows, predicted = _one_hot(outputs, targets, label_smoothing), outputs.softmax(-1)
    classes = torch.arange(outputs.shape[-1], device=outputs.device, dtype=outputs.dtype)
    distance = (classes[:, None] - classes[None, :]).abs()
    weights = distance**2 if weightage == "quadratic" else distance
    numerator = ((rows @ weights) * predicted).sum()
    denominator = (rows.sum(0) @ weights @ predicted.sum(0)) / len(outputs)
    nothing = denominator == 0  # one class, surely predicted: no disagreement, and none expected
    ratio = torch.where(nothing, numerator, numerator / torch.where(nothing, 1, denominator))
    return torch.log(ratio + epsilon)


def mse(outputs: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """Mean of the squared errors over all entries; class numbers become one-hot rows."""
    return F.mse_loss(outputs, _values(outputs, targets, label_smoothing))


def sum_squares(outputs: Tensor, targets: Tensor, *, label_smoothing: float = 0.0) -> Tensor:
    """Sum of the squared errors over all entries; class numbers become one-hot rows."""
    return (outputs - _values(outputs, targets, label_smoothing)).square().sum()


def _values(outputs: Tensor, targets: Tensor, label_smoothing: float) -> Tensor:
    return targets if targets.is_floating_point() else _one_hot(outputs, targets, label_smoothing)
