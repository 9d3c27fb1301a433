"""What more devices would do, by the mechanism of a step: what was measured on this machine, put into the simulator."""

import math
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import polars as pl

from paceline.analyse.scaling import STRONG, WEAK
from paceline.analyse.simulate import MIB, Exchange, Layers, Link, Machine, simulate
from paceline.errors import StudyError
from paceline.execute.anatomy import Anatomy, Costs, Work
from paceline.plan.expand import expand
from paceline.spec import Run, Study, run_id
from paceline.spec.expression import batch_size

PAYLOAD = 1448 / 1514  # of an Ethernet frame's bytes
NONE = Link(0.0, math.inf)  # a link that never counts: what hosts cost is all
POWERSGD_WORTH, POWERSGD_CALLS, ONE_BUCKET_MB = 2, 3, 4000  # as torch's hook and our DDP have them
SCALING = {"global": STRONG, "per_device": WEAK}
Measure = Callable[[Run, int, tuple[int, ...]], Anatomy]  # with so many examples alone, and so many each together
Algorithm = Literal["ring", "tree", "hierarchical"]

_BITS = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9}
_BYTES = {"b": 8, "kb": 8e3, "mb": 8e6, "gb": 8e9, "kib": 8 * 2**10, "mib": 8 * 2**20, "gib": 8 * 2**30}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_RATE = re.compile(r"([\d.]+)\s*([A-Za-z]+)(?:/s|ps)", re.ASCII)
_TIME = re.compile(r"([\d.]+)\s*([a-zµ]+)")


@dataclass(frozen=True)
class Links:
    """What is stated of the machines asked about; where nothing is, all devices are as the one measured."""

    between: Link = NONE  # of a whole node to others
    within: Link | None = None
    per_node: int = 1
    algorithm: Algorithm = "ring"


def link(said: str) -> Link:
    """A link as a user says it: "10 Gbit/s, 50 us". Bits with bit, bytes with B; without a latency it has none."""
    rate, _, wait = (part.strip() for part in said.partition(","))
    found, timed = _RATE.fullmatch(rate), _TIME.fullmatch(wait) if wait else None
    unit = found[2] if found else ""
    factor = _BYTES.get(unit.lower()) if unit.endswith("B") else _BITS.get(unit.lower())
    try:
        bits = float(found[1]) * factor if found and factor else 0.0
        latency = float(timed[1]) * _SECONDS[timed[2]] if timed else 0.0
    except (KeyError, ValueError):
        bits = 0.0
    if bits <= 0 or (wait and not timed):
        raise StudyError(f"'{said}' is no link; say its rate and latency, as 10 Gbit/s, 50 us or 12 GB/s, 2 us.")
    return Link(latency, bits / 8 * PAYLOAD)


def layers(work: Work) -> Layers:
    return Layers(work.backward_seconds, work.gradient_bytes, work.forward_seconds, work.optimizer_seconds, work.batch)


def machine(costs: Costs, links: Links, jitter: float = 0.0) -> Machine:
    """Hosts as measured, links as stated. On a CPU the exchange needs the cores that compute."""
    within = links.within or (NONE if links.per_node > 1 else None)
    return Machine(
        links.between,
        within,
        links.per_node,
        call_seconds=costs.call_seconds,
        host_seconds_per_byte=costs.seconds_per_byte,
        stolen=1.0 if costs.on_cores else 0.0,
        jitter=jitter,
    )


def exchange(strategy: Mapping[str, Any], work: Work, algorithm: Algorithm = "ring") -> Exchange:
    """How our DDP exchanges such tensors. What packing costs is in the work, for it was measured with it."""
    compress = strategy["compress"]
    cap = (ONE_BUCKET_MB if compress == "powersgd" else strategy["bucket_mb"]) * MIB
    first = MIB if cap == Exchange.bucket_bytes else cap
    if compress == "powersgd":
        low = sum(_low_rank(shape, strategy["rank"]) for shape in work.shapes)
        whole = sum(math.prod(shape) for shape in work.shapes)
        return Exchange(algorithm, cap, cap, compression=whole / low, calls=POWERSGD_CALLS)
    return Exchange(algorithm, cap, first, compression=1.0 if compress == "none" else 2.0)


def _low_rank(shape: Sequence[int], rank: int) -> int:
    """Numbers that PowerSGD sends of a tensor: two thin matrices, or all of it where they are no smaller."""
    whole = math.prod(shape)
    if len(shape) < 2:
        return whole
    rows, columns = shape[0], whole // shape[0]
    low = min(rank, rows, columns) * (rows + columns)
    return low if low * POWERSGD_WORTH < whole else whole


class Forecast(NamedTuple):
    """Of one setting and one way of scaling."""

    setting: str  # in words; empty where there is but one
    scaling: str
    table: pl.DataFrame  # devices, batch, step_seconds, samples_per_second, exposed_seconds, utilisation, speedup
    checks: pl.DataFrame  # devices, predicted, measured, miss_percent: of this machine, where runs are recorded
    costs: Costs


def forecast(
    setting: str,
    runs: list[tuple[str, Run]],
    counts: Sequence[int],
    measure: Measure,
    links: Links,
    speeds: Mapping[str, float],
) -> Forecast:
    """Of the runs of one setting, by id; StudyError where it is not in the model.

    `measure`: what a step is made of here. `links`: what is stated of the machines asked about. `speeds`: by run, the
    examples a second recorded here, to check the simulator by; they are held against this machine as it is, without
    the stated links.
    """
    run = runs[0][1]
    _refuse(run)
    measured = sorted({each.devices for name, each in runs if name in speeds})
    found = _anatomy(run, [*counts, *measured], measure)
    table = predict(run, found, counts, links)
    return Forecast(setting, SCALING[run.batch_mode], table, _checks(run, found, runs, speeds), found.costs)


def predict(run: Run, found: Anatomy, counts: Sequence[int], links: Links) -> pl.DataFrame:
    """devices, batch, step_seconds, samples_per_second, exposed_seconds, utilisation, speedup: a line a count."""
    several = [count for count in counts if count > 1]
    works = found.together or (found.alone,)
    large, *small = map(layers, works)
    how = exchange(run.strategy.complete, works[0], links.algorithm)
    single = simulate(layers(found.alone), Machine(NONE), how, 1)
    tables = [single] if 1 in counts else []
    if several:
        one = machine(found.costs, links, works[0].jitter)
        shares = [share(run, count) for count in several]
        tables.append(simulate(large, one, how, several, batch=shares, other=small[0] if small else None))
    table = pl.concat(tables).select(
        "devices", "batch", "step_seconds", "samples_per_second", "exposed_seconds", "utilisation"
    )
    base = single["samples_per_second"][0]
    return table.with_columns((pl.col("samples_per_second") / base).alias("speedup")).sort("devices")


def share(run: Run, devices: int) -> float:
    """Examples of a step that each of so many devices has."""
    whole = _batch(run)
    return float(whole) if run.batch_mode == "per_device" else whole / devices


def _batch(run: Run) -> int:
    return batch_size(run.batch, 0) if isinstance(run.batch, str) else int(run.batch)


def _anatomy(run: Run, counts: Sequence[int], measure: Measure) -> Anatomy:
    """Measured with the largest and the smallest share of the batch that the counts give a device."""
    most = max(counts)
    if share(run, most) < 1:
        raise StudyError(f"a batch of {_batch(run)} leaves some of {most} devices without an example.", key="batch")
    shares = [share(run, count) for count in counts if count > 1] or [share(run, 1)]
    together = tuple(sorted({math.ceil(max(shares)), math.floor(min(shares))}, reverse=True))
    return measure(run, _batch(run), together)


def settings(study: Study) -> Iterator[tuple[str, list[tuple[str, Run]]]]:
    """In words, with all its runs: those that differ in devices and seed alone, and in what a seed may draw of data."""
    groups: dict[Any, tuple[str, list[tuple[str, Run]]]] = {}
    for trial in expand(study, own_parts=False):
        plain = trial.run.model_copy(update={"devices": 1, "seed": 0, "data": trial.run.data.undrawn})
        key = (run_id(plain), *(str(value) for name, value in trial.axes.items() if name.startswith("data")))
        axes = [f"{name} {value}" for name, value in trial.axes.items() if name not in ("devices", "batch_mode")]
        words = ", ".join(filter(None, [trial.case, *axes]))
        groups.setdefault(key, (words, []))[1].append((trial.id, trial.run))
    yield from groups.values()


def _refuse(run: Run) -> None:
    if run.strategy.name != "ddp":
        raise StudyError(f"a step by {run.strategy.name} is not in the model; only ddp is.", key="strategy")
    if run.sync_batch_norm:
        raise StudyError("what synced batch norms send is not in the model; say false.", key="sync_batch_norm")
    if run.precision == "fp16":
        raise StudyError("steps that fp16 skips are not in the model; say bf16.", key="precision")


def speeds_of(recorded: pl.DataFrame | None) -> dict[str, float]:
    """Examples a second by run, of those that may be timed."""
    if recorded is None or "samples_per_second" not in recorded.columns:
        return {}
    timed = recorded.filter(pl.col("timing") == "exclusive") if "timing" in recorded.columns else recorded
    return dict(timed.select("run", "samples_per_second").drop_nulls().unique("run").iter_rows())


def _checks(run: Run, found: Anatomy, runs: list[tuple[str, Run]], speeds: Mapping[str, float]) -> pl.DataFrame:
    """The simulator against this machine's recorded runs."""
    measured: dict[int, list[float]] = {}
    for name, each in runs:
        if name in speeds:
            measured.setdefault(each.devices, []).append(speeds[name])
    schema = {"devices": pl.Int64, "predicted": pl.Float64, "measured": pl.Float64, "miss_percent": pl.Float64}
    if not measured:
        return pl.DataFrame(schema=schema)
    counts = sorted(measured)
    said = predict(run, found, counts, Links())["samples_per_second"].to_list()
    seen = [statistics.median(measured[count]) for count in counts]
    misses = [100 * (one / other - 1) for one, other in zip(said, seen, strict=True)]
    return pl.DataFrame([counts, said, seen, misses], schema=schema)
