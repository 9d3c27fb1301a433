"""What should I change? Ranked advice from the runs recorded, and what is not said and why. Nothing trains."""

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from paceline.report.advice import unsaid
from paceline.report.advice.better import better, dominated
from paceline.report.advice.devices import devices
from paceline.report.advice.faster import quicker, workers
from paceline.report.advice.kinds import RULE, TIME, Advice, Unsaid, ranked
from paceline.report.advice.learn import (
    compared_edges,
    edges,
    repetitions,
    seeds,
    unfinished,
    useful_batch,
)
from paceline.report.advice.seen import Seen
from paceline.report.advice.shorter import epochs
from paceline.report.advice.waits import waiting
from paceline.report.answer import Answer
from paceline.report.names import titled
from paceline.report.scaled import check_price
from paceline.spec import Study

__all__ = ["RULE", "Advice", "Advised", "Unsaid", "advise"]

WIDTH = 100
ADVISERS: tuple[Callable[[Seen], Iterator[Advice]], ...] = (
    quicker,
    better,
    devices,
    epochs,
    workers,
    dominated,
    unfinished,
    repetitions,
    seeds,
    edges,
    compared_edges,
    waiting,
    useful_batch,
)
REFUSERS: tuple[Callable[[Seen], Iterator[Unsaid]], ...] = (
    unsaid.runs,
    unsaid.repetitions,
    unsaid.best,
    unsaid.seconds,
    unsaid.devices,
    unsaid.workers,
    unsaid.size,
)
_SCHEMA = {
    "rank": pl.Int64,
    "change": pl.String,
    "gain": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "of": pl.String,
    "n": pl.Int64,
    "sure": pl.String,
    "evidence": pl.String,
    "price": pl.String,
    "minutes": pl.Float64,
}


@dataclass(frozen=True, repr=False)
class Advised:
    study: Study
    advice: tuple[Advice, ...]  # the first is the most worth doing
    unsaid: tuple[Unsaid, ...]  # what is not said, and why

    @property
    def table(self) -> pl.DataFrame:
        """A line each; what is not said stands at the end, with `not said` for how sure."""
        lines = [
            {
                "rank": rank,
                "change": one.change,
                **({"gain": one.gain.value, **one.gain._asdict()} if one.gain else {}),
                "sure": one.sure,
                "evidence": one.evidence,
                "price": one.price,
                "minutes": one.minutes,
            }
            for rank, one in enumerate(self.advice, 1)
        ]
        lines += [{"change": each.what, "sure": "not said", "evidence": each.why} for each in self.unsaid]
        return pl.DataFrame([{name: line.get(name) for name in _SCHEMA} for line in lines], schema=_SCHEMA)

    @property
    def text(self) -> str:
        """As a terminal shows it."""
        return printed(self, WIDTH)

    def __repr__(self) -> str:
        return self.text


def advise(answer: Answer, price: float | None = None) -> Advised:
    """`price`: of a device-hour."""
    check_price(price)
    seen = Seen(answer.facts, answer.scaled, price)
    if not seen.best:
        why = answer.sentences[0].rstrip(".")
        return Advised(answer.study, (), (Unsaid("What to change", f"{why[:1].lower()}{why[1:]}"),))
    found = ranked([one for make in ADVISERS for one in make(seen)])
    return Advised(answer.study, tuple(_once(found)), tuple(each for make in REFUSERS for each in make(seen)))


def _once(found: list[Advice]) -> list[Advice]:
    """A change that gains in two ways stands once, with the other gain beside its evidence; where time stands first,
    its price says what happens to the result."""
    said: dict[str, Advice] = {}
    for one in found:
        first = said.setdefault(one.change, one)
        if first is not one and first.kind != TIME and one.gain:
            said[one.change] = first._replace(evidence=f"{first.evidence}; also {one.gain.said} [{one.sure}]")
    return list(said.values())


def printed(found: Advised, width: int) -> str:
    blocks = [_wrapped(titled(found.study) or found.study.name, width, "")]
    blocks += [_block(rank, one, width) for rank, one in enumerate(found.advice, 1)]
    if not found.advice:
        blocks.append("Nothing to change follows from these runs.")
    if found.unsaid:
        lines = [_wrapped(f"- {each.what}: {each.why}.", width, "  ") for each in found.unsaid]
        blocks.append("\n".join(["Not said", *lines]))
    if found.advice:
        blocks.append(_wrapped(RULE, width, ""))
    return "\n\n".join(blocks)


def _block(rank: int, one: Advice, width: int) -> str:
    inside = "   "
    head = f"{rank}. {one.change[:1].upper()}{one.change[1:]}. [{one.sure}]"
    parts = (("Gain", one.gain.said if one.gain else ""), ("Evidence", one.evidence), ("Price", one.price))
    lines = [_wrapped(f"{inside}{name}: {said}.", width, inside + "  ") for name, said in parts if said]
    return "\n".join([_wrapped(head, width, inside), *lines])


def _wrapped(text: str, width: int, indent: str) -> str:
    """Folded between words, but for a number and its unit."""
    held = re.sub(r"(?<=\d) (?=%|s\b)|(?<=\bn) (?==)|(?<==) (?=\d)|(?<=95 %) (?=interval)", "\xa0", text)
    folded = textwrap.fill(held, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return folded.replace("\xa0", " ")
