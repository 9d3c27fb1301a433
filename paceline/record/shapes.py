"""The shapes of what records say, so that one that was edited by hand is named where it is read."""

from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[Any], bool]


def text(value: Any) -> bool:
    return isinstance(value, str)


def count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def number(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, float) or (whole and abs(value) < 2**63)


def listed(shape: Shape) -> Shape:
    return lambda value: isinstance(value, list) and all(map(shape, value))


def named(shape: Shape) -> Shape:
    """Values by name, each of which may be missing."""
    return lambda value: isinstance(value, dict) and all(each is None or shape(each) for each in value.values())


def mapping(shapes: Mapping[str, Shape]) -> Shape:
    return lambda value: isinstance(value, dict) and misfit(value, shapes) is None


def misfit(said: Mapping[str, Any], shapes: Mapping[str, Shape]) -> str | None:
    """The first value that is not of its shape, by its name; what is missing or null fits."""
    return next((key for key, fits in shapes.items() if said.get(key) is not None and not fits(said[key])), None)
