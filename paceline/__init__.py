"""Paceline: declare a study, train it for real, get an answer with its evidence.

import paceline
study = paceline.load("quickstart")
results = paceline.run(study, out="runs")
results.table, results.runs, results.rows      # Polars tables
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paceline.api import Results, load, results, run
    from paceline.data.dataset import Dataset, Split
    from paceline.optim.rule import Rule

__version__ = "0.1.0"
__all__ = ["Dataset", "Results", "Rule", "Split", "load", "results", "run"]

_HOMES = {"Dataset": "paceline.data.dataset", "Split": "paceline.data.dataset", "Rule": "paceline.optim.rule"}


def __getattr__(name: str) -> Any:
    """Names are imported when first used: `import paceline` alone stays light."""
    if name in __all__:
        return getattr(import_module(_HOMES.get(name, "paceline.api")), name)
    raise AttributeError(f"module 'paceline' has no attribute '{name}'")
