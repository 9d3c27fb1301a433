"""What a step of a run is made of on one device: the seconds of each tensor's gradient, of the update, of all the rest.

The run is trained by the plain loop, with marks where a gradient is complete and where an update begins and ends. On a
CPU a mark is what the clock says; on a GPU it is an event in the stream of work, read when the steps are over.

Several devices are profiled side by side, in step with each other as when they train together, and do all that data
parallel training does, except that each averages its gradients with nobody.
"""

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.spec import Part, Run
from paceline.train import device
from paceline.train.loop import train
from paceline.train.parallel.ddp import DDP
from paceline.train.parallel.team import ALONE, Team
from paceline.train.rows import Pause

WARM_UP = 5  # steps that do not count: caches fill, torch plans its buckets, PowerSGD begins
FEWEST = 5  # steps that count
SLOWER_OF_TWO = 0.5642  # by how many standard deviations the slower of two exceeds the mean
UPDATED, ARRIVED, MET = -1, -2, -3  # the marks of an update: it ended, all gradients are there, all devices are there

Marks = list[tuple[int, float]]  # which tensor's gradient was complete, or one of the above, and when


@dataclass(frozen=True)
class Profile:
    """One device's work of a step: medians over steps. Tensors are in the order in which their gradients come."""

    batch: int  # examples on this device
    forward_seconds: float  # all the rest: loader, forward, loss, and the backward pass up to the first gradient
    backward_seconds: tuple[float, ...]  # from the gradient before to this one
    gradient_bytes: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    optimizer_seconds: float  # and of what else follows the last gradient
    jitter: float = 0.0  # standard deviation over mean of a device's work, from how long two wait for each other

    @property
    def step_seconds(self) -> float:
        return self.forward_seconds + sum(self.backward_seconds) + self.optimizer_seconds


def profile(
    run: Run,
    dataset: Dataset,
    batch: int,
    seconds: float,
    team: Team = ALONE,
    *,
    folder: Path = Path(),
    cores: int | None = None,
    files: Files | None = None,
) -> Profile:
    """Trains with so many examples a device for about so many seconds, and leaves nothing behind."""
    said = {"batch": batch, "batch_mode": "per_device", "devices": team.size, "lr_scale": "none"}
    if team.size > 1:
        said["strategy"] = Part("strategy", f"{__name__}:Unsent", run.strategy.args)
    marks, parameters = _marked(endless(run.model_copy(update=said)), dataset, folder, cores, files, team, seconds)
    steps = steps_of(marks)
    works = team.spread([step.work for step in steps], device.resolve(run.device))
    return summed(steps, parameters, batch, jitter(works))


def step_seconds(
    run: Run,
    dataset: Dataset,
    seconds: float,
    team: Team,
    *,
    folder: Path = Path(),
    cores: int | None = None,
    files: Files | None = None,
) -> list[float]:
    """Each step's seconds of a run that a team trains together: from the end of an update to that of the next."""
    marks, _ = _marked(endless(run), dataset, folder, cores, files, team, seconds, meet=False)
    ends = [when for which, when in marks if which == UPDATED]
    return [after - before for before, after in pairwise(ends[WARM_UP - 1 :])]


class Unsent(DDP):
    """Data parallel training in which each device is a group of its own: buckets are filled, and nothing is sent."""

    def __init__(self, team: Team, **said: Any) -> None:
        super().__init__(team, **said)
        self.group = [dist.new_group([rank]) for rank in range(team.size)][team.rank]


def endless(run: Run) -> Run:
    """Without an end in sight, and too slow to diverge before it is timed."""
    length = {"steps": 10**9, "epochs": None, "evaluate_every": 10**9, "early_stop": None, "warmup": 0}
    return run.model_copy(update={**length, "lr": min(run.lr, 1e-6)})


def _marked(
    run: Run,
    dataset: Dataset,
    folder: Path,
    cores: int | None,
    files: Files | None,
    team: Team,
    seconds: float,
    meet: bool = True,
) -> tuple[Marks, list[nn.Parameter]]:
    target = device.resolve(run.device)
    begun = 0.0
    with _marking(target, team if meet else ALONE) as (marks, parameters, read):
        items = train(run, dataset, folder, cores=cores, files=files, team=team)
        with contextlib.closing(items):  # type: ignore[type-var]
            for item in items:
                if not isinstance(item, Pause) or item.step < WARM_UP:
                    continue
                begun = begun or time.perf_counter()
                enough = item.step >= WARM_UP + FEWEST and time.perf_counter() - begun > seconds
                if team.any([enough and team.first], target)[0]:
                    break
        device.synchronize(target)
        return [(which, read(when)) for which, when in marks], parameters


@contextlib.contextmanager
def _marking(
    target: torch.device, team: Team
) -> Iterator[tuple[list[tuple[int, Any]], list[nn.Parameter], Callable[[Any], float]]]:
    """While it lasts, every gradient and every update leaves a mark; the team meets before each update.

    Gives the marks, the parameters by their number, and how the seconds of a mark are read.
    """
    marks: list[tuple[int, Any]] = []
    parameters: list[nn.Parameter] = []
    known: set[int] = set()
    now, read = _clock(target)
    exits = contextlib.ExitStack()

    def noted(number: int) -> None:
        marks.append((number, now()))

    def watched(parameter: nn.Parameter) -> None:
        number = len(parameters)
        parameters.append(parameter)
        known.add(id(parameter))
        hook = parameter.register_post_accumulate_grad_hook(lambda _: noted(number))  # type: ignore[no-untyped-call]
        exits.callback(hook.remove)

    def before(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.requires_grad and id(parameter) not in known:
                    watched(parameter)
        if not marks or marks[-1][0] != UPDATED:  # the second optimizer of a step does not wait again
            noted(ARRIVED)
            team.wait()
            noted(MET)

    def after(optimizer: Optimizer, args: Any, kwargs: Any) -> None:
        noted(UPDATED)

    with exits:
        exits.callback(register_optimizer_step_pre_hook(before).remove)
        exits.callback(register_optimizer_step_post_hook(after).remove)
        yield marks, parameters, read


def _clock(target: torch.device) -> tuple[Callable[[], Any], Callable[[Any], float]]:
    """How a mark is made, and how its seconds are read once the device has been waited for."""
    if target.type != "cuda":
        return time.perf_counter, float
    events: list[torch.cuda.Event] = []  # the first: times from it lose digits as they grow

    def now() -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(target))
        if not events:
            events.append(event)
        return event

    return now, lambda event: events[0].elapsed_time(event) / 1000


@dataclass(frozen=True)
class Step:
    """From where all devices met to where they meet again."""

    forward_seconds: float
    gradients: tuple[tuple[int, float], ...]  # tensors in order, and the seconds since the gradient before
    optimizer_seconds: float
    work: float  # seconds until this device had all its gradients, the update before included


def steps_of(marks: Marks) -> list[Step]:
    """The steps after the warm-up. Of a batch in parts, the gradients are those of its last part."""
    places = [place for place, (which, _) in enumerate(marks) if which == MET][WARM_UP - 1 :]
    found = []
    for begins, ends in pairwise(places):
        met = marks[begins][1]
        within = marks[begins + 1 : ends]
        updated = max(when for which, when in within if which == UPDATED)
        arrived = within[-1][1]
        last = {which: when for which, when in within if which >= 0}
        order = sorted(last.items(), key=lambda item: item[1]) or [(-1, arrived)]
        gaps = [0.0, *(after - before for (_, before), (_, after) in pairwise(order))]
        gradients = tuple((which, gap) for (which, _), gap in zip(order, gaps, strict=True) if which >= 0)
        follows = updated - met + arrived - order[-1][1]
        found.append(Step(order[0][1] - updated, gradients, follows, arrived - met))
    return found


def summed(steps: list[Step], parameters: list[nn.Parameter], batch: int, jitter: float) -> Profile:
    """Medians over the steps that gave their gradients in the usual order."""
    orders = [tuple(which for which, _ in step.gradients) for step in steps]
    usual = statistics.mode(orders)
    alike = [step for step, order in zip(steps, orders, strict=True) if order == usual]
    tensors: list[Tensor] = [parameters[which] for which in usual]
    backward = [statistics.median(step.gradients[place][1] for step in alike) for place in range(len(usual))]
    update = statistics.median(step.optimizer_seconds for step in alike)
    rest = statistics.median(step.work for step in alike) - sum(backward) - update
    return Profile(
        batch=batch,
        forward_seconds=max(rest, 1e-9),
        backward_seconds=tuple(backward),
        gradient_bytes=tuple(tensor.numel() * tensor.element_size() for tensor in tensors),
        shapes=tuple(tuple(tensor.shape) for tensor in tensors),
        optimizer_seconds=update,
        jitter=jitter,
    )


def jitter(works: list[list[float]]) -> float:
    """From the seconds of each device [devices, steps]: by how much the slower of two exceeds their mean.

    With more than two devices, over neighbouring pairs.
    """
    excess = [abs(a - b) / (a + b) for one, other in pairwise(works) for a, b in zip(one, other, strict=True)]
    return statistics.median(excess) / SLOWER_OF_TWO if excess else 0.0
