"""RMSProp (Hinton 2012; centered: Graves 2013), as tf.compat.v1.train.RMSPropOptimizer.

The mean square starts at one, and `epsilon` stands under the root.
"""

import torch
from torch import Tensor

from paceline.optim.rule import Hyper, Rule, State, is_zero, plus, rounded


def _init(parameter: Tensor, hyper: Hyper) -> State:
    state = {"square": torch.ones_like(parameter), "velocity": torch.zeros_like(parameter)}
    return state | {"mean": torch.zeros_like(parameter)} if hyper["centered"] else state


def _update(gradient: Tensor, state: State, parameter: Tensor, hyper: Hyper) -> tuple[Tensor, State]:
    weight = 1 - rounded(hyper["decay"], parameter.dtype)
    new = {"square": torch.lerp(state["square"], gradient * gradient, weight)}
    variance = new["square"]
    if hyper["centered"]:
        new["mean"] = torch.lerp(state["mean"], gradient, weight)
        variance = variance - new["mean"] * new["mean"]
    root = (variance + hyper["epsilon"]).sqrt()
    step = hyper["lr"] * gradient / root
    new["velocity"] = step if is_zero(hyper["momentum"]) else plus(step, hyper["momentum"], state["velocity"])
    return parameter - new["velocity"], new


rmsprop = Rule(_init, _update)
