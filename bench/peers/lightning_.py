"""Lightning's Trainer in its barebones mode, over in-memory batches: its fastest settings that still validate."""

import logging
import time
from collections.abc import Callable, Iterator, Sequence

import torch.nn.functional as F
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, nn
from torch.optim import Optimizer

from bench.peers.loader import Softmax
from bench.peers.optimizers import build
from bench.peers.tight import batches
from bench.peers.work import Images, Point, Setting, Sweep, check, one_by_one

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


Batch = tuple[Tensor, Tensor]


class Loader:
    """Lightning takes any iterable: this one hands out whole batches, which a DataLoader puts together from rows."""

    def __init__(self, batches: Callable[[], Iterator[Batch]]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()


class Module(LightningModule):  # type: ignore[misc]
    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting, self.model = setting, Softmax()
        self.found: list[tuple[int, Tensor, Tensor]] = []

    def configure_optimizers(self) -> Optimizer:
        return build(self.setting.optimizer, list(self.model.parameters()), self.setting.lr)

    def training_step(self, batch: Batch, index: int) -> Tensor:
        x, y = batch
        return F.cross_entropy(self.model(x), y)

    def validation_step(self, batch: Batch, index: int) -> None:
        x, y = batch
        logits = self.model(x)
        accuracy = (logits.argmax(1) == y).float().mean()
        self.found.append((self.global_step, F.cross_entropy(logits, y), accuracy))


def sweep(settings: Sequence[Setting], data: Images, steps: int, evaluate_every: int) -> Sweep:
    return one_by_one(settings, lambda setting: train(setting, data, steps, evaluate_every))


def train(setting: Setting, data: Images, steps: int, evaluate_every: int) -> list[Point]:
    check(steps, evaluate_every)
    module = Module(setting)
    trainer = Trainer(
        accelerator="cpu",
        devices=1,
        barebones=True,  # no logger, checkpoints, progress bar, summary, sanity check
        max_steps=steps,
        val_check_interval=evaluate_every,
        check_val_every_n_epoch=None,
    )
    test = (data.test_x, data.test_y)
    trainer.fit(module, Loader(lambda: batches(data)), Loader(lambda: iter([test])))
    return [Point(step, loss.item(), accuracy.item()) for step, loss, accuracy in module.found]


class Steps(LightningModule):  # type: ignore[misc]
    """Any network, trained and not looked at."""

    def __init__(self, model: nn.Module, optimizer: Callable[..., Optimizer]) -> None:
        super().__init__()
        self.model, self.optimizer = model, optimizer
        self.begun = self.taken = 0.0

    def configure_optimizers(self) -> Optimizer:
        return self.optimizer(self.model.parameters())

    def training_step(self, batch: Batch, index: int) -> Tensor:
        x, y = batch
        return F.cross_entropy(self.model(x), y)

    def on_train_start(self) -> None:
        self.begun = time.perf_counter()

    def on_train_end(self) -> None:
        self.taken = time.perf_counter() - self.begun


def steps(
    model: nn.Module, optimizer: Callable[..., Optimizer], batches: Callable[[], Iterator[Batch]], count: int
) -> float:
    """Seconds of this many steps; what the Trainer does before and after them is not counted."""
    module = Steps(model, optimizer)
    trainer = Trainer(accelerator="cpu", devices=1, barebones=True, max_steps=count)
    trainer.fit(module, Loader(batches))
    return module.taken
