"""The base and the head of a network: which of them trains when, and with which optimizer.

The head is what the network says in its attribute `head`, else its last layer with as many outputs as there are
classes. A frozen base is in evaluation mode: its batch norms keep their statistics and its dropout is off.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from paceline.errors import StudyError
from paceline.optim.optimizer import at_evaluation
from paceline.spec import Run

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def head_of(model: nn.Module, outputs: int) -> nn.Module:
    said = getattr(model, "head", None)
    if isinstance(said, nn.Module):
        return said
    fitting = [layer for layer in model.modules() if _outputs(layer) == outputs]
    if not fitting:
        raise StudyError(
            f"{type(model).__name__} has no layer with {outputs} outputs that could be its head; "
            "give it an attribute `head` that is one.",
            key="model",
        )
    return fitting[-1]


def _outputs(layer: nn.Module) -> int | None:
    if isinstance(layer, nn.Linear):
        return layer.out_features
    return layer.out_channels if isinstance(layer, nn.Conv2d) else None


class Trained:
    """What of a model is trained: all of it by one optimizer, or its head and its base by one each."""

    def __init__(
        self, model: nn.Module, run: Run, outputs: int, make: Make, whole: bool, scaler: torch.amp.GradScaler
    ) -> None:
        """`whole`: the model has no base that trains otherwise than its head."""
        self._model, self._run, self._scaler = model, run, scaler
        self._base: list[nn.Parameter] = []
        head = list(model.parameters())
        if not whole:
            self._head = head_of(model, outputs)
            kept = {id(parameter) for parameter in self._head.parameters()}
            self._base = [p for p in model.parameters() if p.requires_grad and id(p) not in kept]
            head = list(self._head.parameters())
        head = [parameter for parameter in head if parameter.requires_grad]
        self.optimizers = {"optimizer": make(head)}
        if self._base and (run.freeze == "none" or run.finetune_after is not None):
            self.optimizers["base_optimizer"] = make(self._base)
        self._frozen = bool(self._base) and run.freeze == "base"
        for parameter in self._base:
            parameter.requires_grad_(not self._frozen)

    @property
    def parameters(self) -> list[nn.Parameter]:
        """Those that train now."""
        return [p for optimizer in self._active() for group in optimizer.param_groups for p in group["params"]]

    def mode(self) -> None:
        """Training mode, but for what is frozen."""
        self._model.train(not self._frozen)
        if self._frozen:
            self._head.train()

    def at(self, epoch: int, lr: float) -> None:
        """The learning rates of a step; a frozen base thaws when its time has come."""
        after = self._run.finetune_after
        if self._frozen and after is not None and epoch >= after:
            self._frozen = False
            for parameter in self._base:
                parameter.requires_grad_(True)
            self.mode()
        for name, optimizer in self.optimizers.items():
            for group in optimizer.param_groups:
                group["lr"] = lr if name == "optimizer" else lr * self._run.base_lr

    def zero_grad(self) -> None:
        for optimizer in self._active():
            optimizer.zero_grad(set_to_none=True)

    def backward(self, loss: Tensor) -> None:
        """Adds to the gradients, at the scale of the scaler."""
        self._scaler.scale(loss).backward()  # type: ignore[no-untyped-call]

    def unscale(self) -> None:
        """The gradients at their true scale, once all of a batch are there."""
        for optimizer in self._active():
            if hasattr(optimizer, "take_gradients"):
                optimizer.take_gradients()
        if self._scaler.is_enabled():
            for optimizer in self._active():
                self._scaler.unscale_(optimizer)

    def step(self) -> None:
        """A step whose scaled gradients overflowed is left out, and the scale falls."""
        for optimizer in self._active():
            self._scaler.step(optimizer)
        self._scaler.update()

    def _active(self) -> Iterator[torch.optim.Optimizer]:
        return (o for name, o in self.optimizers.items() if name == "optimizer" or not self._frozen)

    @contextmanager
    def at_evaluation(self) -> Iterator[None]:
        """Evaluation mode, with the parameters to evaluate at."""
        with ExitStack() as exits:
            for optimizer in self.optimizers.values():
                exits.enter_context(at_evaluation(optimizer))
            self._model.eval()
            yield
        self.mode()

    def state(self) -> dict[str, Any]:
        """By name, for a checkpoint."""
        optimizers = {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()}
        return {**optimizers, "scale": self._scaler.state_dict()}

    def load_scale(self, state: dict[str, Any]) -> None:
        if self._scaler.is_enabled():
            self._scaler.load_state_dict(state["scale"])
