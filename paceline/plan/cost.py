"""What a run costs, from its shape alone: floating-point operations, memory and rows. Nothing is built or timed."""

import functools
import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from paceline.data.catalogue import ENTRIES
from paceline.spec import Part, Run
from paceline.spec.expression import batch_size
from paceline.spec.parts import ArgumentError
from paceline.spec.run import MAX_EPOCHS_WALKED, Subset
from paceline.spec.window import steps_in_epoch, stride

CORE_FLOPS = 70e9  # operations a second that one core gives a training step
EVALUATION_FLOPS = 20e9  # the same for an evaluation, which mostly waits for memory
UPDATE_SECONDS = 2e-9  # of one core, to update one parameter in a stack
STACK_SECONDS = 2e-5  # what a step in a stack costs each run before any arithmetic
CONVOLUTION = 1.5  # how much slower a stack's convolutions are
STEP_SECONDS = 3e-4  # what a step costs before any arithmetic
START_SECONDS = 0.01  # building a run
PROCESS_SECONDS = 3.0  # Python, torch and the data, before the first run
RUNTIME_BYTES = 400e6  # Python and torch themselves
ROW_BYTES, PACK_BYTES = 330, 4000


@dataclass(frozen=True)
class Facts:
    """A data set's size: examples to train on, examples to evaluate on, values an example, outputs."""

    train: int
    held_out: int
    shape: tuple[int, ...]
    outputs: int


@dataclass(frozen=True)
class Shape:
    """A model's size for one example: multiply-adds forward, parameters, values kept for the backward pass."""

    multiply_adds: int
    parameters: int
    activations: int
    convolutional: bool = False


@dataclass(frozen=True)
class Cost:
    steps: int
    rows: int
    seconds: float
    bytes: float
    stack_seconds: float = math.inf  # in a stack of many
    stack_bytes: float = math.inf  # what it adds to a stack
    parameters: int = 0
    width: int = 4  # bytes a number


def check_size(run: Run) -> None:
    """What the size of a known data set rules out; ArgumentError names the field to mend."""
    facts = facts_of(run.data)
    if facts is None:
        return
    if run.model.name == "lab_cnn" and len(facts.shape) != 3:
        raise ArgumentError(
            f"lab_cnn takes images; an example of {run.data.name} has the shape {facts.shape}.", "model"
        )
    if facts.train < 1:
        raise ArgumentError(f"validation and test leave nothing of {run.data.name} to train on.", "data")
    pool = run.subset.size if run.subset else facts.train
    if pool > facts.train:
        raise ArgumentError(f"a subset of {pool:,} from a training set of {facts.train:,}.", "subset")
    try:
        _walk(run.batch, run.steps, run.epochs, pool, run.overlap)
    except ValueError as error:
        raise ArgumentError(f"{error}.", "batch") from None


def cost(run: Run, cores: int) -> Cost | None:
    """None where the data or the model is the user's own and its size unknown before it is built."""
    return _cost(_Sizes._make((*_sizes_of(run), cores)))


class _Sizes(NamedTuple):
    """The fields that a cost depends on: runs that share them share it."""

    data: Part
    model: Part
    batch: int | str
    subset: Subset | None
    steps: int | None
    epochs: float | None
    evaluate_every: int | str | None
    overlap: float
    precision: str
    cores: int


_sizes_of = operator.attrgetter(*_Sizes._fields[:-1])


@functools.lru_cache(maxsize=100_000)
def _cost(run: _Sizes) -> Cost | None:
    facts, make = facts_of(run.data), _MODELS.get(run.model.name)
    if facts is None or make is None:
        return None
    shape = make(facts.shape, facts.outputs, run.model.complete)
    pool = min(facts.train, run.subset.size) if run.subset else facts.train
    steps, examples, widest = _walk(run.batch, run.steps, run.epochs, pool, run.overlap)
    rows = 1 + _evaluations(run, steps, pool)
    width = 8 if run.precision == "fp64" else 4
    arithmetic = 6.0 * shape.multiply_adds * examples / (CORE_FLOPS * run.cores) * width / 4
    updates = 40.0 * shape.parameters * steps / (CORE_FLOPS * run.cores)
    evaluation = 2.0 * shape.multiply_adds * facts.held_out * rows / run.cores
    seconds = START_SECONDS + STEP_SECONDS * steps + arithmetic + updates + evaluation / EVALUATION_FLOPS
    slower = CONVOLUTION if shape.convolutional else 1.0
    stacked = STACK_SECONDS * steps + arithmetic * slower + UPDATE_SECONDS * shape.parameters * steps / run.cores
    stacked += evaluation * slower / CORE_FLOPS
    values = math.prod(facts.shape) * (facts.train + facts.held_out)
    kept = shape.activations * max(widest, 2_000_000 // max(1, math.prod(facts.shape)))
    whole = RUNTIME_BYTES + width * (values * 2.0 + kept * 2.0 + shape.parameters * 5.0)
    added = run_bytes(shape.parameters, shape.activations, widest, width)
    return Cost(steps, rows, seconds, whole, stacked, added, shape.parameters, width)


def run_bytes(parameters: int, activations: int, batch: int, width: int) -> float:
    """What a run adds to a stack: its parameters, their gradients and four states, what a rule computes on the way,
    and the activations of a batch with their gradients."""
    return float(width) * (parameters * 10 + activations * batch * 2)


@functools.lru_cache(maxsize=1024)
def facts_of(part: Part) -> Facts | None:
    known = ENTRIES.get(part.name)
    if known is None:
        return None
    said = part.complete
    if part.name == "synthetic":
        return Facts(said["examples"], said["validation"] + said["test"], tuple(said["shape"]), said["classes"])
    if known.classes is None:
        return Facts(known.examples, known.examples, known.shape, 1)
    held_out = said.get("validation", 0) + said.get("test", known.test)
    return Facts(known.examples - held_out, held_out, known.shape, known.classes)


class _Walk(NamedTuple):
    steps: int
    examples: int
    widest: int  # examples in the largest batch


@functools.lru_cache(maxsize=10_000)
def _walk(batch: int | str, steps: int | None, epochs: float | None, pool: int, overlap: float) -> _Walk:
    """A run's length; growing batches by walking the epochs."""
    if isinstance(batch, int):
        width = min(batch, pool)
        count = steps or math.ceil((epochs or 0) * steps_in_epoch(pool, width, stride(width, overlap)))
        return _Walk(count, count * width, width)
    taken = epoch = widest = 0
    while epoch < MAX_EPOCHS_WALKED and (taken < steps if steps else epoch < (epochs or 0)):
        width = min(batch_size(batch, epoch), pool)
        widest = max(widest, width)
        taken += steps_in_epoch(pool, width, stride(width, overlap))
        epoch += 1
    return _Walk(steps or taken, epoch * pool, widest)


def _evaluations(run: _Sizes, steps: int, pool: int) -> int:
    if run.evaluate_every == "epoch" or (run.evaluate_every is None and run.epochs is not None):
        width = min(batch_size(run.batch, 0), pool)
        return max(1, round(run.epochs or steps * width / pool))
    return math.ceil(steps / (int(run.evaluate_every or 0) or max(1, steps // 20)))


def _dense(*widths: int) -> Shape:
    weights = sum(a * b for a, b in itertools.pairwise(widths))
    return Shape(weights, weights + sum(widths[1:]), sum(widths) * 2)


def _line(shape: tuple[int, ...], outputs: int, said: dict[str, Any]) -> Shape:
    return Shape(1, 2, 4)


def _softmax(shape: tuple[int, ...], outputs: int, said: dict[str, Any]) -> Shape:
    return _dense(math.prod(shape), outputs)


def _mlp(shape: tuple[int, ...], outputs: int, said: dict[str, Any]) -> Shape:
    return _dense(math.prod(shape), *said["widths"], outputs)


def _lab_cnn(shape: tuple[int, ...], outputs: int, said: dict[str, Any]) -> Shape:
    channels, height, width = shape if len(shape) == 3 else (1, 1, math.prod(shape))
    half, quarter = math.ceil(height / 2) * math.ceil(width / 2), math.ceil(height / 4) * math.ceil(width / 4)
    dense = _dense(64 * quarter, 1024, outputs)
    first, second = 25 * channels * 32, 25 * 32 * 64
    return Shape(
        first * height * width + second * half + dense.multiply_adds,
        first + 32 + second + 64 + dense.parameters,
        2 * 32 * height * width + (32 + 2 * 64) * half + dense.activations,
        convolutional=True,
    )


_MODELS: dict[str, Callable[[tuple[int, ...], int, dict[str, Any]], Shape]] = {
    "line": _line,
    "softmax": _softmax,
    "mlp": _mlp,
    "lab_cnn": _lab_cnn,
}
