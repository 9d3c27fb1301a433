"""A part: said in any of its ways, the same part is the same object; said wrongly, it is refused by name."""

import pytest

from paceline.spec.argument import ArgumentError
from paceline.spec.part import Part, read
from paceline.spec.parts import TABLE

from .conftest import Refused
from .studies import study

OPTIMIZERS = ", ".join(sorted(TABLE["optimizer"])) + "."


def test_equal_parts_are_equal() -> None:
    adam = read("optimizer", "adam")
    assert adam == read("optimizer", {"name": "adam"}) == read("optimizer", {"name": "adam", "beta2": 0.999})
    assert adam == read("optimizer", adam)
    assert hash(adam) == hash(read("optimizer", {"name": "adam", "beta1": 0.9}))
    assert adam.complete == {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}
    assert read("optimizer", {"name": "adam", "beta1": 0, "beta2": 0.5}) == read(
        "optimizer", {"beta2": 0.5, "name": "adam", "beta1": 0.0}
    )


@pytest.mark.parametrize(
    ("kind", "said", "shown"),
    [
        ("optimizer", "adam", "adam"),
        ("optimizer", {"name": "sgd", "momentum": 0.9, "nesterov": True}, "sgd(momentum=0.9, nesterov=true)"),
        ("model", {"name": "mlp", "widths": [32, 16]}, "mlp(widths=[32,16])"),
        ("model", {"name": "mlp", "activation": "tanh"}, "mlp(activation=tanh)"),
        (
            "model",
            {"name": "my_models:Net", "sizes": [[1, 2], [3]], "bias": False},
            "my_models:Net(bias=false, sizes=[[1,2],[3]])",
        ),
    ],
)
def test_a_part_says_itself(kind: str, said: object, shown: str) -> None:
    part = read(kind, said)
    assert str(part) == shown
    assert part.plain() == said
    assert read(kind, part.plain()) == part


def test_a_folder_has_a_short_name() -> None:
    part = read("data", "folder:~/my pictures/x")
    assert part == read("data", {"name": "folder", "path": "~/my pictures/x"})
    assert part == read("data", part.plain())
    assert not part.own
    assert read("data", {"name": "folder:C:/pictures", "size": 64}).complete == {
        "path": "C:/pictures",
        "size": 64,
        "test": 0.2,
        "validation": 0.1,
        "split_seed": 0,
    }
    assert read("model", "folder:net").own


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("folder", "data 'folder' needs the argument 'path'."),
        ("folder:", "'' is not a text."),
        ({"name": "folder:a", "path": "b"}, "the folder is said twice."),
        ({"name": "folder:a", "test": 0}, "0 is outside its range; allowed: above 0 and below 1."),
    ],
)
def test_a_folder_that_is_no_folder_is_refused(said: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}$"):
        read("data", said)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("my_models:Net", "my_models:Net"),
        ("my_models.Net", "my_models:Net"),
        ("lab.nets:Net", "lab.nets:Net"),
        ("lab.nets.Net", "lab.nets:Net"),
    ],
)
def test_a_dotted_path_is_the_users_own(name: str, path: str) -> None:
    part = read("model", name)
    assert part.own
    assert part.entry is None
    assert part.path == path
    assert part.complete == {}


def test_a_built_in_has_the_path_of_the_table() -> None:
    part = Part("optimizer", "adam")
    assert not part.own
    assert part.path == "paceline.optim.adam:adam"


@pytest.mark.parametrize("name", ["my models:Net", ":Net", "my_models:", "a..b:Net", "m:A.b", "../x:Net", "m:1x", ""])
def test_what_is_no_path_is_an_unknown_name(name: str) -> None:
    with pytest.raises(ArgumentError, match="unknown model"):
        read("model", name)


def test_a_class_is_said_by_its_name() -> None:
    with pytest.raises(ArgumentError, match=r"put it into a \.py file and say file:Part"):
        read("model", Part)
    with pytest.raises(ArgumentError, match=r"put it into a \.py file and say file:Part"):
        read("model", {"name": Part, "width": 3})


def test_own_data_may_follow_the_seed_by_the_names_that_ours_have() -> None:
    part = read("data", {"name": "my_data:spirals", "seed": "seed", "kind": "seed"})
    assert part.drawn(3).plain() == {"name": "my_data:spirals", "seed": 3, "kind": "seed"}
    assert part.undrawn.plain() == {"name": "my_data:spirals", "kind": "seed"}
    model = read("model", {"name": "my_file:Net", "seed": "seed"})
    assert model.drawn(3) is model


def test_an_own_argument_is_no_mapping() -> None:
    with pytest.raises(ArgumentError, match="an argument is a number, a word, true, false or a list of these"):
        read("model", {"name": "m:N", "x": [{"a": 1}]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            study(data="digit"),
            "3: base.data: unknown data 'digit'. Did you mean 'digits'? Allowed: caltech101, caltech256,",
        ),
        (
            study(optimizer="adma"),
            f"5: base.optimizer: unknown optimizer 'adma'. Did you mean 'adam'? Allowed: {OPTIMIZERS}",
        ),
        (
            study("compare:\n  optimizer:\n  - adam\n  - sgdd\n"),
            "11: compare.optimizer.1: unknown optimizer 'sgdd'. Did you mean 'sgd'?",
        ),
        (study("cases:\n  a: {loss: mes}\n"), "9: cases.a.loss: unknown loss 'mes'. Did you mean 'mse'?"),
        (
            study(model="{name: mlp, width: [3]}"),
            "4: base.model.width: model 'mlp' has no argument 'width'. Did you mean 'widths'? Allowed: activation, dropout, init, widths.",
        ),
        (
            study(optimizer="{name: gd, momentum: 1}"),
            "5: base.optimizer.momentum: optimizer 'gd' has no argument 'momentum'. Those that have it: momentum, muon, nesterov, rmsprop, sgd.",
        ),
        (
            study("compare:\n  optimizer: [adam, {name: adam, bta2: 0.3}]\n"),
            "9: compare.optimizer.1.bta2: optimizer 'adam' has no argument 'bta2'. Did you mean 'beta2'? Allowed: beta1, beta2, epsilon.",
        ),
        (
            study(optimizer="{name: adam, beta2: 1.5}"),
            "5: base.optimizer.beta2: 1.5 is outside its range; allowed: at least 0 and below 1.",
        ),
        (study(optimizer="{name: adam, beta2: .nan}"), "5: base.optimizer.beta2: nan is not a number."),
        (study(data="{name: digits, test: .inf}"), "3: base.data.test: inf is not a whole number."),
        (
            study(model="{name: mlp, activation: rely}"),
            "4: base.model.activation: unknown value 'rely'. Did you mean 'relu'? Allowed: gelu, relu, tanh.",
        ),
        (study(schedule="exponential"), "8: base.schedule: schedule 'exponential' needs the argument 'rate'."),
        (
            study(schedule="{name: exponential, rate: 0.5}"),
            "8: base.schedule: schedule 'exponential' needs the argument 'every'.",
        ),
        (study(optimizer="3"), "5: base.optimizer: 3 is no optimizer; say a name, or {name: ..., argument: ...}."),
        (study(optimizer="{beta2: 0.9}"), "5: base.optimizer: {'beta2': 0.9} is no optimizer; say a name"),
        (
            study(optimizer="[adam, gd]"),
            "5: base.optimizer: one value goes here, not a list; optimizer: [adam, gd] goes",
        ),
        (study(data="MNIST"), "3: base.data: unknown data 'MNIST'. Did you mean 'mnist'?"),
        (study(data="imagenet"), "3: base.data: unknown data 'imagenet'. Allowed: caltech101,"),
        (study(data="iris.csv"), "3: base.data: 'iris.csv' is a file; say a function of yours that reads it, as"),
        (study(loss="cross_entropy"), "8: base.loss: unknown loss 'cross_entropy'. Did you mean 'softmax_ce'?"),
        (
            study(optimizer="{name: adam, lr: 0.1}"),
            "5: base.optimizer.lr: optimizer 'adam' has no argument 'lr'. lr is a setting of the run: say it beside optimizer, not in it.",
        ),
        (
            study(optimizer='{name: "torch.optim.adam:Adam", learning_rate: 0.1}'),
            "5: base.optimizer.learning_rate: torch.optim.adam:Adam has no argument 'learning_rate'. lr is a setting of the run",
        ),
        (
            study(optimizer="{name: adam, weight_decay: 0.1}"),
            "5: base.optimizer.weight_decay: optimizer 'adam' has no argument 'weight_decay'. Those that have it: adamw, lion,",
        ),
        (study(optimizer__beta2="[0.9, 0.99]"), "8: base.optimizer.beta2: [0.9, 0.99] is not a number. Several values"),
        (study(model="__main__:Net"), "4: base.model: what a notebook or a script defines is not found again; put it"),
    ],
)
def test_a_wrong_part_is_refused(refused: Refused, text: str, message: str) -> None:
    assert refused(text).startswith(f"study.yaml:{message}")
