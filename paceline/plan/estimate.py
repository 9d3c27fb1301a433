"""The estimate that is printed before anything runs: minutes, memory, disk."""

from collections.abc import Mapping
from dataclasses import dataclass

from paceline.plan.cost import PACK_BYTES, PROCESS_SECONDS, ROW_BYTES, Cost
from paceline.plan.packs import Pack


@dataclass(frozen=True)
class Estimate:
    runs: int
    packs: int
    steps: int
    minutes: float
    memory_gb: float
    disk_mb: float
    unknown: int  # runs whose size is known only when they are built
    measured: int  # finished runs by which the minutes were corrected


def estimate(
    packs: list[Pack],
    costs: Mapping[str, Cost | None],
    *,
    jobs: int = 1,
    measured: Mapping[str, float] | None = None,
    seconds: float | None = None,
    kept: Mapping[str, int] | None = None,
) -> Estimate:
    """`measured`: wall seconds of finished runs that trained in a row; their ratio to the model corrects the rest.
    `seconds`: of all packs together, where they have been worked out already. `kept`: by run, steps that are made."""
    ids = [trial.id for pack in packs for trial in pack.trials]
    known = [cost for run in ids if (cost := costs.get(run))]
    factor, count = _correction(costs, measured or {})
    rows = sum(cost.rows for cost in known)
    start = PROCESS_SECONDS if known else 0.0
    at_once = max(1, min(jobs, len(packs)))
    if seconds is None:
        seconds = sum(cost.seconds for cost in known) / at_once
    steps = sum(cost.steps for cost in known)
    left = steps - sum(min(made, cost.steps) for run, made in (kept or {}).items() if (cost := costs.get(run)))
    return Estimate(
        runs=len(ids),
        packs=len(packs),
        steps=left,
        minutes=(start + seconds * factor * (left / steps if steps else 1.0)) / 60,
        memory_gb=max((_bytes(pack, costs) for pack in packs), default=0.0) * at_once / 2**30,
        disk_mb=(rows * ROW_BYTES + len(packs) * PACK_BYTES) / 2**20,
        unknown=len(ids) - len(known),
        measured=count,
    )


def _bytes(pack: Pack, costs: Mapping[str, Cost | None]) -> float:
    known = [cost for trial in pack.trials if (cost := costs.get(trial.id))]
    most = max((cost.bytes for cost in known), default=0.0)
    return most + sum(cost.stack_bytes for cost in known) if pack.stacked else most


def _correction(costs: Mapping[str, Cost | None], measured: Mapping[str, float]) -> tuple[float, int]:
    pairs = [(seconds, cost.seconds) for run, seconds in measured.items() if (cost := costs.get(run))]
    expected = sum(model for _, model in pairs)
    return (sum(actual for actual, _ in pairs) / expected, len(pairs)) if expected else (1.0, 0)
