"""What every run of a study shares, and what each case adds: with its axes, a run's whole configuration."""

import json
from typing import Any

from paceline.plan.expand import expand
from paceline.spec import Part, Study
from paceline.spec.run import FIELDS


def shared(study: Study) -> dict[str, str]:
    """The fields that are the same in all runs, defaults included, as words."""
    runs = {id(trial.axes): trial.run for trial in expand(study, own_parts=False)}
    values: dict[str, set[Any]] = {
        name: {getattr(run, name) for run in runs.values()} for name in FIELDS if name != "seed"
    }
    return {name: _words(next(iter(found))) for name, found in values.items() if len(found) == 1}


def cases(study: Study) -> dict[str, str]:
    return {name: json.dumps(case) for name, case in study.cases.items()}


def _words(value: Any) -> str:
    if isinstance(value, Part):
        inside = ", ".join(f"{key}: {_words(inner)}" for key, inner in value.complete.items())
        return f"{value.name} ({inside})" if inside else value.name
    if isinstance(value, tuple):
        return f"[{', '.join(map(_words, value))}]"
    if hasattr(value, "model_dump"):
        return ", ".join(f"{key} {_words(inner)}" for key, inner in value.model_dump().items())
    return "none" if value is None else str(value)
