"""The gradients of a batch: in parts, on several devices, and with their noise looked at."""

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from paceline.data.batches import Batch
from paceline.data.draws import key
from paceline.data.transfer import moved
from paceline.spec import Run
from paceline.train.compiled import Forward
from paceline.train.parallel.norm import uncounted
from paceline.train.parallel.strategy import Passes
from paceline.train.set_up import SetUp
from paceline.train.telemetry import BACKWARD, EXCHANGE, FORWARD, Telemetry

_Part = tuple[Tensor, Tensor, Tensor | None, bool]  # examples, targets, places, whether it counts


def learn(
    run: Run, made: SetUp, forward: Forward, telemetry: Telemetry, batch: Batch, x: Tensor, y: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of a batch, by way of its parts: its loss and the model's outputs. Of a batch that devices share, the
    loss of the own examples, as a part of that of the whole."""
    made.trained.zero_grad()
    keys = [key(run.seed, "dropout", batch.step, index) for index in range(len(made.random_layers))]

    def reseed(places: Tensor | None) -> None:
        for layer, drawn in zip(made.random_layers, keys, strict=True):
            layer.reseed(drawn, places, batch.count)

    whole = made.strategy.learn(x, y, Passes(made.loss, made.share_of, made.cast, reseed))
    if whole is not None:
        telemetry.mark(BACKWARD)
        return whole
    if made.noise.wanted(batch) and not made.noise.in_parts:
        _half(made, batch, x, y, reseed)
    losses, answers = [], []
    parts = _parts(batch, x, y, parts_of(batch.count, run.accumulate, made.sharers.size))
    for number, (inputs, targets, places, counts) in enumerate(parts, 1):
        reseed(places)
        with made.strategy.part(number == len(parts)), nullcontext() if counts else uncounted(made.model):
            with made.cast:
                outputs = forward(inputs)
            outputs = outputs.to(made.dtype)
            loss = made.loss(outputs, targets)
            if made.in_parts:
                loss = loss * (made.share_of(len(targets) / batch.count) if counts else 0.0)
            telemetry.mark(FORWARD)
            made.trained.backward(loss * made.strategy.factor if made.strategy.factor != 1 else loss)
        telemetry.mark(EXCHANGE if made.sharers.size > 1 else BACKWARD)
        losses.append(loss.detach())
        if counts:
            answers.append(outputs.detach())
    made.trained.unscale()
    if len(parts) == 1:
        return loss.detach(), outputs.detach()
    return torch.stack(losses).sum(), torch.cat(answers)


def _half(made: SetUp, batch: Batch, x: Tensor, y: Tensor, reseed: Callable[[Tensor | None], None]) -> None:
    """The gradients of half a batch, for their noise; nothing is learnt from it."""

    def gradients() -> tuple[Tensor, ...]:
        count = batch.count // 2
        reseed(torch.arange(count, device=y.device))
        with made.cast:
            outputs = made.model(x[:count])
        loss = made.loss(outputs.to(made.dtype), y[:count]) * made.share_of(0.5) * 2
        return torch.autograd.grad(loss, made.trained.parameters, materialize_grads=True)

    made.noise.half(gradients)


def parts_of(examples: int, wanted: int, devices: int = 1) -> int:
    """Into how many parts each of so many devices takes its share of a batch: all into as many, because they may
    exchange in every part; not into more than the largest share has examples."""
    return min(wanted, -(-examples // devices))


def _parts(batch: Batch, x: Tensor, y: Tensor, count: int) -> list[_Part]:
    """A share in so many parts, each with its places in the whole, which itself has none. In place of one without any
    example there is one that does not count."""
    places = None if batch.places is None else moved(batch.places, y.device)
    if count == 1:
        return [(x, y, places, batch.counts)]
    places = torch.arange(len(y), device=y.device) if places is None else places
    cut = zip(*(of.tensor_split(count) for of in (x, y, places)), strict=True)
    return [(*part, True) if len(part[1]) else (x[:1], y[:1], places[:1], False) for part in cut]


def clip(run: Run, made: SetUp) -> None:
    if run.clip_value is not None:
        nn.utils.clip_grad_value_(made.trained.parameters, run.clip_value)
    if run.clip_norm is not None:
        parameters = made.trained.parameters
        norm = made.strategy.norm(made.model)
        if norm is None:
            nn.utils.clip_grad_norm_(parameters, run.clip_norm)
        else:
            nn.utils.clip_grads_with_norm_(parameters, run.clip_norm, norm)


def mark_last_gradients(model: nn.Module, mark: Callable[[], None]) -> None:
    """Called when the first layer, which is the last to have its gradients, has them: what is left of the backward pass
    is waiting for other devices."""
    first = next(layer for layer in model.modules() if any(p.requires_grad for p in layer.parameters(recurse=False)))
    for parameter in first.parameters(recurse=False):
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(lambda _: mark())  # type: ignore[no-untyped-call]
