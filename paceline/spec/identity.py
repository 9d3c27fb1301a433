"""What makes a run the same run: a hash of its non-default fields and a format number.

A field added later, at its default, changes no id. What the run was trained with (sources, data checksum,
versions, machine) is recorded beside the id, not in it.
"""

import hashlib
import json
from typing import Any

from paceline.spec.part import Part
from paceline.spec.run import Run

FORMAT = 1
_DEFAULTS = {name: field.default for name, field in Run.model_fields.items()}
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_REPEATS = ("seed", "trial")


def plain(run: Run) -> dict[str, Any]:
    """The run's non-default fields as plain values: what a study file would have to say."""
    said = {name: value for name, value in run.__dict__.items() if value is not _DEFAULTS[name]}
    return {name: _plain(value) for name, value in said.items() if value != _DEFAULTS[name]}


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.plain()
    return value.model_dump(mode="json", exclude_defaults=True) if hasattr(value, "model_dump") else value


def setting_hash(run: Run) -> Any:
    """The hash of everything but seed and trial, ready to be continued by `repeat_id`."""
    setting = {key: value for key, value in plain(run).items() if key not in _REPEATS}
    return hashlib.sha256(_canonical([FORMAT, setting]).encode())


def repeat_id(setting: Any, seed: int, trial: int = 0) -> str:
    digest = setting.copy()
    digest.update(f"|{seed}|{trial}".encode())
    return str(digest.hexdigest()[:16])


def run_id(run: Run) -> str:
    return repeat_id(setting_hash(run), run.seed, run.trial)
