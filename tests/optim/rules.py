"""Every rule with a complete set of knobs, and a learning rate at which it learns in a few hundred steps."""

from typing import Any, NamedTuple

from paceline.optim.adadelta import adadelta
from paceline.optim.adagrad import adagrad
from paceline.optim.adam import adam
from paceline.optim.adamw import adamw
from paceline.optim.ftrl import ftrl
from paceline.optim.gd import gd
from paceline.optim.lion import lion
from paceline.optim.momentum import momentum
from paceline.optim.muon import muon
from paceline.optim.nesterov import nesterov
from paceline.optim.proximal_adagrad import proximal_adagrad
from paceline.optim.proximal_gd import proximal_gd
from paceline.optim.rmsprop import rmsprop
from paceline.optim.rule import Rule
from paceline.optim.schedule_free import schedule_free
from paceline.optim.sgd import sgd


class Case(NamedTuple):
    rule: Rule
    lr: float
    knobs: dict[str, Any]


_betas = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
_penalties = {"l1": 0.0, "l2": 0.0}
_start = {"initial_accumulator_value": 0.1}

RULES = {
    "gd": Case(gd, 0.05, {}),
    "momentum": Case(momentum, 0.02, {"momentum": 0.9}),
    "nesterov": Case(nesterov, 0.02, {"momentum": 0.9}),
    "adam": Case(adam, 0.05, {**_betas}),
    "rmsprop": Case(rmsprop, 0.02, {"decay": 0.9, "momentum": 0.0, "epsilon": 1e-10, "centered": False}),
    "adagrad": Case(adagrad, 0.2, {**_start}),
    "adadelta": Case(adadelta, 10.0, {"rho": 0.95, "epsilon": 1e-6}),
    "ftrl": Case(ftrl, 0.2, {"lr_power": -0.5, "l2_shrinkage": 0.0, **_start, **_penalties}),
    "proximal_gd": Case(proximal_gd, 0.05, {**_penalties}),
    "proximal_adagrad": Case(proximal_adagrad, 0.2, {**_start, **_penalties}),
    "sgd": Case(sgd, 0.05, {"momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False}),
    "adamw": Case(adamw, 0.05, {**_betas, "weight_decay": 0.01}),
    "lion": Case(lion, 0.01, {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0}),
    "muon": Case(
        muon,
        0.05,
        {"momentum": 0.95, "nesterov": True, "ns_steps": 5, "weight_decay": 0.0, **_betas, "beta2": 0.95},
    ),
    "schedule_free": Case(schedule_free, 0.1, {**_betas, "weight_decay": 0.0}),
}
