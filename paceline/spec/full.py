"""Whether what is trained is the full study: by what its file says, and by what is left of that after --scale and
--set."""

from typing import Any

from paceline.spec.document import mapping
from paceline.spec.run import Run

READ_BY = {"measure": "accuracy", "select": "validation"}  # how runs are timed and read, and what that is unsaid
_UNSAID = {name: field.default for name, field in Run.model_fields.items()}


def within(now: Any, full: Any) -> bool:
    """Whether every setting of the one study is a setting of the other: the same base, and of its cases and of the
    values of its axes no others. Seeds are none of its business."""
    now, full = mapping(now), mapping(full)
    return (
        all(now.get(key, unsaid) == full.get(key, unsaid) for key, unsaid in READ_BY.items())
        and _base(now) == _base(full)
        and _axes_within(now.get("compare"), full.get("compare"))
        and _axes_within(now.get("tune"), full.get("tune"))
        and _cases_within(mapping(now.get("cases")), mapping(full.get("cases")))
    )


def alike(one: Any, other: Any) -> bool:
    """Whether two studies have the same settings."""
    return within(one, other) and within(other, one)


def _cases_within(now: dict[str, Any], full: dict[str, Any]) -> bool:
    if not now or not full:
        return not now and not full
    return all(name in full and _case_within(mapping(case), mapping(full[name])) for name, case in now.items())


def _case_within(now: dict[str, Any], full: dict[str, Any]) -> bool:
    fixed = [_key({key: value for key, value in case.items() if key != "tune"}) for case in (now, full)]
    return bool(fixed[0] == fixed[1]) and _axes_within(now.get("tune"), full.get("tune"))


def _axes_within(now: Any, full: Any) -> bool:
    now, full = mapping(now), mapping(full)
    if "sample" in now or "sample" in full:
        return _samples_within(now, full)
    return now.keys() == full.keys() and all(_values(now[key]) <= _values(full[key]) for key in now)


def _samples_within(now: dict[str, Any], full: dict[str, Any]) -> bool:
    """Of the same axes in the same order, fewer samples are the first of the more."""
    same = [[(key, _key(value)) for key, value in axes.items() if key != "sample"] for axes in (now, full)]
    few, many = now.get("sample"), full.get("sample")
    return same[0] == same[1] and isinstance(few, int) and isinstance(many, int) and few <= many


def _base(study: dict[str, Any]) -> Any:
    """What it says of a run, without what a run is unsaid."""
    said = mapping(study.get("base")).items()
    return _key({key: value for key, value in said if key != "seed" and _key(value) != _key(_UNSAID.get(key, ...))})


def _values(axis: Any) -> set[Any]:
    return {_key(value) for value in axis} if isinstance(axis, list) else {_key(axis)}


def _key(value: Any) -> Any:
    """Equal where two values say the same: 1 and 1.0 do, 1 and true do not."""
    if isinstance(value, dict):
        return frozenset((key, _key(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return tuple(map(_key, value))
    return isinstance(value, bool), value
