"""What more devices bought, in tables."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.ratios import medians
from paceline.analyse.scaling import (
    REFERENCE,
    REFUSED,
    STRONG,
    WEAK,
    WORTH,
    costs,
    epoch_differences,
    quickest,
    speedups,
    stable_epochs,
    usable,
)
from paceline.report.columns import spoken, whole
from paceline.report.names import counted
from paceline.report.results import shown
from paceline.report.scaling.runs import SPLIT, Scaled
from paceline.report.sheet import Sheet

SPEED, GOAL, TURNAROUND = "samples_per_second", "seconds_to_target", "turnaround"
ENDS = ("", "_low", "_high")
KINDS = "strong: the batch of all devices stays the same; weak: that of each device does."
_SCALING = pl.when(pl.col("batch_mode") == "global").then(pl.lit(STRONG)).otherwise(pl.lit(WEAK)).alias("scaling")
_SHARES = {"compute": "compute %", "exposed": "exposed communication %", "loader": "loader %", "copy": "copy %",
           "other": "other %"}  # fmt: skip


def tables(found: Scaled, price: float | None = None) -> Iterator[Sheet]:
    """`price`: of a device-hour, for the table of costs."""
    for make in (_speedup, _goal_speedup, _quickest, _split, _epochs_to_goal, _serial, _differences):
        yield from make(found)
    if price is not None:
        yield from _costs(found, price)


def _speedup(found: Scaled) -> Iterator[Sheet]:
    table = speedups(found.runs, found.keys, of=SPEED)
    note = (
        "Examples a second: median over seeds; speedup: to the fewest devices, seed by seed, with its 95 % interval; "
        "efficiency: speedup over what as many times the devices would give at best. "
        f"A gain has its interval above 1, and its speedup above {WORTH:g} and the machine's noise. "
    )
    names = {"median": "examples a second"}
    yield Sheet("speedup", "What more devices gain", f"{note}{KINDS}{_refused(table)}", _gained(found, table, names))


def _goal_speedup(found: Scaled) -> Iterator[Sheet]:
    if found.goal is None or not _reached(found):
        return
    table = speedups(found.runs, found.keys, of=GOAL)
    note = (
        f"Seconds of training to {found.goal.said} ({found.goal.meaning}): median over seeds; speedup and efficiency "
        f"as for examples a second, with the change in the number of examples needed in them.{_refused(table)}"
    )
    shown_ = _gained(found, table, {"median": "seconds"})
    yield Sheet("speedup-goal", f"How much sooner {found.goal.said} is reached", note, shown_)


def _reached(found: Scaled) -> bool:
    """Whether the time to the goal may be compared for any count."""
    return usable(found.runs, found.keys, of=GOAL)[0].height > 0


def _gained(found: Scaled, table: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    more = pl.col("stands") != REFERENCE
    speedup = [pl.when(more).then(f"speedup{end}").alias(f"speedup{end}") for end in ENDS]
    percent = [pl.when(more).then((100 * pl.col(f"efficiency{end}")).round(1)) for end in ENDS]
    titled = [share.alias(f"efficiency{end.replace('_', ' ')} %") for share, end in zip(percent, ENDS, strict=True)]
    said = table.select(*found.keys, "scaling", "devices", "n", "median", *speedup, *titled, "stands")
    return spoken(whole(said, "median"), names)


def _serial(found: Scaled) -> Iterator[Sheet]:
    table = speedups(found.runs, found.keys, of=SPEED).filter(pl.col("serial_fraction").is_not_null())
    ends = {"serial_fraction": "serial fraction", "serial_fraction_low": "low", "serial_fraction_high": "high"}
    note = (
        "The share of the work that more devices do not speed up, by the measured speedup: Karp and Flatt's for strong "
        "scaling, Gustafson's for weak, with its 95 % interval. If it grows with devices, communication grows; below 0 "
        "is faster than linear, above 1 slower than the fewest devices."
    )
    said = table.select(*found.keys, "scaling", "devices", *ends).rename(ends)
    yield Sheet("serial", "Serial fraction", note, said)


def _quickest(found: Scaled) -> Iterator[Sheet]:
    """Only where two numbers of devices or more may be compared."""
    tied = pl.col("tied").list.eval(pl.element().cast(pl.String)).list.join(", ").alias("not shown to be slower")
    lines, refusals = [], []
    for of, what in _wholes(found).items():
        refusals += usable(found.runs, found.keys, of=of)[1]
        table = soonest(found, of)
        lines.append(table.with_columns(pl.lit(what).alias("of"), tied))
    names = ("scaling", "of", "devices", "seconds", "low", "high", "not shown to be slower")
    table = _in_order(found, pl.concat(lines).select(*found.keys, *names))
    note = f"The least median over seeds, with its 95 % interval.{_left_out(refusals)}"
    yield Sheet("quickest", "The quickest number of devices", note, table)


def soonest(found: Scaled, of: str) -> pl.DataFrame:
    """The quickest count of every setting of which two counts or more may be compared."""
    runs, _ = usable(found.runs, found.keys, of=of)
    return quickest(runs.filter(pl.col("devices").n_unique().over([*found.keys, "scaling"]) > 1), found.keys, of=of)


def _wholes(found: Scaled) -> dict[str, str]:
    """The times that a number of devices is chosen by, in words."""
    to_goal = {GOAL: f"training to {found.goal.said}"} if found.goal is not None else {}
    return to_goal | {TURNAROUND: "a run, from start to end"}


def _split(found: Scaled) -> Iterator[Sheet]:
    """Times of counts that may not be timed are blank; the bytes sent stay."""
    by = [*found.keys, "scaling", "devices"]
    timed, said = usable(found.runs, found.keys, of=SPEED)
    speed = medians(timed, by, SPEED).drop("n").rename({"median": "examples a second"})
    per = {"seconds_per_epoch": "seconds an epoch", "turnaround": "turnaround s"}
    middle = timed.group_by(by).agg(
        *(pl.col(name).median().alias(title) for name, title in per.items()),
        *((100 * pl.col(name).mean()).round(1).alias(_SHARES[name]) for name in SPLIT),
        (100 * pl.col("imbalance").mean()).round(1).alias("imbalance %"),
    )
    counts = found.runs.with_columns(_SCALING).sort("devices", maintain_order=True)
    counts = counts.group_by(by, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("n"), pl.col("sent_bytes").max(), pl.col("batch_mode").first()
    )
    table = counts.join(speed, on=by, how="left", nulls_equal=True, maintain_order="left")
    table = table.join(middle, on=by, how="left", nulls_equal=True, maintain_order="left")
    sent = pl.Series("sent an update", [_bytes(size) for size in table["sent_bytes"]], pl.String)
    table = _in_order(found, table.with_columns(sent))
    table = table.drop(name for name in ("copy %",) if not (table[name] > 0).any())
    shares = [name for name in _SHARES.values() if name in table.columns]
    ends = (
        "seconds an epoch",
        "examples a second",
        "low",
        "high",
        *shares,
        "imbalance %",
        "sent an update",
        "turnaround s",
    )
    note = (
        "Medians over seeds, examples a second with their 95 % interval; shares of the training seconds, means. "
        "compute: forward, backward and update; exposed communication: waiting for other devices, blank "
        "where they exchange within the passes (fsdp, tensor, pipeline: it is in compute there); imbalance: by how "
        "much the busiest device exceeds the mean; sent an update: by each device; turnaround: from the start of the "
        f"processes to their end.{f' Not timed: {_once(said)}.' if said else ''}"
    )
    wanted = [name for name in ends if table[name].null_count() < table.height]
    said_ = whole(table.select(*by, "n", *wanted), "examples a second", "low", "high")
    yield Sheet("devices", "What was measured, by devices", note, said_)


def _epochs_to_goal(found: Scaled) -> Iterator[Sheet]:
    if found.goal is None:
        return
    table = _in_order(found, stable_epochs(found.runs, found.keys))
    crowded = " Oversubscribed runs count here: epochs are no time." if found.runs["oversubscribed"].any() else ""
    note = (
        f"The epoch by which half of the runs had reached {found.goal.said} ({found.goal.meaning}); low and high: its "
        f"95 % interval from six runs on, the range below.{crowded}"
    )
    yield Sheet("epochs-goal", f"Epochs to {found.goal.said}, by devices", note, table)


def _differences(found: Scaled) -> Iterator[Sheet]:
    """Seconds of each epoch, by how much more devices shorten it."""
    table = differences(found)
    if table["epoch"].n_unique() > 1:
        note = (
            "By how many seconds the larger number of devices (b) trains an epoch sooner than the smaller (a); below "
            "0, later. Means over seeds with their paired 95 % interval."
        )
        yield Sheet("epochs-devices", "Seconds of each epoch, devices against devices", note, table)


def differences(found: Scaled) -> pl.DataFrame:
    """keys..., scaling, epoch, a, b, n, difference, low, high of the counts that may be timed."""
    if "epoch" not in found.epochs.columns or found.epochs.is_empty():
        return pl.DataFrame(schema={"epoch": pl.Int64})
    return epoch_differences(found.epochs, found.keys).filter(pl.col("refusal").is_null()).drop("refusal")


def _costs(found: Scaled, price: float) -> Iterator[Sheet]:
    lines, refusals = [], []
    for of, what in _wholes(found).items():
        runs, said = usable(found.runs, found.keys, of=of)
        refusals += said
        if runs.height:
            lines.append(costs(runs, found.keys, price=price, of=of).with_columns(pl.lit(what).alias("of")))
    if not lines:
        return
    several = pl.len().over([*found.keys, "scaling", "of"]) > 1
    mark = pl.when(several & pl.col("cheapest")).then(pl.lit("cheapest")).otherwise(pl.lit("")).alias("stands")
    hours = pl.col("device_hours").alias("device-hours")
    table = _in_order(found, pl.concat(lines))
    table = table.select(*found.keys, "scaling", "of", "devices", "n", hours, "cost", "low", "high", mark)
    note = (
        f"At {shown(float(price))} for a device-hour: devices x seconds / 3600 x price; median over seeds, 95 % "
        f"interval.{_left_out(refusals)}"
    )
    yield Sheet("cost", "What it costs", note, table)


def _left_out(refusals: list[str]) -> str:
    return f" Left out: {_once(refusals)}." if refusals else ""


def _in_order(found: Scaled, table: pl.DataFrame) -> pl.DataFrame:
    """Settings in the study's order; within them as they are."""
    groups = [*found.keys, "scaling"]
    order = found.runs.with_columns(_SCALING).select(groups).unique(maintain_order=True).with_row_index("_place")
    placed = table.join(order, on=groups, how="left", nulls_equal=True, maintain_order="left")
    return placed.sort("_place", maintain_order=True).drop("_place")


def _refused(table: pl.DataFrame) -> str:
    rows = table.filter(pl.col("stands") == REFUSED)
    said = _once([f"{counted(row['devices'], 'device')}: {row['refusal']}" for row in rows.iter_rows(named=True)])
    return f" Refused: {said}." if said else ""


def _once(said: list[str]) -> str:
    return "; ".join(dict.fromkeys(said))


def _bytes(size: int | None) -> str | None:
    if size is None:
        return None
    for unit, of in (("GB", 2**30), ("MB", 2**20), ("kB", 2**10)):
        if size >= of:
            return f"{size / of:.3g} {unit}"
    return f"{size} B"
