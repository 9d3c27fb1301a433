"""Random small studies: whatever the runs of a stack are, each has the curve it has alone."""

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.data.dataset import Dataset, Split
from paceline.spec import Run
from paceline.spec.parts import TABLE

from .together import LR, assert_each_as_alone, run_of

NUMBERS = {
    "beta1": (0.5, 0.9),
    "beta2": (0.9, 0.999),
    "decay": (0.5, 0.9),
    "dampening": (0.0, 0.3),
    "epsilon": (1e-8, 1e-3),
    "initial_accumulator_value": (0.1, 0.5),
    "l1": (0.0, 1e-3),
    "l2": (0.0, 0.01),
    "l2_shrinkage": (0.0, 0.01),
    "lr_power": (-0.5, -0.7),
    "momentum": (0.0, 0.5, 0.9),
    "rho": (0.5, 0.95),
    "weight_decay": (0.0, 0.1),
    "alpha": (0.25, 0.7),
    "gamma": (0.0, 2.0),
    "label_smoothing": (0.0, 0.1, 0.4),
    "pos_weight": (0.5, 2.0),
}


def _dataset(classes: int) -> Dataset:
    draw = torch.Generator().manual_seed(classes)

    def split(count: int) -> Split:
        y = torch.randint(0, classes, (count,), generator=draw)
        return Split(torch.randn(count, 4, generator=draw) + y[:, None], y)

    return Dataset("drawn", split(61), split(17), split(23), classes, "")


DATA = {classes: _dataset(classes) for classes in (2, 3)}


@st.composite
def optimizers(draw: st.DrawFn, wild: bool) -> dict[str, Any]:
    """With its learning rate, which may be one to diverge at."""
    name = draw(st.sampled_from(sorted(TABLE["optimizer"])))
    said: dict[str, Any] = {"name": name}
    for key, arg in TABLE["optimizer"][name].args.items():
        if arg.type == "flag":
            said[key] = draw(st.booleans())
        elif arg.type == "number":
            said[key] = draw(st.sampled_from(NUMBERS[key]))
    if said.get("nesterov") and name == "sgd":
        said |= {"momentum": 0.9, "dampening": 0.0}
    factor = draw(st.sampled_from([0.1, 1.0, 2.0, *([1e120] if wild else [])]))
    return {"optimizer": said, "lr": LR.get(name, 0.1) * factor}


@st.composite
def models(draw: st.DrawFn, widths: list[int] | None, loss: str, optimizer: str) -> dict[str, Any]:
    """The kappa of outputs that are all alike is flat, its gradient nothing but rounding; and lion, which moves every
    weight by the same, leaves outputs that begin alike in exact ties: no model that begins so is drawn for them."""
    flat = loss == "weighted_kappa" or optimizer == "lion"
    if widths is None:
        return {
            "name": "softmax",
            "init": draw(st.sampled_from(["normal", "torch", *([] if flat else ["zeros"])])),
        }
    rate = draw(st.sampled_from([0.0, 0.0, 0.3, *([] if flat else [1.0])]))
    init = draw(st.sampled_from(["kaiming", "torch", "truncated_normal"]))
    return {"name": "mlp", "widths": widths, "activation": "tanh", "dropout": rate, "init": init}


@st.composite
def studies(draw: st.DrawFn) -> tuple[int, list[Run]]:
    """A number of classes, and two to six runs with all in common that a stack needs, the rest as it comes."""
    epochs = draw(st.booleans())
    widths = draw(st.sampled_from([None, [5], [6, 4]]))
    loss = draw(st.sampled_from(sorted(set(TABLE["loss"]) - {"sum_squares"})))
    shared = {
        "batch": draw(st.sampled_from([7, 10, 61, "4 + 3 * epoch"])),
        "order": draw(st.sampled_from(["file", "shuffle", "random"])),
        "subset": draw(st.sampled_from([None, 25, {"size": 25, "redraw": "epoch"}])),
    }
    runs = []
    for _ in range(draw(st.integers(2, 6))):
        free = TABLE["loss"][loss].stacks
        knobs = {key: draw(st.sampled_from((1e-6, 0.1) if key == "epsilon" else NUMBERS[key])) for key in free}
        if loss == "sigmoid_focal_ce":
            knobs["from_logits"] = True
        length = {"steps": None, "epochs": draw(st.sampled_from([0.4, 1, 1.5]))} if epochs else {}
        said = {
            "steps": draw(st.integers(1, 12)),
            **length,
            "loss": {"name": loss, **knobs},
            "seed": draw(st.integers(0, 2)),
            "schedule": draw(st.sampled_from(["constant", "cosine", {"name": "exponential", "rate": 0.5, "every": 3}])),
            "warmup": draw(st.sampled_from([0, 0, 1, 4])),
            "evaluate_every": draw(st.sampled_from([None, 1, 3, 5, "epoch"])),
            "early_stop": draw(st.sampled_from([None, None, {"patience": 2, "metric": "loss"}, {"target": 0.8}])),
            "clip_norm": draw(st.sampled_from([None, None, 0.1, 1.0])),
            "clip_value": draw(st.sampled_from([None, None, 0.05])),
        }
        wild = loss != "weighted_kappa" and said["clip_norm"] is said["clip_value"] is None
        said |= draw(optimizers(wild))
        said["model"] = draw(models(widths, loss, said["optimizer"]["name"]))
        runs.append(run_of(**shared | said))
    return draw(st.sampled_from(sorted(DATA))), runs


@settings(max_examples=60, deadline=None)
@given(studies())
def test_every_run_of_a_stack_has_the_curve_it_has_alone(study: tuple[int, list[Run]]) -> None:
    classes, runs = study
    assert_each_as_alone(runs, DATA[classes])
