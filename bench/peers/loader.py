"""The plain loop of a tutorial: an nn.Module, DataLoaders, and the loss of every step kept as a number."""

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from bench.peers.optimizers import build
from bench.peers.work import BATCH, CLASSES, PIXELS, Images, Point, Setting, Sweep, check, one_by_one

TEST_BATCH = 1000


class Softmax(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(PIXELS, CLASSES)
        nn.init.zeros_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.linear(x)
        return logits


def sweep(settings: Sequence[Setting], data: Images, steps: int, evaluate_every: int) -> Sweep:
    return one_by_one(settings, lambda setting: train(setting, data, steps, evaluate_every))


def train(setting: Setting, data: Images, steps: int, evaluate_every: int) -> list[Point]:
    check(steps, evaluate_every)
    train_loader = DataLoader(TensorDataset(data.train_x, data.train_y), batch_size=BATCH, shuffle=True)
    test_loader = DataLoader(TensorDataset(data.test_x, data.test_y), batch_size=TEST_BATCH)
    model = Softmax()
    optimizer = build(setting.optimizer, list(model.parameters()), setting.lr)
    losses: list[float] = []
    points: list[Point] = []
    while len(losses) < steps:
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
            if len(losses) % evaluate_every == 0:
                points.append(evaluate(model, test_loader, len(losses)))
            if len(losses) == steps:
                break
    return points


@torch.no_grad()
def evaluate(model: nn.Module, test_loader: Iterable[tuple[Tensor, Tensor]], step: int) -> Point:
    model.eval()
    loss, hits, count = 0.0, 0, 0
    for x, y in test_loader:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        hits += int((logits.argmax(1) == y).sum().item())
        count += len(y)
    model.train()
    return Point(step, loss / count, hits / count)
