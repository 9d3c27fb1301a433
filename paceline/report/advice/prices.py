"""What a change costs: of the result, of memory, of money, of machine time for more runs."""

import polars as pl

from paceline.record.writer import OVER
from paceline.report.advice.kinds import interval
from paceline.report.advice.seen import KEPT, Change, Seen
from paceline.report.columns import GB
from paceline.report.methods import totals
from paceline.report.names import counted
from paceline.report.results import shown
from paceline.report.terminal import duration

NEAR = 1.1  # memory that differs by less is the same


def joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def result(seen: Seen, label: str, other: str) -> str:
    """What happens to the result, with its interval."""
    change, metric = seen.change(label, other), seen.facts.columns.metric
    both = seen.hits.filter(pl.col("label").is_in([label, other]))
    if seen.facts.stops_at_goal and both["goal_steps"].is_not_null().all():
        return f"none in {metric}: runs stop at {seen.facts.goal}"
    if change is None:
        return f"{metric} is not compared, for the two share no seed"
    if seen.as_good_as_zero(label) and seen.as_good_as_zero(other):
        return f"none in {metric}, which is as good as zero with both"
    return changed(seen, change)


def changed(seen: Seen, change: Change) -> str:
    metric, said = seen.facts.columns.metric, f"{interval(*_of_size(change), change.n)}; {_verdict(change)}"
    if change.value == 0 and change.low == change.high:
        return f"none in {metric}, which stays the same for every seed"
    if change.value == 0:
        return f"none in {metric} on average ({said})"
    word = "higher" if (change.value > 0) == seen.facts.columns.higher else "lower"
    gained = change.value > 0
    what = f"none{'' if change.separated else ' seen'} in {metric}, which is" if gained else metric
    return f"{what} {shown(abs(change.value))} {word} ({said})"


def _verdict(change: Change) -> str:
    if change.separated:
        return "separated"
    apart = change.low is not None and change.high is not None and change.low * change.high > 0
    return "not separated once corrected for all pairs" if apart else "not separated"


def _of_size(change: Change) -> tuple[float | None, float | None]:
    """The interval as the change is said: by how much higher, or by how much lower."""
    if change.low is None or change.high is None or change.value >= 0:
        return change.low, change.high
    return -change.high + 0.0, -change.low + 0.0


def loses(seen: Seen, change: Change | None, kept: str) -> str:
    """What the advice itself has to say of a result that is, or may be, worse."""
    metric, higher = seen.facts.columns.metric, seen.facts.columns.higher
    if change and change.high is not None and change.high < 0:
        size = shown(-change.value)
        return f", which loses {size} of {metric}" if higher else f", which raises {metric} by {size}"
    return "" if kept == KEPT else f", which may {'lose' if higher else 'raise'} {metric}"


def memory(seen: Seen, label: str, other: str) -> str:
    """Where it was measured and differs."""
    usage = seen.facts.usage
    names = ("allocated_bytes", "resident_bytes")
    name = next((each for each in names if usage is not None and each in usage.resources.columns), None)
    if usage is None or name is None:
        return ""
    most = dict(usage.resources.select("label", name).iter_rows())
    one, two = most.get(label), most.get(other)
    if not one or not two or max(one, two) < NEAR * min(one, two):
        return ""
    return f"memory {shown(one / GB)} GB instead of {shown(two / GB)} GB"


def paid(seen: Seen, now: float, before: float, devices: int) -> str:
    """What a run of so many seconds of training costs, where a price is given."""
    if seen.price is None:
        return ""
    costs = [shown(seconds * devices / 3600 * seen.price) for seconds in (now, before)]
    return f"a run costs {costs[0]} instead of {costs[1]}"


def asked(seen: Seen, labels: list[str], seeds: int, *, every: bool = False, times: int = 1) -> tuple[str, float]:
    """The price of so many more runs of each setting (`every`: at all tuned values; `times`: so many times as long), in
    words and in minutes."""
    table = seen.facts.runs if every else seen.facts.at_best
    count, seconds, device_hours = 0, 0.0, 0.0
    priced: set[str] = set()  # runs, which two settings may share
    for label in labels:
        mine = table.filter(pl.col("label") == label, ~pl.col("run").is_in(list(priced)))
        priced |= set(mine["run"])
        runs = seeds * mine["at"].n_unique()
        count, took = count + runs, runs * times * each(seen, mine)
        seconds, device_hours = seconds + took, device_hours + took / 3600 * seen.run(label).devices
    money = f", {shown(device_hours * seen.price)} at this price" if seen.price is not None else ""
    return f"{counted(count, 'more run')}, about {spent(seconds)}{money}", seconds / 60


def each(seen: Seen, runs: pl.DataFrame) -> float:
    """Machine seconds of one of these runs, by those that ended; one of a stack has its share of the stack's."""
    ended = runs.filter(pl.col("status").is_in(OVER)).unique("run")
    stacked = (pl.col("timing") == "stacked").fill_null(False)
    seconds = totals(ended.filter(~stacked))[2]
    by = [name for name in ("pack", "stack") if name in ended.columns]
    for key, mine in ended.filter(stacked).group_by(by):
        same = [pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(by, key, strict=True)]
        whole = seen.facts.runs.filter(stacked, *same).unique("run")
        seconds += totals(whole)[2] * mine.height / whole.height
    return seconds / ended.height if ended.height else 0.0


def spent(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)
