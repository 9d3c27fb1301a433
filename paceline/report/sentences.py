"""The answer in three sentences: which is best, what is tied, and what diverged, failed, lies at an edge or is fast."""

from typing import Any

import polars as pl

from paceline.analyse.pairs import MOST
from paceline.record.writer import OVER
from paceline.report.facts import MOST_PAIRED, Facts
from paceline.report.names import counted, listed, quoted, words
from paceline.report.results import shown
from paceline.report.terminal import duration

Row = dict[str, Any]
REASON = 200  # characters of why runs failed
HOW = "paired by seed, Holm-corrected, 5 %"


def sentences(facts: Facts) -> tuple[str, str, str]:
    """Of several data sets: what is best on each, what is tied on each, and what became of all runs."""
    found = [_three(each) for each in facts.by_data.values()]
    if len(found) == 1:
        return found[0]
    on = [f"On {name}: " for name in facts.by_data]
    first, second = (
        " ".join(f"{name}{three[place][:1].lower()}{three[place][1:]}" for name, three in zip(on, found, strict=True))
        for place in (0, 1)
    )
    return first, second, _events(facts)


def _three(facts: Facts) -> tuple[str, str, str]:
    if not facts.finished:
        return _nothing(facts), _no_comparison(facts), _events(facts)
    if facts.stops_at_goal and (fast := _fast(facts)):
        unranked = f"Runs stop at {facts.goal}, so that their {facts.columns.metric} does not rank them."
        return _sentence(fast), unranked, _sentence([*_ended(facts), *_edges(facts)])
    return _best(facts), _ties(facts), _events(facts)


def at(row: Row) -> str:
    """`adam at lr 0.01`."""
    return f"{quoted(row['label'])} at {row['at']}" if row["at"] not in ("", "-") else quoted(row["label"])


def value(facts: Facts, row: Row) -> str:
    """Mean, interval and n, as every claim has them."""
    of = f"{facts.columns.metric} {shown(row['mean'])}"
    if row["n"] == 1:
        return f"{of} (one seed, so no interval)"
    if row["low"] is None:
        return f"{of} (n = {row['n']} seeds)"
    if row["low"] == row["high"]:
        return f"{of} (the same for all {row['n']} seeds)"
    return f"{of} (95 % interval {shown(row['low'])} to {shown(row['high'])}, n = {row['n']} seeds)"


def _nothing(facts: Facts) -> str:
    total, ended = facts.runs["run"].n_unique(), facts.count(*OVER)
    if not ended:
        return f"There is no answer yet: none of {counted(total, 'run')} has ended."
    if done := facts.count("done"):
        return f"No setting can be called best: {counted(done, 'run')} ended without {_a(facts.columns.metric)}."
    how = [f"{count} {status}" for status in ("diverged", "failed") if (count := facts.count(status))]
    return f"No setting can be called best: of {counted(ended, 'run')} that ended, {listed(how)}."


def _a(metric: str) -> str:
    return f"an {metric}" if metric == "accuracy" else f"a {metric}"


def _no_comparison(facts: Facts) -> str:
    what = _a(facts.columns.metric) if facts.count("done") else "a finished run"
    return f"Without {what} nothing can be compared."


def _best(facts: Facts) -> str:
    best = facts.best.row(0, named=True)
    rivals = facts.best.filter(pl.col("mean").is_not_null()).height
    said = f"{at(best)}: {value(facts, best)} on test{_chosen(facts, best)}"
    if rivals == 1:
        return f"The one compared setting with a result is {said}."
    separated = best["n"] > 1 and not facts.exact and not facts.ties["tied_with_best"].any()
    word = "Best" if separated else "Highest" if facts.columns.higher else "Lowest"
    if facts.ahead.height:
        return f"{word} of those that finished with all their seeds is {said}."
    return f"{word}{'' if separated else f' of {rivals}'} is {said}."


def _chosen(facts: Facts, best: Row) -> str:
    if facts.study.select == "best_epoch":
        return ", each run at its best epoch on test"
    tuned = [name.removeprefix("axis.") for name in facts.columns.tune if best[name] is not None]
    return f", {listed(tuned)} chosen on {facts.chosen_on}" if tuned else ""


def _ties(facts: Facts) -> str:
    rivals = facts.best.filter(pl.col("mean").is_not_null())
    if rivals.height == 1:
        return _only(facts)
    if rivals["n"].max() == 1:
        return "With one seed a setting nothing is separated: what looks better may be chance; 3 or more would tell."
    if facts.exact:
        return _exact(facts, rivals)
    first = facts.best["label"][0]
    against = facts.pairs.filter((pl.col("a") == first) | (pl.col("b") == first))
    tied, worse = against.filter(~pl.col("separated")), against.filter("separated", pl.col("a") == first)
    ahead = (
        f"; {listed(map(quoted, facts.ahead['a']))} did better, but not with all seeds" if facts.ahead.height else ""
    )
    if tied.is_empty():
        return f"{_all_behind(worse) if worse.height else 'It is the best with all its seeds'}{ahead} ({HOW})."
    lesser = listed(map(quoted, worse["b"]))
    behind = f"; worse {'is' if worse.height == 1 else 'are'} {lesser}" if worse.height else ""
    among = f"Of the best {MOST_PAIRED}, not" if rivals.height > MOST_PAIRED else "Not"
    return f"{among} separated from it ({HOW}): {_named(tied, first)}{behind}{ahead}."


def _only(facts: Facts) -> str:
    without = facts.best.height - 1
    if without:
        others = "the other compared setting" if without == 1 else f"the other {without} compared settings"
        others_runs = facts.runs.filter(pl.col("label") != facts.best["label"][0])
        waits = others_runs["status"].is_in(["queued", "running", "interrupted"]).any()
        return f"Nothing stands beside it: {others} {f'{_has(without)} no result yet' if waits else 'gave no result'}."
    tried = facts.settings.filter(pl.col("mean").is_not_null())
    if tried.height > 1:
        worst = tried.row(-1, named=True)
        least = f"{worst['at']} with {value(facts, worst)}"
        return f"No other setting was compared; of {tried.height} tuned values the least good is {least}."
    return "No other setting was compared, so this is a measurement and no comparison."


def _has(number: int) -> str:
    return "has" if number == 1 else "have"


def _exact(facts: Facts, rivals: pl.DataFrame) -> str:
    zero = rivals.filter(pl.Series([facts.as_good_as_zero(mean) for mean in rivals["mean"]], dtype=pl.Boolean))
    none = zero.height > 1 and zero["label"][0] == rivals["label"][0]
    level = zero if none else rivals.filter(pl.col("mean") == rivals["mean"][0])
    behind = rivals[level.height :].iter_rows(named=True)
    follow = listed(f"{quoted(row['label'])} ({shown(row['mean'])})" for row in behind)
    said = f"it is followed by {follow}"
    if not none and level.height > 1:
        said = f"{listed(map(quoted, level['label'][1:]))} {'is' if level.height == 2 else 'are'} level with it"
        said = f"{said}, followed by {follow}" if follow else said
    if none:
        said = f"as good as zero, below a millionth of the loss at the start, are {listed(map(quoted, zero['label']))}"
        said = f"{said}; behind them {follow}" if follow else said
    return f"The seeds changed nothing, so differences are exact, no matter of chance: {said}."


def _all_behind(worse: pl.DataFrame) -> str:
    nearest = worse.sort("difference").row(0, named=True)
    near = quoted(nearest["b"])
    who = near if worse.height == 1 else f"all {worse.height} it was held against, the nearest {near}"
    interval = f"95 % interval {shown(nearest['low'])} to {shown(nearest['high'])}"
    return f"It is separated from {who}, by {shown(nearest['difference'])}, {interval}"


def _named(tied: pl.DataFrame, first: str) -> str:
    """The tied ones, each with how many more seeds would tell."""
    said = []
    for row in tied.sort(pl.col("difference").abs()).iter_rows(named=True):
        other = quoted(row["b"] if row["a"] == first else row["a"])
        more = f"more than {MOST:,} more seeds" if row["more_seeds"] == MOST else _seeds(row["more_seeds"])
        same = row["difference"] == row["low"] == row["high"] == 0
        none = "the same with every seed" if same else "no number of seeds would tell"
        said.append(f"{other} ({more} would tell)" if row["more_seeds"] else f"{other} ({none})")
    return listed(said)


def _seeds(more: int | None) -> str:
    return f"about {counted(more or 0, 'more seed')}"


def _events(facts: Facts) -> str:
    return _sentence([*_ended(facts), *_edges(facts), *_fast(facts)])


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _ended(facts: Facts) -> list[str]:
    total, ended = facts.runs["run"].n_unique(), facts.count(*OVER)
    parts = [f"{total - ended:,} of {total:,} runs {_left(facts)}{_untried(facts)}"] if ended < total else []
    for status in ("diverged", "failed"):
        if count := facts.count(status):
            where = facts.settings.filter(pl.col(status) > 0)
            who = listed(map(at, where.iter_rows(named=True)))
            parts.append(f"{count:,} of {total:,} runs {status} ({who}){_why(facts) if status == 'failed' else ''}")
    return parts or [f"{f'all {total:,} runs' if total > 1 else 'the one run'} ended, none diverged"]


def _left(facts: Facts) -> str:
    return "have not ended" if facts.count("running", "interrupted") else "are not trained yet"


def _why(facts: Facts) -> str:
    """The reason that most of the failed runs give."""
    failed = facts.runs.unique("run", maintain_order=True).filter(pl.col("status") == "failed")
    reasons = failed["reason"].drop_nulls() if "reason" in failed.columns else pl.Series(dtype=pl.String)
    if reasons.is_empty():
        return ""
    said = " ".join(reasons.mode().sort()[0].split())
    others = " (and others)" if reasons.n_unique() > 1 else ""
    return f": {said.rstrip('.') if len(said) <= REASON else said[:REASON] + ' ...'}{others}"


def _untried(facts: Facts) -> str:
    """The values of a compared axis of which no run has ended, where others of that axis have."""
    ended = pl.col("status").is_in(OVER)
    said = []
    for name in facts.columns.compare:
        by = facts.runs.group_by(name, maintain_order=True).agg(ended.any().alias("ended"))
        if by["ended"].any():
            said += [words(row, [name], bare=True) for row in by.filter(~pl.col("ended")).iter_rows(named=True)]
    said = list(filter(None, said))
    return f", among them all of {listed(said)}" if said else ""


def _edges(facts: Facts) -> list[str]:
    edge = facts.best.filter(pl.col("edge").fill_null(False) & pl.col("mean").is_not_null())
    if edge.is_empty():
        return []
    names = [f"{quoted(row['label'])} ({words(row, row['edges'], bare=False)})" for row in edge.iter_rows(named=True)]
    who = f"value of {names[0]} lies" if len(names) == 1 else f"values of {listed(names, 3)} lie"
    return [f"the best {who} at the edge of what was tried, so the optimum may lie outside"]


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 100 else duration(seconds)


def _fast(facts: Facts) -> list[str]:
    if facts.target is None or facts.reached.is_empty():
        return []
    goal = facts.goal
    done = facts.reached.filter(2 * pl.col("reached") > pl.col("n")).sort("steps")
    if done.is_empty():
        return [f"no setting reached {goal} in more than half of its seeds"]
    first = done.row(0, named=True)
    seconds = f", {_time(first['seconds'])}" if first["seconds"] is not None else ""
    took = f"in a median of {first['steps']:,.0f} {'step' if first['steps'] == 1 else 'steps'}"
    together = done.filter(pl.col("steps") == first["steps"])["label"]
    if len(together) > 1:
        return [f"first to {goal} are {listed(map(quoted, together))}, {took}"]
    return [
        f"first to {goal} is {quoted(first['label'])}, {took}{seconds} "
        f"({first['reached']} of {counted(first['n'], 'seed')})"
    ]
