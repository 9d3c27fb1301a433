"""How the devices of a team train one model. Each is a file beside this one and a line in the table of parts."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from paceline.train.parallel.team import Team, average

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]
Forward = Callable[[Tensor], Tensor]


class Passes(NamedTuple):
    """What forward and backward passes over parts of a batch need, for strategies that make them themselves."""

    loss: Callable[[Tensor, Tensor], Tensor]
    share_of: Callable[[float], float]  # what the loss of a part counts for, by its share of the examples
    cast: AbstractContextManager[Any]  # around a forward pass
    reseed: Callable[[Tensor], None]  # before that of the examples at these places of the batch


class Strategy:
    """One device, or none of what follows. A strategy overrides what it does otherwise."""

    shards_data = True  # whether each device sees a part of the batch
    whole_models = True  # whether each device can evaluate by itself
    parts = 1  # into which it takes a batch by itself
    factor = 1.0  # on the loss, where the exchange takes the mean over devices of what are parts of a sum
    elementwise = False  # whether it needs update rules that look at one entry at a time
    same_updates = True  # whether each device updates whole parameters, all of them alike

    def __init__(self, team: Team) -> None:
        self.team = team

    def place(self, model: nn.Module, example: Tensor) -> nn.Module:
        """The model as this device holds it, before its optimizers are made. `example`: one, as the model sees it."""
        return model

    def make(self, make: Make) -> Make:
        """How an optimizer is made of parameters."""
        return make

    def forward(self, model: nn.Module) -> Forward:
        """The forward pass of training; gradients are exchanged in its backward pass."""
        return model

    def part(self, last: bool) -> AbstractContextManager[Any]:
        """Around the forward and backward pass of a part of a batch; only the last exchanges gradients."""
        return nullcontext()

    @contextmanager
    def evaluating(self, model: nn.Module) -> Iterator[Forward]:
        """The forward pass of evaluation. What devices have learnt apart, the statistics of batch norms, becomes their
        mean first, so that all judge alike."""
        means = [b for b in model.buffers() if b.is_floating_point()]
        if self.team.size > 1 and means:
            average(means, self.team.size)
        yield model

    def learn(self, x: Tensor, y: Tensor, passes: Passes) -> tuple[Tensor, Tensor] | None:
        """Forward and backward in one, for strategies whose passes interleave: the loss and outputs."""
        return None

    def updated(self, model: nn.Module, step: int) -> None:
        """After an update."""

    def norm(self, model: nn.Module) -> Tensor | None:
        """Of the whole gradient, where this device has a part of it; None where it has all."""
        return None

    def state(self, model: nn.Module) -> dict[str, Tensor]:
        """The whole model, on every device. All devices have to ask at once."""
        return model.state_dict()

    def load(self, model: nn.Module, state: dict[str, Tensor]) -> None:
        model.load_state_dict(state)

    def sent(self, model: nn.Module) -> int:
        """Bytes that one device sends for one update, by a ring."""
        return 0


def whole_norm(team: Team, gradients: Iterable[Tensor]) -> Tensor:
    """Of a gradient of which each device has a part."""
    squares = torch.stack([gradient.square().sum() for gradient in gradients])
    return team.total(squares.sum())[0].sqrt()


def ring(bytes_: int, size: int) -> int:
    """What one of so many devices sends in an all-reduce."""
    return 2 * (size - 1) * bytes_ // size
