"""Whether there is a value to try beyond one that was tried, by what a run reads."""

import functools
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from paceline.spec import Run
from paceline.spec.argument import ArgumentError
from paceline.spec.run import GROUPS, PARTS

_COUNTED = ("epochs",)  # read as any number, tried as a whole one
_NEAR = 1e-3  # as a share: a value next to another


def beyond(run: Run, axis: str, value: float, *, above: bool) -> bool:
    """Whether the run may have a larger (smaller) value on this axis. Nothing is tried below 0, nor below one epoch."""
    if value == 0:
        return False
    head, _, rest = axis.removeprefix("axis.").partition(".")
    held = getattr(run, head)
    if head in PARTS:
        arg = held.entry.args.get(rest) if held.entry else None
        return arg is None or _reads(arg.read, _next(value, above, arg.type == "integer"), rest)
    whole = head in _COUNTED or isinstance(getattr(held, rest) if rest and held is not None else held, int)
    return _reads(_adapter(head, rest).validate_python, _next(value, above, whole))


def _next(value: float, above: bool, whole: bool) -> float:
    step = 1 if whole else _NEAR * abs(value)
    return value + step if above else value - step


def _reads(read: Any, *said: Any) -> bool:
    try:
        read(*said)
    except (ArgumentError, ValidationError):
        return False
    return True


@functools.cache
def _adapter(head: str, rest: str) -> TypeAdapter[Any]:
    field = GROUPS[head].model_fields[rest] if rest else Run.model_fields[head]
    return TypeAdapter(Annotated[field.annotation, *field.metadata, None])  # type: ignore[arg-type]
