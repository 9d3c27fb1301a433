"""A tight loop by hand: tensors in memory, batches gathered by index, two bare parameters, no sync in a step."""

import time
from collections.abc import Iterator, Sequence
from itertools import islice

import torch
import torch.nn.functional as F
from torch import Tensor

from bench.peers.optimizers import build
from bench.peers.work import BATCH, CLASSES, PIXELS, Images, LineSweep, Point, Setting, Sweep, check, one_by_one


def sweep(settings: Sequence[Setting], data: Images, steps: int, evaluate_every: int) -> Sweep:
    return one_by_one(settings, lambda setting: train(setting, data, steps, evaluate_every))


def train(setting: Setting, data: Images, steps: int, evaluate_every: int) -> list[Point]:
    check(steps, evaluate_every)
    weight, bias = torch.zeros(CLASSES, PIXELS, requires_grad=True), torch.zeros(CLASSES, requires_grad=True)
    optimizer = build(setting.optimizer, [weight, bias], setting.lr)
    found: list[tuple[int, Tensor, Tensor]] = []
    for step, (x, y) in enumerate(islice(batches(data), steps), 1):
        loss = F.cross_entropy(F.linear(x, weight, bias), y)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % evaluate_every == 0:
            found.append((step, *evaluate(weight, bias, data)))
    return [Point(step, loss.item(), accuracy.item()) for step, loss, accuracy in found]


def batches(data: Images) -> Iterator[tuple[Tensor, Tensor]]:
    """Without end."""
    for chosen in orders(len(data.train_x)):
        yield data.train_x.index_select(0, chosen), data.train_y.index_select(0, chosen)


def orders(count: int) -> Iterator[Tensor]:
    """The indices of one batch after another: every image once, then all anew; an epoch's last batch may be short."""
    while True:
        yield from torch.split(torch.randperm(count), BATCH)


@torch.inference_mode()
def evaluate(weight: Tensor, bias: Tensor, data: Images) -> tuple[Tensor, Tensor]:
    logits = F.linear(data.test_x, weight, bias)
    hits = logits.argmax(1) == data.test_y
    return F.cross_entropy(logits, data.test_y), hits.float().mean()


def line_sweep(settings: Sequence[Setting], steps: int, evaluate_every: int) -> LineSweep:
    begun = time.perf_counter()
    curves = [train_line(setting, steps, evaluate_every)[1] for setting in settings]
    return LineSweep(time.perf_counter() - begun, [curve[-1] for curve in curves])


def train_line(setting: Setting, steps: int, evaluate_every: int) -> tuple[tuple[float, float], list[float]]:
    """y = W x + b through four points of a line, all of them in every step: the end (W, b), and the losses."""
    check(steps, evaluate_every)
    x, y = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([0.0, -1.0, -2.0, -3.0])
    weight, bias = torch.tensor([0.3], requires_grad=True), torch.tensor([-0.3], requires_grad=True)
    optimizer = build(setting.optimizer, [weight, bias], setting.lr)
    losses: list[Tensor] = []
    for step in range(1, steps + 1):
        loss = F.mse_loss(torch.addcmul(bias, weight, x), y, reduction="sum")
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % evaluate_every == 0:
            with torch.inference_mode():
                losses.append(F.mse_loss(torch.addcmul(bias, weight, x), y, reduction="sum"))
    return (weight.item(), bias.item()), [loss.item() for loss in losses]
