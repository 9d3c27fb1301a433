"""Which runs this machine cannot train as they say, and why."""

from collections.abc import Iterable

from paceline.execute import members
from paceline.plan.expand import Trial
from paceline.record.machine import usable_cores
from paceline.spec import Run

_ASKING = ("device", "precision", "loader", "threads", "compile", "fused", "devices")
_USUAL = [(name, Run.model_fields[name].default) for name in _ASKING]  # what any machine can do


def unable(trials: Iterable[Trial]) -> dict[str, str]:
    """Reasons by run. Only runs that ask for something unusual are looked at: that needs torch."""
    asking = [trial for trial in trials if any(getattr(trial.run, name) != usual for name, usual in _USUAL)]
    if not asking:
        return {}
    from paceline.train.hardware import lacking

    cores, started = usable_cores(), members.processes()
    reasons = {trial.id: lacking(trial.run, cores, started) for trial in asking}
    return {run: reason for run, reason in reasons.items() if reason}
