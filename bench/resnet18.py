"""(e) One resnet18 run on CIFAR-10, batch 128, SGD with momentum: the same loops over a network of 18 layers."""

import dataclasses
from functools import partial

import torch

from bench import loops
from bench.peers.resnet import ResNet18
from bench.table import Section
from paceline.data.dataset import Split
from paceline.data.locate import Files
from paceline.data.sources.cifar import cifar10
from paceline.spec import Run
from paceline.train.look import levels

BATCH, STEPS, LR, MOMENTUM = 128, 2, 0.01, 0.9
IMAGES = 10_000  # of the 50,000: the loops hold them as floats
RUN = Run(
    data="cifar10",
    model={"name": "resnet18", "stem": "small"},
    optimizer={"name": "sgd", "momentum": MOMENTUM},
    lr=LR,
    batch=BATCH,
    steps=STEPS,
    evaluate_every=STEPS,
)


def work() -> loops.Work:
    full = cifar10(Files.search())
    train = Split(full.train.x[:IMAGES], full.train.y[:IMAGES])
    few = Split(full.test.x[:10], full.test.y[:10])  # the clock stops for evaluation: keep it short
    data = dataclasses.replace(full, train=train, validation=None, test=few)
    mean, deviation = (torch.tensor(level).view(3, 1, 1) for level in levels(data))
    x = (train.x.float() / 255 - mean) / deviation
    return loops.Work(RUN, data, x, ResNet18, partial(torch.optim.SGD, lr=LR, momentum=MOMENTUM))


def section(rounds: int) -> Section:
    lines, notes = loops.measured(work(), rounds)
    title = f"(e) one resnet18 run on CIFAR-10, batch {BATCH}, SGD with momentum"
    notes.append("The loops hold floats, normalised once; Paceline holds bytes, and makes floats of each batch.")
    return Section(title, "s a step", lines, notes)
