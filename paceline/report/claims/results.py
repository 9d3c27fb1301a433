"""Claims on results: which setting is best or worst, which is better than which, which are alike, where they end."""

import math
from collections.abc import Sequence
from itertools import pairwise as neighbours

import numpy as np
import polars as pl

from paceline.analyse.intervals import summarise
from paceline.analyse.pairs import ALPHA, holm
from paceline.report.claims.measures import MEASURES
from paceline.report.claims.values import (
    CONTRADICTED,
    FIRST,
    OPEN,
    REPRODUCED,
    UNTESTABLE,
    Judged,
    MissingError,
    Row,
    compared,
    difference,
    few,
    metric_of,
    more_seeds,
    name,
    paired,
    rows_of,
    settings_of,
    together,
    values_of,
)
from paceline.report.facts import Facts
from paceline.report.names import listed
from paceline.report.results import shown
from paceline.report.selection import axes_of
from paceline.report.sentences import at
from paceline.spec.published import HIGHER, STABLE

AS_ZERO = "both are below a millionth of the loss at the start, as good as zero"


def order(facts: Facts, item: Row) -> Judged:
    """Each against the next, paired by seed and by every axis that neither names; Holm-corrected for their number."""
    rows = list(neighbours(rows_of(item["order"])))
    pairs = [_pair(facts, item, first, second) for first, second in rows]
    p, _ = holm(np.array([np.nan if isinstance(pair, MissingError) else pair["p"] for pair in pairs], dtype=np.float64))
    found = zip(rows, pairs, p, strict=True)
    return together([_ahead(facts, item, first, second, pair, q) for (first, second), pair, q in found])


def _pair(facts: Facts, item: Row, first: Row, second: Row) -> Row | MissingError:
    try:
        return compared(facts, item, first, second)
    except MissingError as missing:
        return missing


def _ahead(facts: Facts, item: Row, first: Row, second: Row, pair: Row | MissingError, p: float) -> Judged:
    """Whether the first is better than the second."""
    if isinstance(pair, MissingError):
        return UNTESTABLE, str(pair)
    a, b = name(facts, first), name(facts, second)
    if pair["p"] is None:
        return UNTESTABLE, f"{a} against {b}: one seed"
    ahead, behind = (a, b) if pair["a"] == FIRST else (b, a)
    said = f"{ahead} is ahead of {behind} by {difference(pair)}"
    if (metric := metric_of(facts, item)) == STABLE:
        said = f"{ahead} needs fewer {STABLE} than {behind}, by {difference(pair)}"
    elif metric in MEASURES:
        said = f"{ahead} is {'above' if HIGHER[metric] else 'below'} {behind} in {metric}, by {difference(pair)}"
    elif metric != facts.columns.metric:
        said += f" in {metric}"
    if pair["zero"]:
        return OPEN, f"{said}; {AS_ZERO}"
    if "by" in item and _most(pair, ahead == a) < float(item["by"]):
        return CONTRADICTED, f"{said}; {shown(float(item['by']))} was claimed"
    if p < ALPHA and pair["difference"] > float(item.get("within", 0.0)):
        return (REPRODUCED if ahead == a else CONTRADICTED), said
    return OPEN, f"{said}{more_seeds(pair)}"


def _most(pair: Row, as_claimed: bool) -> float:
    """The largest gain that one more pair of runs would show, by the 95 % prediction interval: what was published is
    the difference of two runs."""
    reach = (pair["high"] - pair["low"]) / 2 * math.sqrt(pair["n"] + 1)
    return float((pair["difference"] if as_claimed else -pair["difference"]) + reach)


def best(facts: Facts, item: Row) -> Judged:
    return _extreme(facts, item, rows_of(item["best"])[0], sign=1)


def worst(facts: Facts, item: Row) -> Judged:
    return _extreme(facts, item, rows_of(item["worst"])[0], sign=-1)


def _extreme(facts: Facts, item: Row, row: Row, sign: int) -> Judged:
    """Held against all compared settings, or those that `among` names; where it names tuned values, each setting
    against its own others."""
    mine = settings_of(facts, row)
    if not any(tuned in axes_of(facts, row) for tuned in facts.columns.tune):
        among = settings_of(facts, item["among"]) if "among" in item else facts.best
        rivals = facts.best.filter(pl.col("label").is_in([*among["label"], *mine["label"]]))
        return _against(facts, item, mine, rivals, sign)
    own = [pl.col("label") == label for label in mine["label"].unique(maintain_order=True)]
    return together([_against(facts, item, mine.filter(one), facts.settings.filter(one), sign) for one in own])


def _against(facts: Facts, item: Row, mine: pl.DataFrame, candidates: pl.DataFrame, sign: int) -> Judged:
    """Whether the best (worst) of mine is better (worse) than every other; what diverged is worse than what did not."""
    names = {at(line) for line in mine.iter_rows(named=True)}
    lost = _diverged(facts, candidates)
    known = [at(line) for line in candidates.iter_rows(named=True)]
    if not set(known) - names:
        raise MissingError("nothing else was measured beside it")
    if names <= set(lost) or (sign < 0 and set(lost) - names):
        return _by_divergence(names, known, lost, sign)
    values = values_of(facts, item, candidates)
    means = values.group_by("label").agg(pl.col("value").mean())
    ranked = means.sort("value", "label", descending=HIGHER[metric_of(facts, item)])["label"].to_list()[::sign]
    chosen = next((label for label in ranked if label in names), None)
    rivals = [label for label in ranked if label not in names]
    if chosen is None or not rivals:
        raise MissingError("nothing of it was measured" if chosen is None else f"all others diverged: {listed(lost)}")
    return _ranked(item, chosen, [_two(facts, item, values, chosen, rival) for rival in rivals], sign)


def _diverged(facts: Facts, candidates: pl.DataFrame) -> list[str]:
    """Those of which every run diverged; refused where another has no result."""
    lost: list[str] = []
    waiting: list[str] = []
    for line in candidates.filter(pl.col("mean").is_null()).iter_rows(named=True):
        runs = facts.runs.filter(pl.col("label") == line["label"])
        own = runs.filter(pl.col("at") == line["at"])  # none, where no tuned value could be chosen: then all of them
        (lost if ((own if own.height else runs)["status"] == "diverged").all() else waiting).append(at(line))
    if waiting:
        raise MissingError(f"{listed(waiting)} {'has' if len(waiting) == 1 else 'have'} no result")
    return lost


def _by_divergence(names: set[str], known: Sequence[str], lost: Sequence[str], sign: int) -> Judged:
    said = f"{listed(lost)} diverged with every seed"
    if set(lost) == set(known):
        return UNTESTABLE, said
    if sign > 0 or not names <= set(lost):
        return CONTRADICTED, said
    return (REPRODUCED if set(lost) == names else OPEN), said


def _ranked(item: Row, chosen: str, pairs: Sequence[Row], sign: int) -> Judged:
    """By its pairs with every rival, Holm-corrected for their number."""
    p, _ = holm(np.array([np.nan if pair["p"] is None else pair["p"] for pair in pairs]))
    if np.isnan(p).all():
        return UNTESTABLE, few(max(pair["n"] for pair in pairs))
    within = float(item.get("within", 0.0))
    apart = [
        bool(q < ALPHA and pair["difference"] > within and not pair["zero"]) for q, pair in zip(p, pairs, strict=True)
    ]
    wanted = [(pair["a"] == chosen) == (sign > 0) for pair in pairs]
    against = [pair for pair, far, right in zip(pairs, apart, wanted, strict=True) if far and not right]
    unclear = [pair["b" if pair["a"] == chosen else "a"] for pair, far in zip(pairs, apart, strict=True) if not far]
    if against:
        most = max(against, key=lambda pair: pair["difference"])
        return CONTRADICTED, f"{most['a']} is ahead of {most['b']} by {difference(most)}"
    if unclear:
        zero = f"; {AS_ZERO}" if any(pair["zero"] for pair in pairs) else ""
        return OPEN, f"{chosen} is not separated from {listed(unclear)} ({_with(pairs)}{zero})"
    nearest = min(pairs, key=lambda pair: pair["difference"])
    return REPRODUCED, f"{nearest['a']} is ahead of {nearest['b']}, the nearest, by {difference(nearest)}"


def _two(facts: Facts, item: Row, values: pl.DataFrame, first: str, second: str) -> Row:
    return paired(facts, item, values.filter(pl.col("label").is_in([first, second])))


def _with(pairs: Sequence[Row]) -> str:
    fewest, most = (extreme(pair["n"] for pair in pairs) for extreme in (min, max))
    return f"n = {most}" if fewest == most else f"n = {fewest} to {most}"


def alike(facts: Facts, item: Row) -> Judged:
    """Whether the 95 % interval of the difference lies within `within` on both sides of 0."""
    first, second = rows_of(item["alike"])
    pair = compared(facts, item, first, second)
    if pair["low"] is None:
        return UNTESTABLE, "one seed"
    within = float(item.get("within", 0.0))
    ahead, behind = (first, second) if pair["a"] == FIRST else (second, first)
    words = f"{name(facts, ahead)} is ahead of {name(facts, behind)} by" if pair["difference"] else "they differ by"
    said = f"{words} {difference(pair)}; {shown(within)} was allowed"
    if max(abs(pair["low"]), abs(pair["high"])) <= within:
        return REPRODUCED, said
    return (CONTRADICTED if pair["low"] > within else OPEN), said


def ends(facts: Facts, item: Row) -> Judged:
    """Whether the 95 % interval of every setting's mean lies on the side of the bound that is claimed."""
    found = pl.concat([settings_of(facts, row).select("label", "at") for row in rows_of(item["ends"])])
    values = values_of(facts, item, found.unique(maintain_order=True))
    return together([_beyond(item, line) for line in summarise(values, ["label"], "value").iter_rows(named=True)])


def _beyond(item: Row, line: Row) -> Judged:
    if line["low"] is None:
        return UNTESTABLE, f"{line['label']}: {few(line['n'])}"
    bound, sign = (float(item["at_most"]), -1) if "at_most" in item else (float(item["at_least"]), 1)
    interval = f"95 % interval {shown(line['low'])} to {shown(line['high'])}, n = {line['n']}"
    if line["low"] == line["high"]:
        interval = f"the same for all {line['n']} seeds"
    said = f"{line['label']}{_has(item.get('of'), shown(line['mean']))} ({interval})"
    near, far = sorted((sign * (line["low"] - bound), sign * (line["high"] - bound)))
    return (REPRODUCED if near >= 0 else CONTRADICTED if far < 0 else OPEN), said


def _has(of: str | None, value: str) -> str:
    if of == STABLE:
        return f" is stable after {value} epochs"
    return f": {of} {value}" if of in MEASURES else f" ends at {value}"
