"""What makes a run the same run: a hash of its non-default fields and a format number.

A field added later, at its default, changes no id. What the run was trained with (sources, data checksum,
versions, machine) is recorded beside the id, not in it.
"""

import functools
import hashlib
import json
from typing import Any

from paceline.spec.part import Part
from paceline.spec.run import Run

FORMAT = 1
_DEFAULTS = {name: field.default for name, field in sorted(Run.model_fields.items())}
_SETTING = {name: default for name, default in _DEFAULTS.items() if name != "seed"}


def plain(run: Run) -> dict[str, Any]:
    """The run's non-default fields as plain values: what a study file would have to say."""
    return {name: _plain(value) for name, value in run.__dict__.items() if value != _DEFAULTS[name]}


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return value.plain()
    return value.model_dump(mode="json", exclude_defaults=True) if hasattr(value, "model_dump") else value


def setting_hash(run: Run) -> Any:
    """The hash of everything but the seed, ready to be continued by `repeat_id`."""
    said = run.__dict__
    words = [_word(name, said[name]) for name, default in _SETTING.items() if said[name] is not default]
    return hashlib.sha256(f"{FORMAT};{''.join(words)}".encode())


def _word(name: str, value: Any) -> str:
    own = isinstance(value, Part) and value.own  # 1 and 1.0 are one key to a cache, but two arguments to own code
    return _spell(name, value) if own else _spell_once(name, value)


def _spell(name: str, value: Any) -> str:
    return "" if value == _DEFAULTS[name] else f"{name}={json.dumps(_plain(value), sort_keys=True)};"


_spell_once = functools.lru_cache(maxsize=100_000)(_spell)


def repeat_id(setting: Any, seed: int) -> str:
    digest = setting.copy()
    digest.update(f"{seed};0".encode())  # the 0 is in every id that was ever given
    return str(digest.hexdigest()[:16])


def run_id(run: Run) -> str:
    return repeat_id(setting_hash(run), run.seed)
