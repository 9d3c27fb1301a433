"""Parts into things that compute: imports what a dotted path names and calls it with the run's arguments."""

import functools
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
from paceline.spec.parts import ArgumentError
from paceline.spec.signature import source_hash, source_of

Loss = Callable[[Tensor, Tensor], Tensor]
Schedule = Callable[[int, int], float]
DTYPES = {"fp32": torch.float32, "fp64": torch.float64}


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


_sources: dict[str, tuple[Path, str | None]] = {}  # own modules imported so far, from where and with what content


def _own_module(part: Part, folder: Path) -> Any:
    """Imported anew when its file has changed, or another study has one of the same name: a notebook lives long."""
    module = part.path.partition(":")[0]
    file = source_of(module, folder)
    source = (folder, source_hash(part, folder))
    if file and file.is_relative_to(folder) and _sources.setdefault(module, source) != source:
        _sources[module] = source
        sys.modules.pop(module, None)
        importlib.invalidate_caches()
    sys.path[:] = [str(folder), *(entry for entry in sys.path if entry != str(folder))]
    return importlib.import_module(module)


def _maker(part: Part, folder: Path) -> Callable[..., Any]:
    found: Callable[..., Any] = resolve(part, folder)
    if not callable(found):
        raise StudyError(f"'{part.name}' is {found!r}, which cannot be called.", key=part.kind)
    return found


def data(run: Run, files: Files, folder: Path) -> Dataset:
    make = _maker(run.data, folder)
    accepts = inspect.signature(make).parameters
    given = {"files": files} if "files" in accepts else {}
    made = make(**given, **run.data.complete)
    return made if isinstance(made, Dataset) else _own_dataset(run.data, made)


def _own_dataset(part: Part, made: Any) -> Dataset:
    """An own data set may simply return (train_x, train_y, test_x, test_y)."""
    if not isinstance(made, (tuple, list)) or len(made) != 4:
        raise StudyError(f"'{part.name}' must return a Dataset or (train_x, train_y, test_x, test_y).", key="data")
    tensors = [torch.as_tensor(item) for item in made]
    _check_own(part, tensors)
    x, y, test_x, test_y = (t if t.is_floating_point() else t.long() for t in tensors)
    train, test = Split(x.float().contiguous(), y), Split(test_x.float().contiguous(), test_y)
    classes = None if y.is_floating_point() else int(max(y.max(), test_y.max())) + 1
    return Dataset(part.name, train, None, test, classes, tensor_checksum(train, test))


def _check_own(part: Part, tensors: list[Tensor]) -> None:
    train_x, train_y, test_x, test_y = tensors
    for name, x, y in (("train", train_x, train_y), ("test", test_x, test_y)):
        labels = not y.is_floating_point()
        wrong = (
            f"{len(x)} {name} examples but {len(y)} answers" if len(x) != len(y)
            else f"no {name} examples" if not len(x)
            else f"{name} labels of shape {tuple(y.shape)}; class numbers are one a line" if labels and y.dim() != 1
            else f"a {name} label below 0" if labels and int(y.min()) < 0
            else ""
        )  # fmt: skip
        if wrong:
            raise StudyError(f"'{part.name}' gives {wrong}.", key="data")


def model(run: Run, dataset: Dataset, folder: Path) -> nn.Module:
    """The network at its start: a function of the run's seed alone, whatever was drawn before."""
    make = _maker(run.model, folder)
    given = {"input_shape": dataset.input_shape, "outputs": dataset.outputs, "classes": dataset.classes}
    accepts = inspect.signature(make).parameters
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key(run.seed, "init"))
        built = make(**{name: value for name, value in given.items() if name in accepts}, **run.model.complete)
    if not isinstance(built, nn.Module):
        raise StudyError(f"'{run.model.name}' made a {type(built).__name__}, not a torch.nn.Module.", key="model")
    return built


def loss(run: Run, folder: Path) -> Loss:
    return functools.partial(_maker(run.loss, folder), **run.loss.complete)


def schedule(run: Run, folder: Path) -> Schedule:
    return with_warmup(functools.partial(_maker(run.schedule, folder), **run.schedule.complete), run.warmup)


def optimizer(run: Run, parameters: list[nn.Parameter], folder: Path) -> torch.optim.Optimizer:
    found = resolve(run.optimizer, folder)
    if isinstance(found, Rule):
        return build_rule(found, parameters, run.lr, run.optimizer.complete)
    if isinstance(found, type) and issubclass(found, torch.optim.Optimizer):
        return found(parameters, lr=run.lr, **run.optimizer.complete)  # type: ignore[call-arg]
    raise StudyError(f"'{run.optimizer.name}' is neither a Rule nor a torch.optim.Optimizer class.", key="optimizer")
