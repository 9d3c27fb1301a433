"""A Run: one training, complete. Frozen, no unknown keys; every field has its line here."""

import math
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from paceline.errors import nearest
from paceline.spec import expression
from paceline.spec.argument import ArgumentError, is_number
from paceline.spec.part import Part, read
from paceline.spec.parts import TABLE

MAX_EPOCHS_WALKED = 10_000
NOISE = (
    "noise_small_batch",
    "noise_big_batch",
    "noise_small_norm2",
    "noise_big_norm2",
)  # in rows, where it is measured


def _part(kind: str) -> Any:
    return Annotated[
        Part,
        BeforeValidator(lambda said: read(kind, said)),
        PlainSerializer(lambda part: part.plain()),
    ]


def _number(value: Any) -> Any:
    if value is not None and not is_number(value):
        raise ValueError(f"{value!r} is not a number")
    return value


Number = Annotated[float, BeforeValidator(_number)]
Whole = Annotated[int, BeforeValidator(_number)]


def _batch(value: Any) -> int | str:
    if isinstance(value, str):
        expression.batch_size(value, 0)
        return " ".join(value.split())
    if not is_number(value) or value != int(value) or value < 1:
        raise ValueError(f"{value!r} is not a batch size; say a whole number from 1, or e.g. 30 + 10 * epoch")
    return int(value)


def _overlap(value: Any) -> float | int:
    if value is True:
        return 0.5
    if value is False:
        return 0
    if is_number(value) and (0 <= value < 1 or (value >= 1 and value == int(value))):
        return int(value) if value >= 1 or value == 0 else float(value)
    raise ValueError(f"{value!r} is not an overlap; say a share below 1, a number of examples, or true for one half")


def _flip(value: Any) -> Any:
    return {True: "horizontal", False: "none"}.get(value, value) if isinstance(value, bool) else value


def _shift(value: Any) -> Any:
    if not is_number(value) or value < 0 or (value >= 1 and value != int(value)):
        raise ValueError(f"{value!r} is not a shift; say a share of the side below 1, or whole pixels")
    return value


def _subset(value: Any) -> Any:
    return {"size": value} if isinstance(value, int) and not isinstance(value, bool) else value


def _loader(value: Any) -> Any:
    if value == "memory":
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return {"workers": value}
    if isinstance(value, str):
        raise ValueError(
            f"{value!r} is no loader; say memory, a number of workers, or {{workers: 2, pin_memory: true}}"
        )
    return value


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class Subset(Frozen):
    """A part of the training set, drawn once or anew each epoch."""

    size: Whole = Field(ge=1, description="examples, drawn by the seed")
    redraw: Literal["never", "epoch"] = Field("never", description="epoch: another draw each epoch")


class EarlyStop(Frozen):
    """Ends a run before its steps are up. Judged on validation where there is one, else on test."""

    patience: Whole | None = Field(None, ge=1, description="evaluations without a better value")
    target: Number | None = Field(None, description="stop at the first evaluation this good")
    metric: Literal["accuracy", "loss"] = Field("accuracy", description="what is judged")


class Augment(Frozen):
    """How training images are changed at random, each time they are seen."""

    flip: Annotated[Literal["none", "horizontal", "vertical", "both"], BeforeValidator(_flip)] = Field(
        "none", description="mirror; true is horizontal"
    )
    shift: Annotated[float, BeforeValidator(_shift)] = Field(
        0, description="at most, as a share of the side below 1, or in whole pixels; the edge is repeated"
    )
    crop: Whole = Field(0, ge=0, description="pixels of black border, of which a picture of the old size is cut")
    rotate: Number = Field(0, ge=0, le=180, description="degrees at most, either way")
    zoom: Number = Field(0, ge=0, lt=1, description="share at most, in or out")
    cutout: Whole = Field(0, ge=0, description="side in pixels of a square that is blackened")


class Loader(Frozen):
    """torch's DataLoader: every example is decoded and augmented by itself, in processes of their own."""

    workers: Whole = Field(0, ge=0, le=1024, description="processes; 0 loads in the training process")
    pin_memory: bool = Field(False, description="batches in memory that a GPU copies from by itself")
    prefetch: Whole = Field(2, ge=1, le=1024, description="batches that each worker keeps ready")
    persistent: bool = Field(True, description="workers live on from epoch to epoch")


class Run(Frozen):
    data: _part("data") = Field(description="what is learned from")  # type: ignore[valid-type]
    model: _part("model") = Field(description="the network")  # type: ignore[valid-type]
    loss: _part("loss") = Field(Part("loss", "softmax_ce"), description="what is made small")  # type: ignore[valid-type]
    optimizer: _part("optimizer") = Field(description="the update rule")  # type: ignore[valid-type]
    lr: Number = Field(gt=0, description="learning rate: the schedule is a factor on it")
    schedule: _part("schedule") = Field(  # type: ignore[valid-type]
        Part("schedule", "constant"), description="how lr changes with the step"
    )
    warmup: Whole = Field(0, ge=0, description="steps of linear warm-up in front of the schedule")
    weights: str = Field(
        "none",
        description="what the model starts from: none, imagenet, or a file (safetensors, npz, a torch file of tensors)",
    )
    freeze: Literal["none", "base"] = Field(
        "none", description="base: all but the head keeps the weights it starts with"
    )
    finetune_after: Whole | None = Field(
        None, ge=0, description="epochs after which a frozen base trains too; unsaid: never"
    )
    base_lr: Number = Field(1.0, gt=0, description="learning rate of the base, as a factor of that of the head")
    image_size: Whole | None = Field(
        None, ge=1, description="side in pixels to which images are scaled, on the device; unsaid: as they are"
    )
    normalize: Literal["auto", "none", "data", "imagenet"] = Field(
        "auto",
        description="data: by mean and deviation of the training images; auto: as the weights were trained, "
        "else data for colour images and none for grey ones, whose pixels are in [0, 1]",
    )
    augment: Augment | None = Field(None, description="how training images change each time they are seen")
    batch: Annotated[int | str, BeforeValidator(_batch)] = Field(
        100, description="examples in a batch, or an expression of the epoch, as 30 + 10 * epoch"
    )
    order: Literal["shuffle", "file", "random"] = Field(
        "shuffle", description="shuffle: anew each epoch; file: as they lie there; random: drawn with replacement"
    )
    subset: Annotated[Subset | None, BeforeValidator(_subset)] = Field(
        None, description="train on so many examples; a number alone is its size; unsaid: all"
    )
    overlap: Annotated[float | int, BeforeValidator(_overlap)] = Field(
        0, description="what a batch shares with the one before: a share below 1, a number of examples, true: one half"
    )
    steps: Whole | None = Field(None, ge=1, description="updates to make; say steps or epochs")
    epochs: Number | None = Field(
        None, gt=0, le=1_000_000, description="passes over the training examples; may be a fraction"
    )
    evaluate_every: Annotated[Whole, Field(ge=1)] | Literal["epoch"] | None = Field(
        None, description="steps, or epoch; unsaid: each epoch when counting epochs, else 20 times a run"
    )
    early_stop: EarlyStop | None = Field(None, description="when to end before the steps are up: patience or target")
    clip_norm: Number | None = Field(None, gt=0, description="largest norm of the whole gradient")
    clip_value: Number | None = Field(None, gt=0, description="largest size of each entry of the gradient")
    loader: Annotated[Loader | None, BeforeValidator(_loader)] = Field(
        None,
        description="memory (as unsaid): the set as tensors, in memory or on the GPU; else torch's DataLoader, "
        "where a number alone is its workers",
    )
    accumulate: Whole = Field(1, ge=1, description="parts of a batch whose gradients are summed before an update")
    precision: Literal["fp32", "tf32", "bf16", "fp16", "fp64"] = Field(
        "fp32", description="fp32, fp64: of everything; tf32, bf16, fp16 (scaled gradients): of the model's products"
    )
    channels_last: bool | None = Field(
        None, description="layout of images in memory; unsaid: true for our own convolutions"
    )
    compile: bool = Field(False, description="by torch.compile; the seconds it takes are told apart")
    fused: bool | None = Field(
        None, description="updates by torch's fused kernels; unsaid: where they follow the same rule"
    )
    threads: Whole | None = Field(None, ge=1, description="of the CPU; unsaid: as many as a step has work for")
    device: Literal["auto", "cpu", "cuda", "mps"] = Field("auto", description="auto: a GPU where there is one")
    devices: Whole = Field(1, ge=1, le=100_000, description="that train the run together, each a process")
    strategy: _part("strategy") = Field(  # type: ignore[valid-type]
        Part("strategy", "ddp"), description="how several devices share the work"
    )
    batch_mode: Literal["global", "per_device"] = Field(
        "global", description="global: the devices share batch; per_device: each has so many"
    )
    lr_scale: Literal["none", "linear", "sqrt"] = Field("none", description="how lr grows with devices")
    sync_batch_norm: bool = Field(
        False, description="true: batch norm over the batch of all devices; false: each over its own"
    )
    noise_every: Whole | None = Field(
        None,
        ge=1,
        description="steps between two looks at the noise of gradients, which gives the useful batch; on one device a "
        "look costs half a step; unsaid: 50 on several devices with ddp (but for powersgd) or zero, where it is free, "
        "else none",
    )
    seed: Whole = Field(0, ge=0, le=10**18, description="the first seed; only in base")

    @property
    def global_batch(self) -> int | str:
        """Of all devices together: a number, or an expression of the epoch."""
        if self.batch_mode == "global" or self.devices == 1:
            return self.batch
        return self.batch * self.devices if isinstance(self.batch, int) else f"({self.batch}) * {self.devices}"

    @property
    def peak_lr(self) -> float:
        """What the schedule is a factor of."""
        factors = {"none": 1.0, "linear": float(self.devices), "sqrt": math.sqrt(self.devices)}
        return self.lr * factors[self.lr_scale]


def embeds(run: Run) -> bool:
    """Whether a frozen base makes the same of every image each time, so that it needs to be asked only once."""
    unchanging = run.freeze == "base" and run.finetune_after is None and run.augment is None
    return unchanging and run.model.entry is not None and run.model.entry.features > 0


class Evaluated(Protocol):
    """What says when a run is evaluated."""

    @property
    def evaluate_every(self) -> int | str | None: ...
    @property
    def epochs(self) -> float | None: ...


def by_epoch(run: Evaluated) -> bool:
    """Whether it is evaluated at the end of each epoch."""
    return run.evaluate_every == "epoch" or (run.evaluate_every is None and run.epochs is not None)


def steps_between(run: Evaluated, total: int) -> int:
    """Two evaluations of a run of so many steps that is not evaluated by the epoch; unsaid, 20 times a run."""
    return int(run.evaluate_every or 0) or max(1, total // 20)


def construct(values: dict[str, Any]) -> Run:
    """A Run from values that have been read already: a plan makes 100,000 of these."""
    run = Run.__new__(Run)
    object.__setattr__(run, "__dict__", values)
    object.__setattr__(run, "__pydantic_fields_set__", _UNSET)
    object.__setattr__(run, "__pydantic_extra__", None)
    object.__setattr__(run, "__pydantic_private__", None)
    return run


_UNSET: set[str] = set()
FIELDS = tuple(Run.model_fields)
PARTS = tuple(TABLE)
GROUPS: dict[str, type[Frozen]] = {"subset": Subset, "early_stop": EarlyStop, "augment": Augment, "loader": Loader}


def refuse_unknown(group: str, said: Any) -> None:
    allowed = GROUPS[group].model_fields
    for key in said if isinstance(said, dict) else ():
        if key not in allowed:
            raise ArgumentError(f"{group} has no '{key}'. {nearest(key, allowed)}", key)


def averages(run: Run) -> bool:
    """Whether its devices average gradients of parts of a batch; those of low rank, as by PowerSGD, are others."""
    whole = run.strategy.complete.get("compress") != "powersgd"
    return whole and run.strategy.entry is not None and run.strategy.entry.averages
