"""(a) One softmax layer on MNIST: 9 optimizers x 8 learning rates x 500 steps, all test images every 50 steps."""

import importlib
import statistics
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from bench import gemm, ours
from bench.peers.work import BATCH, CLASSES, PIXELS, Images, Setting
from bench.ratio import alternate, ratio
from bench.table import Line, Section
from paceline.data.locate import Files
from paceline.data.sources.idx import mnist

OPTIMIZERS = ("gd", "momentum", "nesterov", "adagrad", "adadelta", "adam", "rmsprop", "ftrl", "proximal_adagrad")
RATES = (0.5, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001)
STEPS, EVALUATE_EVERY = 500, 50
RUNS = len(OPTIMIZERS) * len(RATES)
STUDY: dict[str, Any] = {
    "name": "softmax",
    "base": {
        "data": {"name": "mnist", "validation": 0},
        "model": "softmax",
        "batch": BATCH,
        "steps": STEPS,
        "evaluate_every": EVALUATE_EVERY,
    },
    "compare": {"optimizer": list(OPTIMIZERS)},
    "tune": {"lr": list(RATES)},
    "select": "test",
    "repeat": 1,
}
TARGETS = {"tight": 10.0, "loader": 15.0, "ray_tune": 10.0}
ABOUT = {
    "tight": "a tight hand-written loop: gather by index, fused optimizers, no sync",
    "loader": "a plain loop over DataLoader",
    "ray_tune": "Ray Tune: the tight loop in each trial, 2 at once, actors reused, start-up not counted",
    "optuna_": "Optuna: the tight loop in each trial, 2 at once, in memory",
    "lightning_": "Lightning, barebones",
    "keras_": "Keras 3 on torch",
}
GEMM_SHARE = 0.4


def images() -> Images:
    data = mnist(Files.search(), validation=0)
    return Images(data.train.x.flatten(1), data.train.y, data.test.x.flatten(1), data.test.y)


def peers() -> tuple[dict[str, ModuleType], list[str]]:
    """Those that are installed, and what is said of the others."""
    found, missing = {}, []
    for name, about in ABOUT.items():
        try:
            found[name] = importlib.import_module(f"bench.peers.{name}")
        except ImportError as error:
            missing.append(f"Not measured, because it is not installed: {about} ({error.name}).")
    return found, missing


def flops() -> float:
    """Operations that the work needs: forward and the gradient of the weights in each step, forward on every test
    image at each evaluation."""
    weights = PIXELS * CLASSES
    return RUNS * (4.0 * weights * BATCH * STEPS + 2.0 * weights * 10_000 * (STEPS // EVALUATE_EVERY))


def section(rounds: int) -> Section:
    data = images()
    found, notes = peers()
    settings = [Setting(name, RATES[place % len(RATES)]) for place, name in enumerate(OPTIMIZERS)]
    peaks: list[float] = []

    def peer(name: str, module: ModuleType) -> float:
        if name != "ray_tune":
            return float(module.sweep(settings, data, STEPS, EVALUATE_EVERY).seconds) / len(settings)
        module.start()  # and stopped again, so that its servers do not run beside the others
        try:
            return float(module.sweep(settings * 2, data, STEPS, EVALUATE_EVERY).seconds) / len(settings) / 2
        finally:
            module.stop()

    def mine() -> float:
        peaks.append(gemm.peak())
        return ours.seconds(STUDY) / RUNS

    contestants: dict[str, Callable[[], float]] = {
        "ours": mine,
        **{name: partial(peer, name, module) for name, module in found.items()},
    }
    seconds = alternate(contestants, rounds)
    share = [flops() / (one * RUNS) / peak for one, peak in zip(seconds["ours"], peaks[1:], strict=True)]
    reached = ratio([1.0] * len(share), share)
    notes.append(
        f"Of the machine's best matrix product, {statistics.median(peaks) / 1e9:.0f} GFLOP/s, the sweep reaches "
        f"{reached.value:.0%} ({reached.low:.0%} to {reached.high:.0%}) counting useful operations; target "
        f"{GEMM_SHARE:.0%}: {reached.verdict(GEMM_SHARE)}."
    )
    notes.append(
        f"Paceline trains all {RUNS} runs as one stack through the same path as `paceline run`, records included; a "
        f"peer trains {len(settings)} of them ({2 * len(settings)} for Ray Tune), one of each optimizer, and its "
        "seconds are divided by their number. Start-up, imports and loading of data count for nobody."
    )
    lines = [
        Line(ABOUT[name], ratio(seconds["ours"], seconds[name]), TARGETS.get(name), seconds["ours"], seconds[name])
        for name in found
    ]
    title = f"(a) softmax on MNIST: {RUNS} runs x {STEPS} steps"
    return Section(title, "s a run", lines, notes)
