"""Parts into things that compute: imports what a dotted path names and calls it with the run's arguments."""

import functools
import hashlib
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from paceline.data.dataset import Dataset, Split, tensor_checksum
from paceline.data.draws import key
from paceline.data.locate import Files
from paceline.errors import StudyError
from paceline.optim.optimizer import build as build_rule
from paceline.optim.rule import Rule
from paceline.optim.schedules import with_warmup
from paceline.spec import Part, Run

Loss = Callable[[Tensor, Tensor], Tensor]
Schedule = Callable[[int, int], float]


def resolve(part: Part, folder: Path) -> Any:
    """The object that a part's path names; own modules are looked for beside the study first."""
    module, _, attribute = part.path.partition(":")
    if part.own and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found: Any = importlib.import_module(module)
        for name in attribute.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        raise StudyError(f"{part.kind} '{part.name}' cannot be imported: {error}.", key=part.kind) from error
    return found


def data(run: Run, files: Files, folder: Path) -> Dataset:
    make = resolve(run.data, folder)
    accepts = inspect.signature(make).parameters
    given = {"files": files} if "files" in accepts else {}
    made = make(**given, **run.data.complete)
    return made if isinstance(made, Dataset) else _own_dataset(run.data, made)


def _own_dataset(part: Part, made: Any) -> Dataset:
    """An own data set may simply return (train_x, train_y, test_x, test_y)."""
    if not isinstance(made, (tuple, list)) or len(made) != 4:
        raise StudyError(f"'{part.name}' must return a Dataset or (train_x, train_y, test_x, test_y).", key="data")
    tensors = [torch.as_tensor(item) for item in made]
    x, y, test_x, test_y = (t if t.is_floating_point() else t.long() for t in tensors)
    train, test = Split(x.float().contiguous(), y), Split(test_x.float().contiguous(), test_y)
    classes = None if y.is_floating_point() else int(max(y.max(), test_y.max())) + 1
    return Dataset(part.name, train, None, test, classes, tensor_checksum(train, test))


def model(run: Run, dataset: Dataset, folder: Path) -> nn.Module:
    """The network at its start: a function of the run's seed alone, whatever was drawn before."""
    make = resolve(run.model, folder)
    given = {"input_shape": dataset.input_shape, "outputs": dataset.outputs, "classes": dataset.classes}
    accepts = inspect.signature(make).parameters
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key(run.seed, "init"))
        built = make(**{name: value for name, value in given.items() if name in accepts}, **run.model.complete)
    if not isinstance(built, nn.Module):
        raise StudyError(f"'{run.model.name}' made a {type(built).__name__}, not a torch.nn.Module.", key="model")
    return built


def loss(run: Run, folder: Path) -> Loss:
    return functools.partial(resolve(run.loss, folder), **run.loss.complete)


def schedule(run: Run, folder: Path) -> Schedule:
    return with_warmup(functools.partial(resolve(run.schedule, folder), **run.schedule.complete), run.warmup)


def optimizer(run: Run, parameters: list[nn.Parameter], folder: Path) -> torch.optim.Optimizer:
    found = resolve(run.optimizer, folder)
    if isinstance(found, Rule):
        return build_rule(found, parameters, run.lr, run.optimizer.complete)
    if isinstance(found, type) and issubclass(found, torch.optim.Optimizer):
        return found(parameters, lr=run.lr, **run.optimizer.complete)  # type: ignore[call-arg]
    raise StudyError(f"'{run.optimizer.name}' is neither a Rule nor a torch.optim.Optimizer class.", key="optimizer")


def source_hash(part: Part, folder: Path) -> str:
    """What the imported source of an own part hashes to."""
    source = inspect.getsourcefile(inspect.unwrap(resolve(part, folder)))
    return hashlib.sha256(Path(source).read_bytes()).hexdigest()[:16] if source else ""
