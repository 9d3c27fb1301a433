"""What a run costs, from its shape alone: floating-point operations, memory and rows. Nothing is built or timed."""

import functools
import itertools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from paceline.data.catalogue import ENTRIES, Entry
from paceline.spec import Part, Run
from paceline.spec.argument import ArgumentError
from paceline.spec.expression import batch_size
from paceline.spec.parts import TABLE
from paceline.spec.run import MAX_EPOCHS_WALKED, Subset, by_epoch, embeds, steps_between
from paceline.spec.window import steps_in_epoch, stride

CORE_FLOPS = 70e9  # operations a second that one core gives
CORE_VALUES = 1e9  # values a second that one core reads and writes in an evaluation
UPDATE_SECONDS = 2e-9  # of one core, to update one parameter in a stack
STACK_SECONDS = 2e-5  # what a step in a stack costs each run before any arithmetic
CONVOLUTION = 1.5  # how much slower a stack's convolutions are
STEP_SECONDS = 3e-4  # what a step costs before any arithmetic
START_SECONDS = 0.01  # building a run
PROCESS_SECONDS = 3.0  # Python, torch and the data, before the first run
RUNTIME_BYTES = 400e6  # Python and torch themselves
ROW_BYTES, PACK_BYTES = 330, 4000
EPOCHS_SAMPLED = 1000  # of those beyond the ones that are walked


@dataclass(frozen=True)
class Facts:
    """A data set's size: examples to train on, examples to evaluate on, values an example, outputs."""

    train: int
    held_out: int
    shape: tuple[int, ...]
    outputs: int
    in_bytes: bool = False  # images are, until a batch is gathered


@dataclass(frozen=True)
class Shape:
    """A model's size for one example: multiply-adds forward, parameters, values kept for the backward pass."""

    multiply_adds: int
    parameters: int
    activations: int
    convolutional: bool = False
    passing: int | None = None  # values at hand at once in an evaluation, where it is not all of those

    @property
    def forward_seconds(self) -> float:
        """Of one core, to evaluate one example."""
        return 2.0 * self.multiply_adds / CORE_FLOPS + self.activations / CORE_VALUES


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
    once: float = 0.0  # seconds that all such runs share: what a frozen base makes of every image


def check_size(run: Run) -> None:
    """What the size of a known data set rules out; ArgumentError names the field to mend."""
    facts = facts_of(run.data)
    if facts is None:
        return
    _check_images(run, facts.shape)
    if facts.train < 1:
        raise ArgumentError(f"validation and test leave nothing of {run.data.name} to train on.", "data")
    pool = run.subset.size if run.subset else facts.train
    if pool > facts.train:
        raise ArgumentError(f"a subset of {pool:,} from a training set of {facts.train:,}.", "subset")
    try:
        steps = _walk(run.global_batch, run.steps, run.epochs, pool, run.overlap).steps
    except ValueError as error:
        raise ArgumentError(f"{error}.", "batch") from None
    if run.epochs is not None and run.warmup > steps:
        raise ArgumentError(
            f"warmup is {run.warmup} steps, the whole run of {run.epochs:g} epochs {steps}; say at most {steps}, or "
            "train longer.",
            "warmup",
        )


def _check_images(run: Run, shape: tuple[int, ...]) -> None:
    name, stem = run.model.name, str(run.model.complete.get("stem"))
    network = _NETWORKS.get((name, stem))
    if (network or name == "lab_cnn") and len(shape) != 3:
        raise ArgumentError(f"{name} takes images; an example of {run.data.name} has the shape {shape}.", "model")
    fields = {"augment": run.augment, "image_size": run.image_size, "normalize": run.normalize in ("data", "imagenet")}
    if len(shape) != 3 and (asked := next((field for field, said in fields.items() if said), "")):
        raise ArgumentError(f"this is for images; an example of {run.data.name} has the shape {shape}.", asked)
    if network is None:
        return
    _, height, width = _seen(shape, run.image_size)
    least = network.smallest
    if min(height, width) < least:
        raise ArgumentError(
            f"{name} with the stem {stem} takes images of at least {least} x {least} pixels, not {height} x {width}. "
            f"Say image_size: {least} or more{', or stem: small' if stem != 'small' else ''}.",
            "model",
        )


def _seen(shape: tuple[int, ...], image_size: int | None) -> tuple[int, ...]:
    """An example as the network sees it."""
    return shape if image_size is None or len(shape) != 3 else (shape[0], image_size, image_size)


def cost(run: Run, cores: int) -> Cost | None:
    """None where the data or the model is the user's own and its size unknown before it is built."""
    return _cost(_Sizes._make((*_sizes_of(run), embeds(run), cores)))


class _Sizes(NamedTuple):
    """The fields that a cost depends on: runs that share them share it."""

    data: Part
    model: Part
    global_batch: int | str
    subset: Subset | None
    steps: int | None
    epochs: float | None
    evaluate_every: int | str | None
    overlap: float
    precision: str
    image_size: int | None
    embeds: bool
    cores: int


_sizes_of = operator.attrgetter(*_Sizes._fields[:-2])


@functools.lru_cache(maxsize=100_000)
def _cost(run: _Sizes) -> Cost | None:
    facts, make = facts_of(run.data), _MODELS.get(run.model.name)
    if facts is None or make is None:
        return None
    seen = _seen(facts.shape, run.image_size)
    shape = make(seen, facts.outputs, run.model.complete)
    once = 0.0
    if run.embeds and run.model.entry:
        once = shape.forward_seconds * (facts.train + facts.held_out) / run.cores
        shape = _dense(run.model.entry.features, facts.outputs)
    pool = min(facts.train, run.subset.size) if run.subset else facts.train
    steps, examples, widest = _walk(run.global_batch, run.steps, run.epochs, pool, run.overlap)
    rows = 1 + _evaluations(run, steps, pool)
    width = 8 if run.precision == "fp64" else 4
    arithmetic = 6.0 * shape.multiply_adds * examples / (CORE_FLOPS * run.cores) * width / 4
    updates = 40.0 * shape.parameters * steps / (CORE_FLOPS * run.cores)
    evaluation = shape.forward_seconds * facts.held_out * rows / run.cores
    seconds = START_SECONDS + STEP_SECONDS * steps + arithmetic + updates + evaluation
    slower = CONVOLUTION if shape.convolutional else 1.0
    stacked = STACK_SECONDS * steps + arithmetic * slower + UPDATE_SECONDS * shape.parameters * steps / run.cores
    stacked += evaluation * slower
    values = math.prod(facts.shape) * (facts.train + facts.held_out)
    chunk = 2_000_000 // max(1, math.prod(seen))
    kept = max(shape.activations * widest, (shape.passing or shape.activations) * chunk)
    data = values * 2.0 * (1 if facts.in_bytes else width)
    whole = RUNTIME_BYTES + data + width * (kept * 2.0 + shape.parameters * 5.0)
    added = run_bytes(shape.parameters, shape.activations, widest, width)
    return Cost(steps, rows, seconds, whole, stacked, added, shape.parameters, width, once)


def run_bytes(parameters: int, activations: int, batch: int, width: int) -> float:
    """What a run adds to a stack: its parameters, their gradients and four states, what a rule computes on the way,
    and the activations of a batch with their gradients."""
    return float(width) * (parameters * 10 + activations * batch * 2)


@functools.lru_cache(maxsize=1024)
def facts_of(part: Part) -> Facts | None:
    known = ENTRIES.get(part.name)
    if known is None or part.name == "folder":
        return None
    said = part.complete
    if part.name == "synthetic":
        return Facts(said["examples"], said["validation"] + said["test"], tuple(said["shape"]), said["classes"])
    if known.classes is None:
        return Facts(known.examples, known.examples, known.shape, 1)
    if "size" in said:
        return _image_facts(known, said)
    held_out = said.get("validation", 0) + said.get("test", known.test)
    classes = 20 if said.get("labels") == "coarse" else known.classes
    return Facts(known.examples - held_out, held_out, known.shape, classes, in_bytes=known.shape[0] == 3)


def _image_facts(known: Entry, said: dict[str, Any]) -> Facts:
    """Of sets that hold out shares: a given test set or a share of all, then a share of the rest for validation."""
    given = "test" not in said or said.get("split") in ("course", "folders")
    each = 1 + said.get("copies", 0)
    total = each * known.examples
    test = each * known.test if given else round(said["test"] * total)
    validation = round(said["validation"] * (total - test))
    shape = (known.shape[0], said["size"], said["size"])
    return Facts(total - test - validation, test + validation, shape, known.classes or 1, in_bytes=True)


class _Walk(NamedTuple):
    steps: int
    examples: int
    widest: int  # examples in the largest batch


@functools.lru_cache(maxsize=10_000)
def _walk(batch: int | str, steps: int | None, epochs: float | None, pool: int, overlap: float) -> _Walk:
    """A run's length; growing batches by walking the epochs, of very many the later ones by some of them."""
    if isinstance(batch, int):
        width = min(batch, pool)
        count = steps or math.ceil((epochs or 0) * steps_in_epoch(pool, width, stride(width, overlap)))
        return _Walk(count, count * width, width)
    text = batch

    def at(epoch: int) -> tuple[int, int]:
        width = min(batch_size(text, epoch), pool)
        return steps_in_epoch(pool, width, stride(width, overlap)), width

    if steps:
        return _walk_steps(steps, pool, at)
    last = math.ceil(epochs or 0) - 1
    near = [at(epoch) for epoch in range(min(last + 1, MAX_EPOCHS_WALKED))]
    later = last + 1 - len(near)
    far = [at(last - i * later // EPOCHS_SAMPLED) for i in range(EPOCHS_SAMPLED)] if later else []
    taken = sum(count for count, _ in near) + round(later * sum(count for count, _ in far) / EPOCHS_SAMPLED)
    unused = math.floor((last + 1 - (epochs or 0)) * at(last)[0] + 1e-9)
    return _Walk(taken - unused, (last + 1) * pool, max(width for _, width in [*near, *far]))


def _walk_steps(steps: int, pool: int, at: Callable[[int], tuple[int, int]]) -> _Walk:
    taken = epoch = widest = 0
    while epoch < MAX_EPOCHS_WALKED and taken < steps:
        count, width = at(epoch)
        taken, epoch, widest = taken + count, epoch + 1, max(widest, width)
    left = max(0, steps - taken)
    return _Walk(steps, (epoch + left // at(epoch)[0]) * pool if left else epoch * pool, widest)


def _evaluations(run: _Sizes, steps: int, pool: int) -> int:
    if by_epoch(run):
        width = min(batch_size(run.global_batch, 0), pool)
        return max(1, round(run.epochs or steps * width / pool))
    return math.ceil(steps / steps_between(run, steps))


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


class _Network(NamedTuple):
    """An image network before its head, for colour images of the side that its stem is for."""

    smallest: int  # side that it takes
    convolutions: float  # multiply-adds, which grow with the area
    dense: int  # multiply-adds, which do not
    activations: float
    passing: float
    first: int  # parameters for each channel of the image
    rest: int  # other parameters


_SIDES = {"imagenet": 224, "small": 32}
_NETWORKS = {
    ("alexnet", "imagenet"): _Network(63, 655.6e6, 54_525_952, 0.918e6, 0.39e6, 7744, 56_980_608),
    ("alexnet", "small"): _Network(15, 178.8e6, 26_214_400, 0.245e6, 0.13e6, 1600, 28_669_056),
    ("vgg16_bn", "imagenet"): _Network(32, 15_347e6, 119_537_664, 31.9e6, 6.4e6, 576, 134_267_264),
    ("vgg16_bn", "small"): _Network(1, 313.2e6, 18_874_368, 0.658e6, 0.13e6, 576, 33_603_968),
    ("vgg19", "imagenet"): _Network(32, 19_508e6, 119_537_664, 19.6e6, 6.4e6, 576, 139_568_512),
    ("vgg19", "small"): _Network(1, 398.1e6, 18_874_368, 0.408e6, 0.13e6, 576, 38_905_216),
    ("vgg19_bn", "imagenet"): _Network(32, 19_508e6, 119_537_664, 34.5e6, 6.4e6, 576, 139_579_520),
    ("vgg19_bn", "small"): _Network(1, 398.1e6, 18_874_368, 0.711e6, 0.13e6, 576, 38_916_224),
    ("resnet18", "imagenet"): _Network(1, 1_814e6, 0, 5.54e6, 1.6e6, 3136, 11_167_104),
    ("resnet18", "small"): _Network(1, 555.4e6, 0, 1.18e6, 0.13e6, 576, 11_167_104),
    ("resnet50", "imagenet"): _Network(1, 4_087e6, 0, 21.5e6, 1.6e6, 3136, 23_498_624),
    ("resnet50", "small"): _Network(1, 1_298e6, 0, 6.38e6, 0.52e6, 576, 23_498_624),
    ("squeezenet1_0", "imagenet"): _Network(21, 732.4e6, 0, 6.16e6, 2.3e6, 4704, 721_312),
    ("squeezenet1_0", "small"): _Network(4, 201.9e6, 0, 1.53e6, 0.52e6, 864, 721_312),
    ("squeezenet1_1", "imagenet"): _Network(17, 262.6e6, 0, 3.73e6, 1.6e6, 576, 720_768),
    ("squeezenet1_1", "small"): _Network(4, 88.41e6, 0, 0.851e6, 0.26e6, 576, 720_768),
    ("densenet121", "imagenet"): _Network(29, 2_833e6, 0, 32.6e6, 1.6e6, 3136, 6_944_448),
    ("densenet121", "small"): _Network(8, 888.3e6, 0, 10e6, 0.52e6, 576, 6_944_448),
    ("mobilenet_v2", "imagenet"): _Network(1, 299.5e6, 0, 19.6e6, 2.4e6, 288, 2_223_008),
    ("mobilenet_v2", "small"): _Network(1, 87.96e6, 0, 4.77e6, 0.29e6, 288, 2_223_008),
}


def _image_network(name: str, shape: tuple[int, ...], outputs: int, said: dict[str, Any]) -> Shape:
    channels, height, width = shape if len(shape) == 3 else (1, 1, math.prod(shape))
    network, area = _NETWORKS[name, said["stem"]], height * width / _SIDES[said["stem"]] ** 2
    head = TABLE["model"][name].features * outputs
    return Shape(
        round(network.convolutions * area) + network.dense + head,
        network.first * channels + network.rest + head + outputs,
        math.ceil(network.activations * area),
        convolutional=True,
        passing=math.ceil(network.passing * area),
    )


_MODELS: dict[str, Callable[[tuple[int, ...], int, dict[str, Any]], Shape]] = {
    "line": _line,
    "softmax": _softmax,
    "mlp": _mlp,
    "lab_cnn": _lab_cnn,
    **{name: functools.partial(_image_network, name) for name, _ in _NETWORKS},
}
