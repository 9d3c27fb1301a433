"""Parts into things that compute: imports what a dotted path names and calls it with the run's arguments."""

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from paceline.data.dataset import Dataset
from paceline.data.draws import key
from paceline.data.locate import Files
from paceline.data.own import own_dataset
from paceline.data.pretrained import Found, find
from paceline.errors import StudyError
from paceline.optim.optimizer import build as build_rule
from paceline.optim.rule import Rule
from paceline.optim.schedules import with_warmup
from paceline.spec import Part, Run
from paceline.spec.argument import ArgumentError
from paceline.spec.sources import source_files
from paceline.train import device, precision
from paceline.train import weights as weight_files
from paceline.train.base import Trained, head_of
from paceline.train.losses import Loss
from paceline.train.parallel.strategy import Make, Strategy
from paceline.train.parallel.team import Team

Criterion = Callable[[Tensor, Tensor], Tensor]
Schedule = Callable[[int, int], float]


def resolve(part: Part, folder: Path) -> Any:
    """The object that a part's path names; own modules are looked for beside the study first."""
    module, _, attribute = part.path.partition(":")
    try:
        found: Any = _own_module(part, folder) if part.own else importlib.import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError, ArgumentError) as error:
        raise StudyError(f"{part.kind} '{part.name}' cannot be imported: {error}.", key=part.kind) from error
    return found


_sources: dict[str, tuple[Path, bytes]] = {}  # own modules imported so far, from where and with what content


def _own_module(part: Part, folder: Path) -> Any:
    """Imported anew, with what it imports from beside the study, when one of these files has changed or another study
    has one of the same name: a notebook lives long."""
    module = part.path.partition(":")[0]
    files = {name: file for name, file in source_files(part, folder).items() if file.is_relative_to(folder)}
    now = {name: (file, file.read_bytes()) for name, file in files.items()}
    if any(_sources.get(name, source) != source for name, source in now.items()):
        for name in now:
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
    _sources.update(now)
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry != str(folder))]
    return importlib.import_module(module)


def _maker(part: Part, folder: Path) -> Callable[..., Any]:
    found: Callable[..., Any] = resolve(part, folder)
    if not callable(found):
        raise StudyError(f"'{part.name}' is {found!r}, which cannot be called.", key=part.kind)
    return found


def data(run: Run, files: Files, folder: Path) -> Dataset:
    return dataset_of(run.data, files, folder, labelled=labelled(run))


def labelled(run: Run) -> bool:
    """Whether its loss needs classes."""
    return run.loss.entry is not None and run.loss.entry.task == "classes"


def dataset_of(part: Part, files: Files, folder: Path, *, labelled: bool = False) -> Dataset:
    """`labelled`: the loss needs classes. A path that the part names is looked for beside the study."""
    make = _maker(part, folder)
    given = {"files": replace(files, beside=folder)} if "files" in inspect.signature(make).parameters else {}
    made = make(**given, **part.complete)
    return own_dataset(part.name, made, labelled=labelled) if part.own else made


def model(run: Run, dataset: Dataset, folder: Path, files: Files | None = None) -> nn.Module:
    """The network at its start: a function of the run's seed and of its weights, whatever was drawn before."""
    if dataset.base_shape is None:
        return network(run, dataset, folder, files)
    whole = _drawn(run, dataset, folder)
    if dataset.base_head:
        weight_files.load(whole, dataset.base_head, head_of(whole, dataset.outputs), Path(run.weights))
    return Head(whole)


class Head(nn.Module):
    """The head of a network alone, for what its frozen base made of the images."""

    def __init__(self, whole: nn.Module) -> None:
        super().__init__()
        self.head = whole.head

    def forward(self, x: Tensor) -> Tensor:
        return torch.flatten(self.head(x), 1)  # type: ignore[operator]


def network(run: Run, dataset: Dataset, folder: Path, files: Files | None = None) -> nn.Module:
    """The whole network, with the weights that the run starts from."""
    built = _drawn(run, dataset, folder)
    found = weights(run, folder, files)
    if found:
        fit = weight_files.load(built, weight_files.read(found.path), head_of(built, dataset.outputs), found.path)
        if fit.missing and run.freeze == "base":
            raise StudyError(
                f"{found.path} lacks a part of the base, {fit.missing[0]} for one, which would stay frozen as drawn.",
                key="freeze",
            )
    return built


def head_tensors(run: Run, dataset: Dataset, folder: Path, files: Files) -> dict[str, Tensor]:
    """What the weights that the run starts from have for its head, by the network's names."""
    found = weights(run, folder, files)
    if found is None:
        return {}
    drawn = _drawn(run, dataset, folder)
    names = weight_files.names_of(head_of(drawn, dataset.outputs), drawn)
    return {name: value.clone() for name, value in weight_files.read(found.path).items() if name in names}


def weights(run: Run, folder: Path, files: Files | None = None) -> Found | None:
    if run.weights == "none":
        return None
    return find(run.weights, run.model.name, files or Files.search(), folder)


def input_shape(run: Run, dataset: Dataset) -> tuple[int, ...]:
    """Of an example as the network sees it."""
    if dataset.base_shape is not None:
        return dataset.base_shape
    shape = dataset.input_shape
    return shape if run.image_size is None else (shape[0], run.image_size, run.image_size)


def _drawn(run: Run, dataset: Dataset, folder: Path) -> nn.Module:
    make = _maker(run.model, folder)
    given = {
        "input_shape": input_shape(run, dataset),
        "outputs": dataset.outputs,
        "classes": dataset.classes,
        "num_classes": dataset.outputs,
    }
    accepts = inspect.signature(make).parameters
    passed = {name: value for name, value in given.items() if name in accepts}
    if run.model.path.startswith(("torchvision.", "timm")):  # their makers hand it on as one of **kwargs
        passed["num_classes"] = dataset.outputs
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key(run.seed, "init"))
        built = make(**passed, **run.model.complete)
        if not isinstance(built, nn.Module):
            raise StudyError(f"'{run.model.name}' made a {type(built).__name__}, not a torch.nn.Module.", key="model")
        if any(isinstance(parameter, UninitializedParameter) for parameter in built.parameters()):
            with torch.no_grad():  # lazy layers draw their weights when they see the first example
                built.eval()(torch.zeros(1, *input_shape(run, dataset)))
            built.train()
    return built


def foreign(run: Run) -> bool:
    """Whether code that is not ours is given data, and may write into them."""
    return bool(run.model.own or run.loss.own)


def strategy(run: Run, team: Team, folder: Path) -> Strategy:
    """How the devices of a team train the run; of one, nothing of it."""
    if team.size == 1:
        return Strategy(team)
    made = _maker(run.strategy, folder)(team, **run.strategy.complete)
    if not isinstance(made, Strategy):
        raise StudyError(f"'{run.strategy.name}' made a {type(made).__name__}, not a Strategy.", key="strategy")
    rule = resolve(run.optimizer, folder)
    if made.elementwise and not (isinstance(rule, Rule) and rule.elementwise):
        raise StudyError(
            f"{run.strategy.name} divides parameters, and {run.optimizer.name} has to see them whole.", key="optimizer"
        )
    if not made.same_updates and isinstance(rule, Rule) and rule.at_evaluation:
        raise StudyError(
            f"{run.optimizer.name} evaluates at other parameters than it trains; of the strategies, only ddp and "
            "pipeline let it.",
            key="optimizer",
        )
    if not made.whole_models and run.precision == "fp16":
        raise StudyError(
            f"{run.strategy.name} has no scale of gradients that all devices agree on; say precision: bf16.",
            key="precision",
        )
    return made


def trained(
    run: Run, model: nn.Module, dataset: Dataset, folder: Path, make: Callable[[Make], Make] = lambda make: make
) -> Trained:
    """The optimizer of the model, or those of its head and of its base."""
    whole = dataset.base_shape is not None or (run.freeze == "none" and run.base_lr == 1.0)
    scaler = precision.scaler(run.precision, device.resolve(run.device))
    made = make(lambda parameters: optimizer(run, parameters, folder))
    return Trained(model, run, dataset.outputs, made, whole, scaler)


def loss(run: Run, folder: Path) -> Criterion:
    return functools.partial(_maker(run.loss, folder), **run.loss.complete)


def share_of(run: Run, folder: Path) -> Callable[[float], float]:
    """What the loss of a part of a batch counts for, by its share of the examples."""
    found = resolve(run.loss, folder)
    if isinstance(found, Loss) and found.values is None:
        raise StudyError(f"{run.loss.name} has to see a batch whole, on one device and without accumulate.", key="loss")
    return (lambda share: 1.0) if isinstance(found, Loss) and found.total else (lambda share: share)


def schedule(run: Run, folder: Path) -> Schedule:
    return with_warmup(functools.partial(_maker(run.schedule, folder), **run.schedule.complete), run.warmup)


def optimizer(run: Run, parameters: list[nn.Parameter], folder: Path) -> torch.optim.Optimizer:
    found = resolve(run.optimizer, folder)
    if run.fused and not (isinstance(found, Rule) and found.twin):
        raise StudyError(f"torch has no fused update that is {run.optimizer.name}; leave it unsaid.", key="fused")
    if isinstance(found, Rule):
        return build_rule(found, parameters, run.lr, run.optimizer.complete, fused=run.fused is not False)
    if isinstance(found, type) and issubclass(found, torch.optim.Optimizer):
        return found(parameters, lr=run.lr, **run.optimizer.complete)  # type: ignore[call-arg]
    raise StudyError(f"'{run.optimizer.name}' is neither a Rule nor a torch.optim.Optimizer class.", key="optimizer")
