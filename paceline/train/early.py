"""Early stopping, on validation where there is one, else on test."""

from typing import Any

import torch

from paceline.data.dataset import Dataset
from paceline.errors import StudyError
from paceline.spec.run import EarlyStop
from paceline.train.evaluate import Score
from paceline.train.parallel.team import Team


class Stopper:
    """Says why a run should end now, if it should."""

    def __init__(self, rule: EarlyStop | None) -> None:
        self._rule = rule
        self._best: float | None = None
        self._waited = 0

    def state(self) -> dict[str, Any]:
        return {"best": self._best, "waited": self._waited}

    def load(self, state: dict[str, Any]) -> None:
        self._best, self._waited = state["best"], state["waited"]

    def needs(self, dataset: Dataset) -> None:
        """StudyError where there will never be what it waits for."""
        if self._rule is not None and self._rule.metric == "accuracy" and dataset.classes is None:
            raise StudyError(f"{dataset.name} has values, and so no accuracy; say metric: loss.", key="early_stop")

    def agreed(self, scores: dict[str, Score], team: Team, device: torch.device) -> str | None:
        """The first process's verdict, for all: where each evaluates by itself, scores may differ in their last digits,
        and one that stopped alone would leave the others waiting."""
        if self._rule is None:
            return None
        own = self.verdict(scores)
        return own or "the first process stops" if team.agreed(int(own is not None), device) else None

    def verdict(self, scores: dict[str, Score]) -> str | None:
        if self._rule is None:
            return None
        split = "validation" if "validation" in scores else "test"
        value = getattr(scores[split], self._rule.metric)
        if value is None:
            return None
        better = self._better(value, self._rule.target if self._rule.target is not None else self._best)
        if self._rule.target is not None:
            reached = better or value == self._rule.target
            return (
                f"{split} {self._rule.metric} {value:.4g} reached the target {self._rule.target:g}" if reached else None
            )
        self._waited = 0 if better else self._waited + 1
        self._best = value if better else self._best
        if self._waited < (self._rule.patience or 0):
            return None
        return f"{split} {self._rule.metric} no better for {self._waited} evaluations (best {self._best:.4g})"

    def _better(self, value: float, than: float | None) -> bool:
        if than is None or self._rule is None:
            return True
        return value < than if self._rule.metric == "loss" else value > than
