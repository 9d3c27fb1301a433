"""Studies from plain mappings."""

from pathlib import Path
from typing import Any

from paceline.spec import Study
from paceline.spec.document import Document
from paceline.spec.study import from_document

BASE = {"data": "digits", "model": "softmax", "optimizer": "adam", "lr": 0.1, "steps": 10}


def study(*, base: dict[str, Any] | None = None, **said: Any) -> Study:
    return from_document(Document("<mapping>", {"name": "trial", "base": {**BASE, **(base or {})}, **said}), Path())
