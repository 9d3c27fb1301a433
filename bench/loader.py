"""(f) Images a second, flipped and cropped, of CIFAR-10 in memory: the memory loader beside DataLoader's workers."""

import statistics
import time
from functools import partial
from itertools import islice

import torch
from torch.utils.data import DataLoader

from bench.peers import pictures
from bench.ratio import alternate, ratio
from bench.table import Line, Section
from paceline.data.batches import Composition
from paceline.data.dataset import Dataset
from paceline.data.locate import Files
from paceline.data.memory import Memory
from paceline.data.show import Look
from paceline.data.sources.cifar import cifar10
from paceline.spec import Run
from paceline.train.look import levels

BATCH, CROP, WORKERS = 128, 4, 2
RUN = Run(
    data={"name": "cifar10", "validation": 0},
    model="resnet18",
    optimizer="sgd",
    lr=0.1,
    batch=BATCH,
    augment={"flip": "horizontal", "crop": CROP},
    epochs=1,
)
TARGETS = {"usual": 10.0, "fast": 10.0}
ABOUT = {
    "usual": f"DataLoader, {WORKERS} workers: each sample padded, cut, flipped and normalised, with tensors",
    "fast": f"DataLoader, {WORKERS} workers, tuned by hand: padded once, cut as numpy views, normalised by the batch",
    "alone": "DataLoader, tuned by hand, without workers",
}


def memory(data: Dataset) -> Memory:
    """As the plain loop makes it for a network of convolutions."""
    return Memory(data.train, torch.device("cpu"), torch.float32, True, Look(None, *levels(data)), RUN.augment)


def ours(loader: Memory) -> float:
    """Seconds of one pass over all images."""
    composition = Composition(RUN, len(loader))
    begun = time.perf_counter()
    for _ in islice(loader.batches(composition, 0), composition.total_steps()):
        pass
    return time.perf_counter() - begun


def peer(loader: DataLoader[pictures.Sample]) -> float:
    begun = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - begun


def section(rounds: int) -> Section:
    data = cifar10(Files.search(), validation=0)
    given = (data.train.x, data.train.y, levels(data), CROP)
    mine = memory(data)
    loaders = {
        "usual": pictures.loader(pictures.Usual(*given), BATCH, WORKERS),
        "fast": pictures.loader(pictures.Fast(*given), BATCH, WORKERS),
        "alone": pictures.loader(pictures.Fast(*given), BATCH, 0),
    }
    contestants = {name: partial(peer, one) for name, one in loaders.items()}
    seconds = alternate({"ours": partial(ours, mine), **contestants}, rounds)
    each = {name: [one / len(data.train) * 1e6 for one in taken] for name, taken in seconds.items()}
    lines = [
        Line(ABOUT[name], ratio(seconds["ours"], seconds[name]), TARGETS.get(name), each["ours"], each[name])
        for name in loaders
    ]
    rates = {name: f"{1e6 / statistics.median(taken):,.0f}" for name, taken in each.items()}
    notes = [
        f"Images a second: {rates['ours']} by the memory loader, {rates['usual']} and {rates['fast']} by DataLoader "
        f"with {WORKERS} workers, {rates['alone']} without. Nothing is trained; a pass is {len(data.train):,} images, "
        "and the workers live on from pass to pass."
    ]
    return Section(f"(f) images in memory, flipped and cropped, batch {BATCH}", "µs an image", lines, notes)
