"""The loader most people train with: torch's DataLoader, every example decoded, changed and shown by itself.

It gives the batches that the memory loader gives: what is drawn for an example is a function of seed, step and index,
whichever process draws it.
"""

import signal
import warnings
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from paceline.data.augment import augmented
from paceline.data.batches import Batch, Composition
from paceline.data.dataset import Split
from paceline.data.draws import key
from paceline.data.show import Look, Show, answers, are_pictures
from paceline.spec.run import Augment, Loader

Place = tuple[int, int]  # an example's index, and the key of what is drawn for its batch


class Samples(Dataset[tuple[Tensor, Tensor]]):
    """Single examples as the network sees them. Images that come from files are decoded each time."""

    def __init__(self, split: Split, dtype: torch.dtype, look: Look, augment: Augment | None) -> None:
        self._split, self._dtype, self._augment = split, dtype, augment
        pictures = are_pictures(split, look, augment)
        example = split.x[:1].permute(0, 2, 3, 1) if pictures else split.x
        self._show = Show(look, example, torch.device("cpu"), dtype, False) if pictures else None
        self._y = answers(split, dtype)

    def __getitem__(self, place: Place) -> tuple[Tensor, Tensor]:
        index, drawn = place
        x = self._split.decode(index) if self._split.decode else self._split.x[index]
        if self._show is None:
            return x.to(self._dtype), self._y[index]
        image = x.permute(1, 2, 0).unsqueeze(0)
        if self._augment is not None:
            image = augmented(image.contiguous(), self._augment, drawn, torch.tensor([index]))
        return self._show(image)[0].clone(), self._y[index]


class _Epochs:
    """Gives an epoch's batches each time it is iterated over, and remembers what it gave."""

    def __init__(self, composition: Composition, start: int) -> None:
        self._seed, self._batches = composition.run.seed, composition.batches(start)
        self.given: deque[Batch] = deque()

    def __iter__(self) -> Iterator[list[Place]]:
        for batch in self._batches:
            self.given.append(batch)
            drawn = key(self._seed, "augment", batch.step)
            yield [(index, drawn) for index in batch.indices.tolist()]
            if batch.ends_epoch:
                return


class Workers:
    """Batches on the host, gathered by as many processes as are asked for."""

    def __init__(self, split: Split, dtype: torch.dtype, look: Look, augment: Augment | None, said: Loader) -> None:
        self._samples, self._said = Samples(split, dtype, look, augment), said

    def batches(self, composition: Composition, start: int) -> Generator[tuple[Batch, Tensor, Tensor]]:
        epochs, several = _Epochs(composition, start), self._said.workers > 0
        with _any_number_of_workers():
            loader = DataLoader(
                self._samples,
                batch_sampler=epochs,
                num_workers=self._said.workers,
                pin_memory=self._said.pin_memory,
                prefetch_factor=self._said.prefetch if several else None,
                persistent_workers=self._said.persistent and several,
                collate_fn=_together,
                worker_init_fn=_leave_signals,
            )
        while True:
            with _any_number_of_workers():
                epoch = iter(loader)
            for x, y in epoch:
                yield epochs.given.popleft(), x, y


@contextmanager
def _any_number_of_workers() -> Iterator[None]:
    """torch warns of more workers than cores, when a loader is made and when it starts; they are what is measured."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create", UserWarning)
        yield


def _together(examples: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    x, y = zip(*examples, strict=True)
    return torch.stack(x), torch.stack(y)


def _leave_signals(worker: int) -> None:
    """Ctrl-C is for the process that trains; being ended is for each, whatever handler it was born with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
