"""Which settings are whole numbers, so that a range of them has nothing between."""

from collections.abc import Sequence
from typing import Any, get_args

from paceline.spec.argument import Entry
from paceline.spec.run import GROUPS, PARTS, Run

_ALONE = {"subset": "subset.size", "loader": "loader.workers"}  # what a number alone says of them


def is_whole(key: str, parts: Sequence[Entry | None] = ()) -> bool:
    """Whether a setting, or what a dotted key reaches, is. `parts`: those it may reach into, None for the user's own,
    of whose arguments nothing is known."""
    head, _, inner = _ALONE.get(key, key).partition(".")
    if head in PARTS:
        args = [part.args.get(inner) if part else None for part in parts]
        return bool(args) and all(arg is not None and arg.type == "integer" for arg in args)
    fields = GROUPS[head].model_fields if inner else Run.model_fields
    field = fields.get(inner or head)
    return field is not None and _is_int(field.annotation)


def _is_int(annotation: Any) -> bool:
    """int, or a union that has it and no float."""
    inner = get_args(annotation)
    return annotation is int or (float not in inner and any(_is_int(each) for each in inner))
