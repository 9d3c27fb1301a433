"""Arithmetic of the epoch: Python's own, less everything that is no arithmetic."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from paceline.spec.expression import MAX_LENGTH, batch_size, evaluate

from .conftest import Refused
from .studies import study

leaves = st.integers(0, 99).map(str) | st.sampled_from(["epoch", "0.5", "1e-3", "2."])


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Powers of powers in brackets: a tower of them has more digits than Python's whole numbers find room for."""
    operators = st.sampled_from(["+", "-", "*", "/", "//"])
    return (
        st.tuples(inner, operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
        | st.tuples(inner, st.sampled_from("23")).map(lambda t: f"({t[0]}) ** {t[1]}")
        | inner.map(lambda t: f"-{t}")
        | st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})")
    )


expressions = st.recursive(leaves, _deeper, max_leaves=12).filter(lambda text: len(text) <= MAX_LENGTH)


@given(expressions, st.integers(0, 1000))
def test_the_value_is_pythons(text: str, epoch: int) -> None:
    try:
        expected = float(eval(text, {"__builtins__": {}}, {"epoch": epoch, "min": min, "max": max}))
    except ArithmeticError:
        with pytest.raises(ValueError, match="has no value"):
            evaluate(text, epoch)
        return
    assume(abs(expected) < 1e15)
    assert evaluate(text, epoch) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.text(max_size=30))
def test_any_text_has_a_value_or_a_value_error(text: str) -> None:
    try:
        value = evaluate(text, 3)
    except ValueError:
        return
    assert math.isfinite(value)


@given(expressions, st.integers(0, 50))
def test_a_batch_is_a_whole_number_from_1(text: str, epoch: int) -> None:
    try:
        size = batch_size(text, epoch)
    except ValueError:
        return
    assert size == math.floor(evaluate(text, epoch)) >= 1


def test_a_number_is_itself() -> None:
    assert batch_size(32, 7) == 32
    assert [batch_size("30 + 10 * epoch", epoch) for epoch in range(3)] == [30, 40, 50]


NOT_ALLOWED = "is not allowed in an expression; allowed: numbers, epoch, + - * / // **, min(), max() and brackets."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, f"'{shown}' {NOT_ALLOWED}")
            for text, shown in (
                ("rounds", "rounds"),
                ("epoch.real", "epoch.real"),
                ("open(epoch)", "open(epoch)"),
                ("__import__(epoch)", "__import__(epoch)"),
                ("max(3)", "max(3)"),
                ("min(1, 2, key=3)", "min(1, 2, key=3)"),
                ("max(*epoch, 1)", "*epoch"),
                ("1 if epoch else 2", "1 if epoch else 2"),
                ("[1][0]", "[1][0]"),
                ("10 % 3", "10 % 3"),
                ("~1", "~1"),
                ("True", "True"),
                ("1j", "1j"),
                ("(lambda: 1)()", "(lambda: 1)()"),
            )
        ),
        ("9**9**9", "the expression '9**9**9' has no value at epoch 0: math range error."),
        ("(-1)**0.5", "the expression '(-1)**0.5' has no value at epoch 0: -1 ** 0.5 is no real number."),
        ("max(1, (-1)**0.5)", "the expression 'max(1, (-1)**0.5)' has no value at epoch 0"),
        ("1/epoch", "the expression '1/epoch' has no value at epoch 0: division by zero."),
        ("9/(2 - epoch)", "the expression '9/(2 - epoch)' has no value at epoch 2: division by zero."),
        ("1e400", "the expression '1e400' is not finite at epoch 0."),
        ("-epoch - 3", "the batch '-epoch - 3' is -3 at epoch 0; a batch holds at least 1 example."),
        ("20 - 10 * epoch", "the batch '20 - 10 * epoch' is 0 at epoch 2; a batch holds at least 1 example."),
        ("30 +", "cannot read the expression '30 +'; allowed: numbers, epoch"),
        ("", "cannot read the expression ''; allowed: numbers, epoch"),
        ("(" * 150, "cannot read the expression '((("),
        (f"{'1+' * 100}1", "an expression has at most 200 characters, this one 201."),
    ],
)
def test_what_is_no_batch_is_refused(refused: Refused, text: str, message: str) -> None:
    said = refused(study(steps=None, batch=f'"{text}"', epochs="4"))
    assert said.startswith(f"study.yaml:7: base.batch: {message}")


def test_only_the_epoch_asked_for_counts() -> None:
    assert evaluate("1/(epoch - 1)", 0) == -1
