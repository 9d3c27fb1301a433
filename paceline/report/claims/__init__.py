"""What was claimed, held against what was measured: reproduced, contradicted, not separated, or not testable here.

A finding of `published` is words, or words with what they claim, of settings named as in `selection`:

    findings:
      - adam is best                                        # words alone: shown, not judged
      - {finding: adam is best, best: {optimizer: adam}}    # of all compared, or of its own tuned values
      - {finding: adadelta is worst, worst: {optimizer: adadelta}}
      - {finding: adam beats gd, order: [{optimizer: adam}, {optimizer: gd}]}       # best first; `by`: by so much
      - {finding: nesterov equals momentum, alike: [{...}, {...}], within: 0.01}
      - {finding: all get above 0.9, ends: [{...}, {...}], at_least: 0.9}           # or at_most
      - {finding: adam does not converge at 1, fails: {optimizer: adam, lr: 1.0}}    # learns: the opposite
      - {finding: two are faster, faster: [{devices: 2}, {devices: 1}], by: 1.4}    # at least so often; or at_most
      - {finding: more epochs do harm, worsens: {optimizer: sgd}}                   # after a best epoch
      - {finding: the gain grows, gains_more: [[{...}, {...}], [{...}, {...}]]}      # of two speed-ups the first
      - {finding: pinning saves 40 %, untestable: there is no GPU here}

`asked` in the place of `finding` is a question of our own: its verdict is yes, no or open. `of` names what is judged
in the place of the metric, as another accuracy or loss, or `epochs to stable`; a difference up to `within` is none;
`among: {case: [a, b]}` holds a best or worst against these alone; `size: full` leaves it unjudged at a smaller size
of the study, unless that trains the settings it names as the full one does; `device: cuda` leaves it unjudged by runs
on anything else. An axis that no row names, or all rows name with the same list, is left open: settings are paired
along it. Where a row names several settings otherwise, it stands for the best of them. Definitions:
docs/definitions.md.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from paceline.report.claims.learning import fails, learns, worsens
from paceline.report.claims.results import alike, best, ends, order, worst
from paceline.report.claims.speed import faster, gains_more
from paceline.report.claims.values import (
    CONTRADICTED,
    OPEN,
    REPRODUCED,
    UNTESTABLE,
    Judged,
    MissingError,
    Row,
    rows_of,
    runs_of,
    settings_of,
)
from paceline.report.facts import Facts
from paceline.report.results import shown
from paceline.spec.published import fault, kind_of

__all__ = ["Claim", "claims", "summary"]

UNREAD = "not judged"
_ANSWERS = {REPRODUCED: "yes", CONTRADICTED: "no", OPEN: "open"}


class Claim(NamedTuple):
    text: str
    asked: bool  # by the study itself, not by its source
    verdict: str  # empty where the claim is words alone; UNREAD where it has a shape that no claim has
    why: str


def claims(facts: Facts) -> tuple[Claim, ...]:
    said = facts.study.published
    found = said.get("findings") if isinstance(said, dict) else None
    return tuple(_claim(facts, item) for item in (found if isinstance(found, list) else [found]) if item is not None)


def summary(verdicts: Sequence[str]) -> str:
    """`3 reproduced, 1 contradicted`: how many have which verdict."""
    return ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))


def _claim(facts: Facts, item: Any) -> Claim:
    if not isinstance(item, dict):
        return Claim(shown(item), False, "", "")
    text, asked = str(item.get("finding", item.get("asked", ""))), "finding" not in item
    kind = kind_of(item)
    if wrong := fault(item):
        return Claim(text or shown(item), asked and bool(text), UNREAD, wrong[1].rstrip("."))
    if item.get("size") == "full" and (lacks := _lacks(facts, kind)):
        return Claim(text, asked, UNTESTABLE, lacks)
    try:
        verdict, why = _KINDS[kind](facts, item)
    except MissingError as missing:
        verdict, why = UNTESTABLE, str(missing)
    if "device" in item and (other := _elsewhere(facts, item[kind], item["device"])):
        verdict, why = UNTESTABLE, f"claimed of {item['device']}; on {other}, {why}"
    return Claim(text, asked, _ANSWERS.get(verdict, verdict) if asked else verdict, why)


def _lacks(facts: Facts, kind: str) -> str:
    """Why a claim on the full study cannot be judged by this size of it; empty if it can."""
    changed = facts.study.changed
    if not facts.study.part:
        return f"it is of the full study; here: {changed}"
    return f"it is of all settings; here: {changed}" if changed and kind in ("best", "worst") else ""


def _elsewhere(facts: Facts, rows: Any, device: str) -> str:
    """What else than this device the runs were trained on that the rows name; empty if nothing else, or no run."""
    try:
        runs = pl.concat([runs_of(facts, settings_of(facts, row)) for row in rows_of(rows)])
    except MissingError:
        return ""
    packs = set(runs["pack"]) if "pack" in runs.columns else set()
    return ", ".join(sorted({facts.devices.get(pack, "an unknown device") for pack in packs} - {device}))


def _untestable(facts: Facts, item: Row) -> Judged:
    return UNTESTABLE, str(item["untestable"])


_KINDS: dict[str, Callable[[Facts, Row], Judged]] = {
    "best": best, "worst": worst, "order": order, "alike": alike, "fails": fails, "learns": learns, "worsens": worsens,
    "faster": faster, "gains_more": gains_more, "ends": ends, "untestable": _untestable,
}  # fmt: skip
