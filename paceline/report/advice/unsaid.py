"""What advice refuses to say, and why."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.scaling import REFUSED, UNSHOWN, WORTH, speedups
from paceline.analyse.speed import NOISY
from paceline.record.writer import ENDED
from paceline.report.advice.faster import TO_GOAL, WHOLE, where
from paceline.report.advice.kinds import ENOUGH, Unsaid
from paceline.report.advice.learn import FAR, on_gpu
from paceline.report.advice.seen import Seen
from paceline.report.names import counted, listed, quoted
from paceline.report.results import shown
from paceline.report.scaling.runs import Scaled
from paceline.report.scaling.tables import SPEED
from paceline.report.sentences import HOW, Row

MOST = 3  # names in one line


def size(seen: Seen) -> Iterator[Unsaid]:
    if seen.facts.study.scale:
        yield Unsaid("Whether it holds for the full study", f"this is its size '{seen.facts.study.scale}'")


def runs(seen: Seen) -> Iterator[Unsaid]:
    """Of those that have not ended or gave no result."""
    table = seen.facts.runs.unique("run")
    left = table.filter(pl.col("status").is_in(["queued", "running", "interrupted"]))
    if left.height:
        why = f"{left.height} of {counted(table.height, 'run')} have not ended"
        yield Unsaid("What the missing runs would change", why)
    gpu = [] if seen.had_gpu else [run for run in left["run"] if on_gpu(seen.known[run])]
    if gpu:
        pinned = any(seen.known[run].loader and seen.known[run].loader.pin_memory for run in gpu)  # type: ignore[union-attr]
        what = "Whether a GPU or pinned memory pays" if pinned else "What a GPU would do"
        yield Unsaid(what, f"{counted(len(gpu), 'run')} that ask for it found none and wait")
    lost = {status: seen.facts.count(status) for status in ("diverged", "failed")}
    without = [label for label in seen.facts.best["label"] if label not in seen.best]
    if seen.best and without and any(lost.values()):
        how = listed([f"{counted(count, 'run')} {status}" for status, count in lost.items() if count])
        yield Unsaid(f"How good {listed(without, MOST)} can be", f"no run of it finished ({how} in all)")


def repetitions(seen: Seen) -> Iterator[Unsaid]:
    n = seen.facts.study.repeat
    if n == 1:
        yield Unsaid("That any difference is real", "one seed a setting: no interval, so that all here is a hint")
    elif n < ENOUGH:
        yield Unsaid(
            "That any gain is shown", f"{n} seeds a setting: intervals are too wide, so that at most it is likely"
        )


def best(seen: Seen) -> Iterator[Unsaid]:
    """Which is best, where that is open."""
    facts = seen.facts
    if len(seen.best) < 2 or facts.study.repeat < 2:
        return
    if facts.stops_at_goal:
        yield Unsaid(f"Which has the best {facts.columns.metric}", f"runs stop at {facts.goal}")
        return
    first = next(iter(seen.best))
    zero = [label for label in seen.best if seen.as_good_as_zero(label)]
    if len(zero) > 1 and first in zero:
        yield Unsaid(
            f"Which of {listed(map(seen.short, zero), MOST)} is best",
            "their loss is below a millionth of its start, as good as zero",
        )
        return
    tied = facts.ties.filter(pl.col("tied_with_best"))["label"].to_list()
    if len(tied) < 2:
        return
    mine = (pl.col("a") == first) | (pl.col("b") == first)
    pairs = facts.pairs.filter(mine, ~pl.col("separated"))
    far = pairs.filter(pl.col("more_seeds").is_null() | (pl.col("more_seeds") > FAR)).height
    seeds = f"; {FAR} more seeds would not separate {far} of them" if far else ""
    yield Unsaid(
        f"Which of {listed(map(seen.short, tied), MOST)} has the best {facts.columns.metric}",
        f"not separated ({HOW}, n = {seen.best[first]['n']} seeds){seeds}",
    )


def seconds(seen: Seen) -> Iterator[Unsaid]:
    """Times that may not be compared, and those that the noise of the machine or the spread of seeds hides."""
    facts = seen.facts
    ended = facts.runs.filter(pl.col("status").is_in(ENDED)).unique("run")
    ended = ended.with_columns(pl.col("timing").fill_null("not timed"))
    shared = ended.filter(~pl.col("timing").is_in(["exclusive", "oversubscribed"]))
    if shared.height:
        how = listed(sorted(set(shared["timing"])))
        mend = "`measure: time` trains runs one by one"
        yield Unsaid(
            "How many seconds a change saves", f"{shared.height} of {counted(ended.height, 'run')} were {how}; {mend}"
        )
    if not seen.first or len(seen.best) < 2 or facts.study.repeat < 2:
        return
    tables = [seen.sooner(column, seen.first) for column in (TO_GOAL, WHOLE)]
    rows = [
        next((t[label] for t in tables if label in t and t[label]["ratio"] is not None), None) for label in seen.best
    ]
    known = [row for row in rows if row and row["label"] != seen.first and seen.comparable(row["label"])]
    noisy = [row for row in known if row["why"] == NOISY and row["ratio"] > 1]
    each = [f"{seen.short(row['label'])} (ratio {shown(row['ratio'])}, noise {shown(row['noise'])})" for row in noisy]
    if each:
        why = "the noise of the machine is larger than the effect"
        yield Unsaid(_quicker(seen, each), why)
    same = [row for row in known if row["claim"] == "no difference" and row["ratio_high"] > WORTH]
    each = [f"{seen.short(row['label'])} ({shown(row['ratio_low'])} to {shown(row['ratio_high'])})" for row in same]
    if each:
        why = "the 95 % interval of how many times as fast holds 1"
        yield Unsaid(_quicker(seen, each), why)


def _quicker(seen: Seen, each: list[str]) -> str:
    return f"That {listed(each, MOST)} {'is' if len(each) == 1 else 'are'} quicker than {seen.short(seen.first)}"


def devices(seen: Seen) -> Iterator[Unsaid]:
    found = seen.scaled
    if found is None:
        return
    table = speedups(found.runs, found.keys, of=SPEED)
    for (why,), rows in table.filter(pl.col("stands") == REFUSED).group_by("refusal", maintain_order=True):
        counts = listed([counted(n, "device") for n in rows["devices"].unique().sort()])
        yield Unsaid(f"How fast {counts} would be", str(why))
    wide = table.filter(pl.col("stands") == UNSHOWN, pl.col("speedup_low").is_not_null())
    each = [_counted(found, row) for row in wide.iter_rows(named=True)]
    if each:
        yield Unsaid(f"That {listed(each, MOST)} gain", "the 95 % interval of the speedup leaves it open")


def _counted(found: Scaled, row: Row) -> str:
    name = found.named(row)
    ends = f"{shown(row['speedup_low'])} to {shown(row['speedup_high'])}"
    return f"{counted(row['devices'], 'device')}{f' of {quoted(name)}' if name else ''} ({ends})"


def workers(seen: Seen) -> Iterator[Unsaid]:
    usage = seen.facts.usage
    if usage is None or usage.saturation.is_empty():
        return
    for row in usage.saturation.iter_rows(named=True):
        if not row["no_gain"]:
            of = f" ({where(row)})" if where(row) else ""
            yield Unsaid(f"How many loader workers are enough{of}", row["statement"])
