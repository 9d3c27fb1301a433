"""What must hold between the fields of a run."""

import functools
import math

from paceline.spec import expression
from paceline.spec.argument import ArgumentError
from paceline.spec.parts import TABLE
from paceline.spec.run import MAX_EPOCHS_WALKED, Augment, Run, averages, embeds


def check(run: Run) -> None:
    """ArgumentError names the field to mend."""
    if run.steps is None and run.epochs is None:
        raise ArgumentError("say how long to train: steps or epochs, one of the two.", "steps")
    if run.steps is not None and run.epochs is not None:
        raise ArgumentError("steps and epochs are both said; take one out, as by --set epochs=null.", "steps")
    if run.steps is not None and run.warmup > run.steps:
        raise ArgumentError(f"warmup is {run.warmup} steps, the whole run {run.steps}.", "warmup")
    if run.overlap and run.order == "random":
        raise ArgumentError(
            "random batches are drawn one by one and cannot overlap; use order file or shuffle.", "overlap"
        )
    if isinstance(run.batch, int) and run.overlap >= run.batch:
        raise ArgumentError(f"an overlap of {run.overlap} leaves no new example in a batch of {run.batch}.", "overlap")
    if isinstance(run.batch, str) and run.epochs is not None:
        _walk_epochs(run.batch, run.epochs)
    stop = run.early_stop
    if stop and (stop.patience is None) == (stop.target is None):
        raise ArgumentError("say patience or target, one of the two.", "early_stop")
    if stop and stop.target is not None and stop.metric == "accuracy" and stop.target > 1:
        raise ArgumentError(f"an accuracy is at most 1, not {stop.target:g}; say 0.95 for 95 %.", "early_stop")
    if run.weights == "imagenet" and not (run.model.entry and run.model.entry.features):
        known = ", ".join(name for name, entry in TABLE["model"].items() if entry.features)
        raise ArgumentError(f"of {run.model.name} none are known, only of {known}; name a file instead.", "weights")
    if run.finetune_after is not None and run.freeze == "none":
        raise ArgumentError("nothing is frozen that could train later; say freeze: base too.", "finetune_after")
    if run.augment is not None and run.augment == Augment():
        raise ArgumentError("it changes nothing; say flip, shift, crop, rotate, zoom or cutout.", "augment")
    if run.devices > 1:
        _check_devices(run)
    if isinstance(run.batch, int) and run.accumulate > run.batch:
        raise ArgumentError(
            f"batches of {run.batch} have no {run.accumulate} parts; say at most {run.batch}.", "accumulate"
        )
    if run.compile and isinstance(run.batch, str):
        raise ArgumentError(
            "a batch that changes would be compiled anew in the middle of training; say compile: false.", "compile"
        )
    if run.compile and run.finetune_after is not None:
        raise ArgumentError(
            "a base that trains later would be compiled anew in the middle of training; say compile: false.", "compile"
        )
    if run.noise_every and run.precision == "fp16":
        raise ArgumentError("in fp16 gradients have a scale of their own; say precision: bf16.", "noise_every")
    if run.noise_every and run.compile:
        raise ArgumentError("a compiled model is not looked into; leave one of the two out.", "noise_every")
    if run.noise_every and run.devices > 1 and not averages(run):
        named = [name for name, entry in TABLE["strategy"].items() if entry.averages]
        raise ArgumentError(
            f"the noise of gradients needs strategy {' or '.join(named)} without powersgd, or one device; "
            f"here it is {run.strategy}.",
            "noise_every",
        )
    if run.loader is not None and run.freeze == "base" and embeds(run):
        raise ArgumentError("a frozen base sees each image once; what it makes of them is in memory.", "loader")
    sgd = run.optimizer.complete if run.optimizer.name == "sgd" else {}
    if sgd.get("nesterov") and (sgd["momentum"] == 0 or sgd["dampening"] > 0):
        raise ArgumentError("sgd's nesterov needs a momentum above 0 and no dampening.", "optimizer")
    _check_task(run)


def _check_devices(run: Run) -> None:
    whole = run.global_batch
    if isinstance(whole, int) and whole < run.devices:
        raise ArgumentError(
            f"a batch of {whole} leaves some of {run.devices} devices without an example; say at least {run.devices}.",
            "batch",
        )
    if run.compile:
        raise ArgumentError("compiled models train on one device only; say compile: false, or devices: 1.", "compile")
    if run.finetune_after is not None:
        raise ArgumentError(
            "a base that thaws trains on one device only; leave finetune_after out, or say devices: 1.",
            "finetune_after",
        )
    if run.precision == "fp16" and run.strategy.complete.get("compress") == "powersgd":
        raise ArgumentError(
            "powersgd keeps what it did not send, and in fp16 an overflow would stay in it; say precision: bf16.",
            "strategy",
        )
    if run.strategy.name == "pipeline" and (run.freeze != "none" or run.base_lr != 1.0):
        key = "freeze" if run.freeze != "none" else "base_lr"
        raise ArgumentError(
            f"a device of a pipeline has some layers and knows no base; leave {key} out, or say strategy: ddp.", key
        )
    if run.strategy.name == "pipeline" and run.accumulate > 1:
        raise ArgumentError(
            f"a pipeline has micro_batches instead; say strategy: {{name: pipeline, micro_batches: {run.accumulate}}}.",
            "accumulate",
        )


@functools.lru_cache(maxsize=1024)
def _walk_epochs(batch: str, epochs: float) -> None:
    try:
        for epoch in range(min(math.ceil(epochs), MAX_EPOCHS_WALKED)):
            expression.batch_size(batch, epoch)
    except ValueError as error:
        raise ArgumentError(f"{error}.", "batch") from None


def _check_task(run: Run) -> None:
    data, loss = run.data.entry, run.loss.entry
    if data and loss and data.task == "values" and loss.task == "classes":
        raise ArgumentError(
            f"{run.data.name} has values, not classes; {run.loss.name} needs classes. Use mse or sum_squares.",
            "loss",
        )
    if data and data.task == "values" and run.early_stop and run.early_stop.metric == "accuracy":
        raise ArgumentError(f"{run.data.name} has no accuracy; say metric: loss.", "early_stop")
    if run.model.name == "line" and data and data.task != "values":
        raise ArgumentError(f"the model line fits one value to one value, not the classes of {run.data.name}.", "model")
