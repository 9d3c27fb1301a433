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
from paceline.spec import Study

__all__ = ["RULE", "Advice", "Advised", "Unsaid", "advise"]

WIDTH = 100
Advisers = tuple[Callable[[Seen], Iterator[Advice]], ...]
OF_RESULTS: Advisers = (quicker, better, epochs, dominated, seeds, edges, compared_edges, useful_batch)
OF_RUNS: Advisers = (devices, workers, unfinished, repetitions, waiting)
REFUSERS: tuple[Callable[[Seen], Iterator[Unsaid]], ...] = (
    unsaid.runs,
    unsaid.repetitions,
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


def advise(answer: Answer) -> Advised:
    seen = Seen(answer.facts, answer.scaled, answer.price)
    if not seen.best:
        why = answer.sentences[0].rstrip(".")
        return Advised(answer.study, (), (Unsaid("What to change", f"{why[:1].lower()}{why[1:]}"),))
    apart = _by_data(seen)
    found = [one for make in OF_RUNS for one in make(seen)]
    found += [_on(name, one) for name, part in apart.items() for make in OF_RESULTS for one in make(part)]
    open_ = [Unsaid(f"{each.what}{name}", each.why) for name, part in apart.items() for each in unsaid.best(part)]
    refused = [each for make in REFUSERS for each in make(seen)]
    return Advised(answer.study, tuple(_once(ranked(found))), (*open_, *refused))


def _by_data(seen: Seen) -> dict[str, Seen]:
    """What was seen of each data set with a result, by the words that name it where there are several."""
    parts = seen.facts.by_data
    if len(parts) == 1:
        return {"": seen}
    apart = {f" on {name}": Seen(facts, seen.scaled, seen.price) for name, facts in parts.items()}
    return {name: part for name, part in apart.items() if part.best}


def _on(name: str, one: Advice) -> Advice:
    return one._replace(change=f"{name.strip()}, {one.change}") if name else one


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
