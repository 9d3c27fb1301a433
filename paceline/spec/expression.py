"""Safe arithmetic for values that follow the epoch, such as `30 + 10 * epoch`."""

import ast
import math
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any

MAX_LENGTH = 200


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except ValueError:
        raise ArithmeticError(f"{base:g} ** {exponent:g} is no real number") from None


_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: _power,
}
_UNARY: dict[type, Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max}
ALLOWED = "numbers, epoch, + - * / // **, min(), max() and brackets"


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ValueError(f"an expression has at most {MAX_LENGTH} characters, this one {len(text)}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"cannot read the expression {text!r}; allowed: {ALLOWED}") from None


def _walk(node: ast.expr, epoch: int) -> Any:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id="epoch"):
            return epoch
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_walk(operand, epoch))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_walk(left, epoch), _walk(right, epoch))
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_walk(a, epoch) for a in args))
    raise ValueError(f"'{ast.unparse(node)}' is not allowed in an expression; allowed: {ALLOWED}")


def evaluate(text: str, epoch: int) -> float:
    """The expression's value at an epoch (counted from 0); ValueError where it has none."""
    try:
        value = float(_walk(_parse(text), epoch))
        if not math.isfinite(value):
            raise ValueError(f"the expression {text!r} is not finite at epoch {epoch}")
        return value
    except ArithmeticError as error:
        raise ValueError(f"the expression {text!r} has no value at epoch {epoch}: {error}") from None


def batch_size(batch: int | str, epoch: int) -> int:
    """The whole number of examples in a batch of this epoch."""
    size = batch if isinstance(batch, int) else math.floor(evaluate(batch, epoch))
    if size < 1:
        raise ValueError(f"the batch {batch!r} is {size} at epoch {epoch}; a batch holds at least 1 example")
    return size
