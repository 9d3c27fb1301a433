"""Where a run that was broken off goes on from."""

import os
from pathlib import Path
from typing import Any

from paceline.errors import RecordError
from paceline.record.layout import PackFolder, cannot_write

CHECKPOINT_SECONDS = float(os.environ.get("PACELINE_CHECKPOINT_SECONDS", "30"))
RUN = ("model", "run")  # what a checkpoint of one run has


def save(file: Path, state: dict[str, Any]) -> None:
    from safetensors import SafetensorError

    from paceline.train import checkpoint

    try:
        checkpoint.save(file, state)
    except (OSError, SafetensorError) as error:
        raise cannot_write(file, error) from None


def load(file: Path, *kinds: tuple[str, ...]) -> dict[str, Any]:
    """A checkpoint that has what one of the kinds needs."""
    from paceline.train import checkpoint

    try:
        state = checkpoint.load(file)
        if any(all(key in state for key in ("data", "sources", *kind)) for kind in kinds):
            return state
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    raise RecordError(f"{file}: not a checkpoint of a run. Delete it and run again; the run starts anew.")


def resume(folder: PackFolder, origin: dict[str, Any]) -> dict[str, Any] | None:
    """The state to go on from; None if there is none of this run, or its data or own parts have changed since."""
    if not folder.checkpoint.exists():
        return None
    state = load(folder.checkpoint, RUN)
    changed = [key for key, value in origin.items() if state[key] != value]
    if changed and "run" not in changed:
        folder.checkpoint.unlink()
    return None if changed else state
