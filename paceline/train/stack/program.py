"""A model's forward pass for a stack: read off its own code by torch.fx, or run through torch.vmap.

The first way knows layers (layers.py) and shares work between runs. What it does not know goes through vmap, which
takes any model without state or randomness of its own.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, fx, nn

from paceline.errors import StackError
from paceline.models.dropout import Dropout
from paceline.train.stack.layers import ARITHMETIC, FUNCTIONS, Kind, Pass, arithmetic, module

Value = tuple[Tensor, Kind]
Step = Callable[[Pass, dict[str, Value]], Value]
CHANGES = "it changes itself in its forward pass"


class Program(Protocol):
    def __call__(self, at: Pass, x: Tensor) -> Tensor:
        """Outputs [runs, examples, ...] for inputs that all runs share, or [lanes, examples, ...]."""

    def widest(self, at: Pass, x: Tensor) -> int:
        """Numbers in the largest value on the way, of all runs, for these inputs."""


def program(model: nn.Module) -> Program:
    try:
        return _Traced(model)
    except StackError as why:
        return _Mapped(model, str(why))


@contextmanager
def still() -> Iterator[None]:
    """StackError, if anything is drawn meanwhile: whose draw would it be?"""
    before = _generators()
    yield
    if _generators() != before:
        raise StackError("it draws at random")


def _generators() -> tuple[Any, ...]:
    return torch.get_rng_state().numpy().tobytes(), random.getstate(), repr(np.random.get_state(legacy=False)["state"])


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        return isinstance(m, Dropout) or super().is_leaf_module(m, module_qualified_name)


@dataclass(frozen=True)
class _Graph:
    """Stacked operations, each with the name of its value."""

    given: str
    steps: list[tuple[str, Step]]
    result: str


class _Traced:
    """The model as a list of stacked operations: one for training, one for evaluation."""

    def __init__(self, model: nn.Module) -> None:
        self._layers = dict(model.named_modules())
        self._random = [layer for layer in model.modules() if hasattr(layer, "reseed")]
        self._parameters = dict(model.named_parameters())
        if tied := len(list(model.named_parameters(remove_duplicate=False))) - len(self._parameters):
            raise StackError(f"{tied} tied parameters")
        mode = model.training
        try:
            before = _own_values(model)
            with still():
                self._graphs = {training: self._graph(model.train(training)) for training in (True, False)}
        except StackError:
            raise
        except Exception as error:  # fx follows any code of the user's and fails as it likes
            raise StackError(f"its code cannot be traced ({type(error).__name__})") from None
        finally:
            model.train(mode)
        if _own_values(model) != before:
            raise StackError(CHANGES)

    def _graph(self, model: nn.Module) -> _Graph:
        graph = _Tracer().trace(model)
        inputs = [node for node in graph.nodes if node.op == "placeholder"]
        if len(inputs) != 1:
            raise StackError(f"it takes {len(inputs)} inputs")
        steps = [step for node in graph.nodes if (step := self._read(node))]
        return _Graph(inputs[0].name, steps, next(node.args[0].name for node in graph.nodes if node.op == "output"))

    def _read(self, node: fx.Node) -> tuple[str, Step] | None:
        if node.op in ("placeholder", "output"):
            return None
        if node.op == "get_attr":
            name = str(node.target)
            if name not in self._parameters:
                raise StackError(f"the tensor {name}, which is no parameter")
            return node.name, lambda at, known: (at.parameters[name], Kind.OWN)
        if node.target in ARITHMETIC:
            return node.name, self._arithmetic(node)
        given, *rest = node.args
        if not isinstance(given, fx.Node) or any(isinstance(v, fx.Node) for v in (*rest, *node.kwargs.values())):
            raise StackError(f"{node.target} of several values")
        if self._in_place(node) and self._used_again(given):
            raise StackError(f"{node.target} writes over a value that is used again")
        if node.op == "call_module":
            layer = module(str(node.target), self._layers[str(node.target)], self._random)
        elif node.target in FUNCTIONS:
            layer = FUNCTIONS[node.target](*rest, **node.kwargs)
        else:
            raise StackError(f"the function {getattr(node.target, '__name__', node.target)}")
        return node.name, lambda at, known: layer(at, *known[given.name])

    def _in_place(self, node: fx.Node) -> bool:
        layer = self._layers[str(node.target)] if node.op == "call_module" else None
        return bool(getattr(layer, "inplace", False) or node.kwargs.get("inplace"))

    def _used_again(self, node: fx.Node) -> bool:
        """Whether a value, or one that may be the same memory, has more than one use."""
        while len(node.users) == 1:
            layer = self._layers[str(node.target)] if node.op == "call_module" else None
            same = isinstance(layer, (nn.Flatten, nn.Identity, Dropout)) or node.target in ("flatten", torch.flatten)
            if not same:
                return False
            node = node.args[0]  # type: ignore[assignment]
        return True

    def _arithmetic(self, node: fx.Node) -> Step:
        function, (a, b) = ARITHMETIC[node.target], node.args
        if node.kwargs:
            raise StackError(f"{node.target} with {', '.join(node.kwargs)}")

        def operands(known: dict[str, Value]) -> list[Any]:
            return [known[x.name] if isinstance(x, fx.Node) else x for x in (a, b)]

        return lambda at, known: arithmetic(at, function, *operands(known))

    def __call__(self, at: Pass, x: Tensor) -> Tensor:
        graph = self._graphs[at.training]
        known = {graph.given: (x, Kind.SHARED if at.lanes.count == 1 else Kind.LANES)}
        for name, step in graph.steps:
            known[name] = step(at, known)
        return at.own(*known[graph.result])

    def widest(self, at: Pass, x: Tensor) -> int:
        graph = self._graphs[at.training]
        known = {graph.given: (x, Kind.SHARED)}
        largest = 0
        for name, step in graph.steps:
            known[name] = step(at, known)
            largest = max(largest, known[name][0].numel())
        return largest


class _Mapped:
    """The model as it stands, under vmap: whatever it draws or keeps, it is refused."""

    def __init__(self, model: nn.Module, why: str) -> None:
        self._model = model
        self._tried: set[bool] = set()  # in training, in evaluation
        if any(True for _ in model.buffers()):
            raise StackError(f"{why}, and it keeps buffers, which vmap would mix up")
        if any(hasattr(layer, "reseed") for layer in model.modules()):
            raise StackError(f"{why}, and it draws dropout masks")

    def __call__(self, at: Pass, x: Tensor) -> Tensor:
        self._model.train(at.training)
        shared = at.lanes.count == 1
        x = x if shared else at.own(x, Kind.LANES)

        def forward(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
            outputs: Tensor = torch.func.functional_call(self._model, parameters, (x,))
            return outputs

        in_dims = (0, None if shared else 0)
        before = _own_values(self._model) if at.training not in self._tried else None
        found: Tensor = torch.vmap(forward, in_dims, randomness="error")(dict(at.parameters), x)
        if before is not None and _own_values(self._model) != before:
            raise StackError(CHANGES)
        self._tried.add(at.training)
        return found

    def widest(self, at: Pass, x: Tensor) -> int:
        return at.runs * x.numel() * 16  # not seen from outside: a guess on the safe side


def _own_values(model: nn.Module) -> list[tuple[str, str, Any]]:
    """The plain values that its modules keep, such as a count of steps: a graph has them as they were once."""
    plain = (int, float, str, tuple, type(None))
    return [
        (name, key, value)
        for name, layer in model.named_modules()
        for key, value in vars(layer).items()
        if key != "training" and isinstance(value, plain)
    ]
