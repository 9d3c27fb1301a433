"""FTRL-Proximal (McMahan et al. 2013), as tf.compat.v1.train.FtrlOptimizer.

`l2` steadies the step, `l2_shrinkage` penalises the parameter's size; an entry whose gradients never exceed
`l1` becomes zero.
"""

import torch
from torch import Tensor

from paceline.optim.rule import Hyper, Rule, State, is_zero, plus


def _init(parameter: Tensor, hyper: Hyper) -> State:
    zeros = torch.zeros_like(parameter)
    return {"sum": zeros + hyper["initial_accumulator_value"], "linear": zeros}


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    lr, l1, power = hyper["lr"], hyper["l1"], -hyper["lr_power"]
    total = torch.addcmul(state["sum"], gradient, gradient)
    scale = total**power
    if not is_zero(hyper["l2_shrinkage"]):
        gradient = plus(gradient, 2 * hyper["l2_shrinkage"], parameter)
    linear = state["linear"] + torch.addcmul(gradient, (scale - state["sum"] ** power) / lr, parameter, value=-1)
    steadied = scale / lr if is_zero(hyper["l2"]) else scale / lr + 2 * hyper["l2"]
    if is_zero(l1):
        return -linear / steadied, {"sum": total, "linear": linear}
    solved = (l1 * linear.sign() - linear) / steadied
    return torch.where(linear.abs() > l1, solved, 0), {"sum": total, "linear": linear}


ftrl = Rule(_init, _update)
