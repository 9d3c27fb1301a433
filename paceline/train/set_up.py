"""All that a run is trained with: device, model, optimizers, strategy, data, batches."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from paceline.data import loaders
from paceline.data.batches import Composition
from paceline.data.dataset import Dataset
from paceline.data.loaders import Feed
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.spec import Run
from paceline.train import build, device, peak, precision
from paceline.train.base import Trained
from paceline.train.look import look
from paceline.train.noise import Noise
from paceline.train.parallel.norm import synced
from paceline.train.parallel.strategy import Strategy
from paceline.train.parallel.team import ALONE, Team
from paceline.train.threads import suited_threads


@dataclass(frozen=True)
class SetUp:
    device: torch.device
    dtype: torch.dtype
    cast: AbstractContextManager[Any]  # of forward passes
    model: nn.Module
    trained: Trained
    strategy: Strategy
    sharers: Team  # the processes that have other examples of the batch
    judges: Team  # those that evaluate other examples
    loss: build.Criterion
    share_of: Callable[[float], float]  # what the loss of a part of a batch counts for
    in_parts: bool  # whether batches come in parts, on several devices or one after the other
    factor: build.Schedule  # on lr, by step
    feed: Feed
    copies: bool  # batches come from the host
    channels_last: bool
    example: Tensor  # one, as the network sees it
    held_out: dict[str, Memory]
    composition: Composition
    width: int  # of the first batch, on this device
    total: int  # steps
    random_layers: list[Any]  # whose draws follow the step
    noise: Noise
    peaks: bool  # whether its memory can be told from that of earlier runs
    own_draws: tuple[int, ...]  # what sets the draws of torch's own random layers apart from those of other devices
    look_every: int  # steps after which the loss is looked at: on a GPU a look makes it wait


def set_up(run: Run, dataset: Dataset, folder: Path, cores: int | None, files: Files | None, team: Team) -> SetUp:
    target, dtype = device.resolve(run.device), precision.dtype(run.precision)
    precision.check(run.precision, target)
    device.prepare(target)
    precision.prepare(run.precision, target)
    peaks = peak.reset(target)
    model = build.model(run, dataset, folder, files).to(target, dtype)
    convolves = any(isinstance(layer, nn.Conv2d) for layer in model.modules())
    channels_last = run.channels_last if run.channels_last is not None else not run.model.own
    if channels_last := channels_last and convolves:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    random_layers = [layer for layer in model.modules() if hasattr(layer, "reseed")]
    strategy = build.strategy(run, team, folder)
    shown = look(run, dataset)
    held_out = loaders.held_out(dataset, target, dtype, channels_last, shown, copies=build.foreign(run))
    sharers = team if strategy.shards_data else ALONE
    in_parts = run.accumulate > 1 or sharers.size > 1 or strategy.parts > 1
    composition = Composition(run, len(dataset.train), sharers.rank, sharers.size)
    example = held_out["test"].chunk(0, 1)
    if run.sync_batch_norm:
        synced(model, sharers)
    model = strategy.place(model, example)
    width = -(-composition.width(0) // sharers.size)
    if run.threads:
        torch.set_num_threads(run.threads)
    elif cores is not None:
        torch.set_num_threads(suited_threads(model, example, width, cores))
    return SetUp(
        device=target,
        dtype=dtype,
        cast=precision.autocast(run.precision, target),
        model=model,
        trained=build.trained(run, model, dataset, folder, strategy.make),
        strategy=strategy,
        sharers=sharers,
        judges=team if strategy.whole_models else ALONE,
        loss=build.loss(run, folder),
        share_of=build.share_of(run, folder) if in_parts or run.noise_every else lambda share: share,
        in_parts=in_parts,
        factor=build.schedule(run, folder),
        feed=loaders.feed(run, dataset.train, target, dtype, channels_last, shown),
        copies=run.loader is not None,
        channels_last=channels_last,
        example=example,
        held_out=held_out,
        composition=composition,
        width=width,
        total=composition.total_steps(),
        random_layers=random_layers,
        noise=Noise(run, model, sharers, strategy.factor),
        peaks=peaks,
        own_draws=(team.rank,) if sharers.size > 1 else (),
        look_every=1 if target.type == "cpu" else 50,
    )
