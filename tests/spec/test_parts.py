"""The table of parts, and how one argument is read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.spec.argument import REQUIRED, Arg, ArgumentError, flag, integer, number, share, word
from paceline.spec.part import read
from paceline.spec.parts import TABLE
from paceline.spec.run import PARTS

ENTRIES = [(kind, name) for kind in TABLE for name in TABLE[kind]]
DEFAULTS = [
    (kind, name, key)
    for kind, name in ENTRIES
    for key, arg in TABLE[kind][name].args.items()
    if arg.default is not REQUIRED
]


def test_the_kinds_are_the_parts_of_a_run() -> None:
    assert tuple(TABLE) == PARTS == ("data", "model", "loss", "optimizer", "schedule", "strategy")


@pytest.mark.parametrize(("kind", "name", "key"), DEFAULTS)
def test_a_default_lies_in_its_own_range(kind: str, name: str, key: str) -> None:
    arg = TABLE[kind][name].args[key]
    default = arg.read(arg.default, key)
    assert default == arg.default
    assert type(default) is type(arg.default)


@pytest.mark.parametrize(("kind", "name", "key"), DEFAULTS)
def test_saying_a_default_is_saying_nothing(kind: str, name: str, key: str) -> None:
    some = {"integers": [1], "text": "x"}
    needed = {k: some.get(a.type, 1) for k, a in TABLE[kind][name].args.items() if a.default is REQUIRED}
    quiet = read(kind, {"name": name, **needed})
    assert read(kind, {"name": name, **needed, key: quiet.complete[key]}) == quiet


@given(st.floats(0, 1) | st.integers(0, 1))
def test_a_number_is_read_as_a_float(value: float) -> None:
    read_value = number(0.5, low=0, high=1).read(value, "x")
    assert type(read_value) is float
    assert read_value == value
    assert str(read_value) != "-0.0"


@pytest.mark.parametrize(
    ("arg", "value", "message"),
    [
        (number(1.0), "1", "'1' is not a number."),
        (number(1.0), True, "True is not a number."),
        (number(1.0), None, "None is not a number."),
        (number(1.0), float("nan"), "nan is not a number."),
        (number(1.0), float("inf"), "inf is not a number."),
        (number(1.0, low=0), -1, "-1 is outside its range; allowed: at least 0."),
        (number(1.0, low=0, above=True), 0, "0 is outside its range; allowed: above 0."),
        (number(1.0, low=0, high=1), 1.5, "1.5 is outside its range; allowed: at least 0 and at most 1."),
        (share(0.9), 1, "1 is outside its range; allowed: at least 0 and below 1."),
        (share(0.9, above=True), 0, "0 is outside its range; allowed: above 0 and below 1."),
        (number(-0.5, high=0), 1, "1 is outside its range; allowed: at most 0."),
        (integer(1), 1.5, "1.5 is not a whole number."),
        (integer(1), float("inf"), "inf is not a whole number."),
        (integer(1), float("nan"), "nan is not a whole number."),
        (integer(1, low=1), 0, "0 is outside its range; allowed: at least 1."),
        (flag(True), 1, "1 is not true or false."),
        (flag(True), "no", "'no' is not true or false."),
        (word("relu", "tanh"), "rellu", "unknown value 'rellu'. Did you mean 'relu'? Allowed: relu, tanh."),
        (word("relu", "tanh"), ["relu"], "unknown value ['relu']. "),
        (Arg("text"), 5, "5 is not a text."),
        (Arg("text"), " ", "' ' is not a text."),
        (Arg("integers", (1,), low=1), 5, "5 is not a list of numbers."),
        (Arg("integers", (1,), low=1), [], "[] is not a list of numbers."),
        (Arg("integers", (1,), low=1), [3, 0], "0 is outside its range; allowed: at least 1."),
        (Arg("numbers", (1.0,), high=1), [0.5, 2], "2 is outside its range; allowed: at most 1."),
    ],
)
def test_a_wrong_value_is_refused(arg: Arg, value: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as error:
        arg.read(value, "knob")
    assert str(error.value).startswith(message)
    assert error.value.key == "knob"


def test_right_values() -> None:
    assert integer(1).read(1e3, "x") == 1000
    assert flag(False).read(True, "x") is True
    assert word("a", "b").read("b", "x") == "b"
    assert Arg("text").read("~/my pictures", "x") == "~/my pictures"
    assert Arg("integers", low=1).read([3, 2.0], "x") == (3, 2)
    assert Arg("number").range == "any"
