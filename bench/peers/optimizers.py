"""The optimizers of the sweeps in torch, each in its fastest form for a few small tensors on a CPU.

That is `fused` where torch has it, else the plain form: `foreach` pays on a GPU, and was slower here.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.optim import SGD, Adadelta, Adagrad, Adam, Optimizer, RMSprop


class Ftrl(Optimizer):
    """FTRL-Proximal (McMahan et al. 2013) without penalties, at lr_power -0.5; `linear` is lr times the paper's z."""

    def __init__(self, params: Sequence[Tensor], lr: float, initial_accumulator_value: float = 0.1) -> None:
        super().__init__(params, {"lr": lr, "initial_accumulator_value": initial_accumulator_value})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter] or self._begin(parameter, group["initial_accumulator_value"])
                total, root, linear = state["sum"], state["root"], state["linear"]
                total.addcmul_(parameter.grad, parameter.grad)
                before, state["root"] = root, total.sqrt()
                linear.add_(parameter.grad, alpha=group["lr"]).addcmul_(before.sub_(state["root"]), parameter)
                torch.div(linear, state["root"], out=parameter).neg_()
        return loss

    def _begin(self, parameter: Tensor, start: float) -> dict[str, Tensor]:
        total = torch.full_like(parameter, start)
        state = {"sum": total, "root": total.sqrt(), "linear": torch.zeros_like(parameter)}
        self.state[parameter] = state
        return state


_gd = partial(SGD, fused=True)
_adagrad = partial(Adagrad, initial_accumulator_value=0.1, fused=True)

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "gd": _gd,
    "momentum": partial(SGD, momentum=0.9, fused=True),
    "nesterov": partial(SGD, momentum=0.9, nesterov=True, fused=True),
    "adagrad": _adagrad,
    "adadelta": partial(Adadelta, rho=0.95, eps=1e-8),
    "adam": partial(Adam, fused=True),
    "rmsprop": partial(RMSprop, alpha=0.9),
    "ftrl": Ftrl,
    "proximal_gd": _gd,  # without penalties it is gd
    "proximal_adagrad": _adagrad,  # without penalties it is adagrad
}


def build(name: str, parameters: Sequence[Tensor], lr: float) -> Optimizer:
    if name not in OPTIMIZERS:
        raise ValueError(f"no optimizer {name!r}; there are {', '.join(OPTIMIZERS)}")
    return OPTIMIZERS[name](parameters, lr=lr)
