"""Claims on results: which setting is best or worst, which is better than which, which are alike."""

from collections.abc import Sequence
from itertools import pairwise as neighbours

import numpy as np
import polars as pl

from paceline.analyse.pairs import ALPHA, holm, pairwise
from paceline.report.claims.values import (
    CONTRADICTED,
    OPEN,
    REPRODUCED,
    UNTESTABLE,
    Judged,
    MissingError,
    Row,
    compared,
    difference,
    few,
    higher,
    metric_of,
    more_seeds,
    name,
    rows_of,
    settings_of,
    values_of,
)
from paceline.report.facts import Facts
from paceline.report.names import listed
from paceline.report.results import shown
from paceline.report.selection import axes_of
from paceline.report.sentences import at


def order(facts: Facts, item: Row) -> Judged:
    rows = rows_of(item["order"])
    each = [_pair(facts, item, first, second) for first, second in neighbours(rows)]
    return _together(each)


def _together(each: Sequence[Judged]) -> Judged:
    """Contradicted where any is; reproduced where all are. The words of those that decide."""
    verdicts = [verdict for verdict, _ in each]
    decides = next((word for word in (CONTRADICTED, UNTESTABLE, OPEN) if word in verdicts), REPRODUCED)
    return decides, "; ".join(why for verdict, why in each if verdict == decides)


def _pair(facts: Facts, item: Row, first: Row, second: Row) -> Judged:
    """Whether the first is better than the second, paired by seed and by every axis that neither names."""
    pair = compared(facts, item, [first, second]).row(0, named=True)
    a, b = name(facts, first), name(facts, second)
    if pair["p"] is None:
        return UNTESTABLE, f"{a} against {b}: {few(pair['n'])}"
    ahead, behind = (a, b) if pair["a"] == a else (b, a)
    of = "" if metric_of(facts, item) == facts.columns.metric else f" in {metric_of(facts, item)}"
    said = f"{ahead} is ahead of {behind} by {difference(pair)}{of}"
    if pair["p"] < ALPHA and pair["difference"] > float(item.get("within", 0.0)):
        return (REPRODUCED if ahead == a else CONTRADICTED), said
    return OPEN, f"{said}{more_seeds(pair)}"


def best(facts: Facts, item: Row) -> Judged:
    return _extreme(facts, item, item["best"], sign=1)


def worst(facts: Facts, item: Row) -> Judged:
    return _extreme(facts, item, item["worst"], sign=-1)


def _extreme(facts: Facts, item: Row, row: Row, sign: int) -> Judged:
    """Whether what the row names is better (worse) than all it was compared with; Holm-corrected for their number."""
    values = values_of(facts, item, _candidates(facts, row), by=())
    mine = {at(line) for line in settings_of(facts, row).iter_rows(named=True)}
    means = values.group_by("label").agg(pl.col("value").mean()).sort("value", "label", descending=higher(facts, item))
    order = means["label"].to_list()[::sign]
    chosen = next(label for label in order if label in mine)
    rivals = [label for label in order if label not in mine]
    if not rivals:
        raise MissingError("nothing else was measured beside it")
    pairs = [_two(facts, item, values, chosen, rival) for rival in rivals]
    p, _ = holm(np.array([np.nan if pair["p"] is None else pair["p"] for pair in pairs]))
    if np.isnan(p).all():
        return UNTESTABLE, few(max(pair["n"] for pair in pairs))
    apart = [bool(q < ALPHA and pair["difference"] > 0) for q, pair in zip(p, pairs, strict=True)]
    wanted = [(pair["a"] == chosen) == (sign > 0) for pair in pairs]
    against = [pair for pair, far, right in zip(pairs, apart, wanted, strict=True) if far and not right]
    unclear = [rival for rival, far in zip(rivals, apart, strict=True) if not far]
    if against:
        most = max(against, key=lambda pair: pair["difference"])
        return CONTRADICTED, f"{most['a']} is ahead of {most['b']} by {difference(most)}"
    if unclear:
        return OPEN, f"{chosen} is not separated from {listed(unclear)} ({_with(pairs)})"
    nearest = min(pairs, key=lambda pair: pair["difference"])
    return REPRODUCED, f"{nearest['a']} is ahead of {nearest['b']}, the nearest, by {difference(nearest)}"


def _candidates(facts: Facts, row: Row) -> pl.DataFrame:
    """All that a best one is the best of: the tuned values of its compared setting, or all compared settings."""
    keys = axes_of(facts, row)
    if not any(name in keys for name in facts.columns.tune):
        return facts.best
    return facts.settings.join(settings_of(facts, row).select("label"), on="label", how="semi", maintain_order="left")


def _two(facts: Facts, item: Row, values: pl.DataFrame, first: str, second: str) -> Row:
    table = values.filter(pl.col("label").is_in([first, second]))
    return pairwise(table, metric="accuracy" if higher(facts, item) else "loss").row(0, named=True)


def _with(pairs: Sequence[Row]) -> str:
    fewest, most = (extreme(pair["n"] for pair in pairs) for extreme in (min, max))
    return f"n = {most}" if fewest == most else f"n = {fewest} to {most}"


def alike(facts: Facts, item: Row) -> Judged:
    """Whether the 95 % interval of the difference lies within `within` on both sides of 0."""
    first, second = rows_of(item["alike"])[:2]
    pair = compared(facts, item, [first, second]).row(0, named=True)
    if pair["low"] is None:
        return UNTESTABLE, few(pair["n"])
    within = float(item.get("within", 0.0))
    said = f"they differ by {difference(pair)}; {shown(within)} was allowed"
    if max(abs(pair["low"]), abs(pair["high"])) <= within:
        return REPRODUCED, said
    return (CONTRADICTED if pair["low"] > within else OPEN), said
