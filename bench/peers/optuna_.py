"""Optuna: a study in memory over a grid of the settings, the tight loop in each trial, two trials in threads."""

import time
from collections.abc import Sequence

import optuna
import torch
from optuna.samplers import GridSampler

from bench.peers import tight
from bench.peers.work import TOGETHER, Images, Setting, Sweep

optuna.logging.set_verbosity(optuna.logging.WARNING)


def sweep(settings: Sequence[Setting], data: Images, steps: int, evaluate_every: int) -> Sweep:
    threads = torch.get_num_threads()
    try:
        return _sweep(settings, data, steps, evaluate_every)
    finally:
        torch.set_num_threads(threads)


def _sweep(settings: Sequence[Setting], data: Images, steps: int, evaluate_every: int) -> Sweep:
    def objective(trial: optuna.Trial) -> float:
        torch.set_num_threads(1)  # faster than two for each of two trials
        setting = settings[trial.suggest_int("setting", 0, len(settings) - 1)]
        curve = tight.train(setting, data, steps, evaluate_every)
        trial.set_user_attr("curve", curve)
        return curve[-1].accuracy

    begun = time.perf_counter()
    sampler = GridSampler({"setting": list(range(len(settings)))})
    study = optuna.create_study(direction="maximize", sampler=sampler)
    accuracy: dict[int, float] = {}
    while len(accuracy) < len(settings):  # two threads may draw the same point of the grid
        study.optimize(objective, n_trials=len(settings) - len(accuracy), n_jobs=TOGETHER)
        accuracy = {trial.params["setting"]: trial.value for trial in study.trials}
    return Sweep(time.perf_counter() - begun, [accuracy[i] for i in range(len(settings))])
