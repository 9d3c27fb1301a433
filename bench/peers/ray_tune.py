"""Ray Tune: the tight loop in each trial, one CPU a trial, actors kept from trial to trial.

`start` before the first sweep and `stop` after the last: neither is on the clock. Every Tuner brings up its own
worker processes, which import torch: the clock starts when the first of them is ready to train.
"""

import logging
import os
import tempfile
import time
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

os.environ |= {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # no CSV, JSON and TensorBoard files of each trial
}

import ray
import torch
from ray import tune

from bench.peers import tight
from bench.peers.work import TOGETHER, Images, Setting, Sweep

STORE = 1_000_000_000  # bytes

logging.getLogger("ray.tune").setLevel(logging.ERROR)


def start() -> None:
    ray.init(
        num_cpus=TOGETHER,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=STORE,
        logging_level=logging.ERROR,
        log_to_driver=False,
    )


def stop() -> None:
    _put.cache_clear()
    ray.shutdown()


def sweep(settings: Sequence[Setting], data: Images, steps: int, evaluate_every: int) -> Sweep:
    stored = _put(data)

    def trial(config: dict[str, Any]) -> None:
        _warm_up()
        begun = time.monotonic()
        curve = tight.train(settings[config["setting"]], _get(stored), steps, evaluate_every)
        tune.report({"begun": begun, "accuracy": curve[-1].accuracy, "curve": curve})

    with tempfile.TemporaryDirectory() as folder:
        called = time.monotonic()
        results = tune.Tuner(
            tune.with_resources(trial, {"cpu": 1}),
            param_space={"setting": tune.grid_search(list(range(len(settings))))},
            tune_config=tune.TuneConfig(reuse_actors=True),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        ).fit()
        ended = time.monotonic()
    if results.errors:
        raise results.errors[0]
    begun = min(result.metrics["begun"] for result in results)
    accuracy = {result.config["setting"]: result.metrics["accuracy"] for result in results}
    return Sweep(ended - begun, [accuracy[i] for i in range(len(settings))], begun - called)


@cache
def _warm_up() -> None:
    """Torch imports a part of itself at the first step of a process."""
    tight.train_line(Setting("adam", 0.1), 1, 1)


@cache
def _put(data: Images) -> list[Any]:
    """Arrays, once: the workers read them where they lie, in shared memory."""
    return [ray.put(part.numpy()) for part in (data.train_x, data.train_y, data.test_x, data.test_y)]


def _get(stored: list[Any]) -> Images:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        return Images(*(torch.from_numpy(part) for part in ray.get(stored)))
