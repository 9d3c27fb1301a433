"""The answer to a study's question: three sentences, the tables and charts behind them, and how it was measured."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from paceline.record.layout import StudyFolder
from paceline.record.reader import read_machines
from paceline.report.asked import check_price, check_target
from paceline.report.facts import Facts, Recorded, gather
from paceline.report.fit import over_fitted
from paceline.report.methods import methods
from paceline.report.names import columns, counted, listed, quoted, size
from paceline.report.published import Published, published
from paceline.report.scaling.runs import Scaled, scaled
from paceline.report.scaling.sentences import sentences as scaling_sentences
from paceline.report.sentences import sentences
from paceline.report.sheet import Sheet
from paceline.report.sheets import sheets
from paceline.report.timing.sentences import sentences as timing_sentences
from paceline.spec import Study

if TYPE_CHECKING:
    from paceline.report.charts import Figure

MOST_NOTES = 5  # on the data


@dataclass(frozen=True, repr=False)
class Answer:
    sentences: tuple[str, str, str]  # what is best, what is tied with it, what else there is to know
    sheets: tuple[Sheet, ...]  # every table
    notes: tuple[str, ...]  # what a reader must know, refusals among them
    methods: str  # a paragraph: runs, seeds, hardware, versions, statistics
    published: Published | None  # what was published beside what was measured
    facts: Facts  # every analysis that it was written from
    timing: tuple[str, ...] = ()  # what a study of time has found
    scaled: Scaled | None = None  # what several devices did, where the study asks
    outdated: tuple[str, ...] = ()  # in what the runs are not those of the study that was asked for
    price: float | None = None  # of a device-hour, where the user says it

    @property
    def study(self) -> Study:
        """The study as it was run."""
        return self.facts.study

    @property
    def question(self) -> str:
        return self.study.question

    @property
    def text(self) -> str:
        """The three sentences, as `paceline run` ends; before them, that the study was made smaller or asked for
        otherwise, if it was, and what a study of time has found."""
        return "\n".join(filter(None, (self.size, *self.outdated, *self.timing, *self.sentences)))

    @property
    def size(self) -> str:
        """That this is not the full study, if it is not; else empty."""
        return size(self.study)

    def table(self, key: str) -> pl.DataFrame:
        """One of the tables by its key: best, models, fit, published, pairs, phases, speed, settings, runs, ..."""
        found = {sheet.key: sheet.table for sheet in self.sheets}
        if key not in found:
            raise KeyError(f"no table '{key}' here; there are {', '.join(found)}.")
        return found[key]

    @cached_property
    def figures(self) -> tuple["Figure", ...]:
        """The charts, drawn when first asked for: Altair is imported here."""
        from paceline.report.charts import charts

        return charts(self.facts, self.scaled)

    def html_fragment(self) -> str:
        """Question, sentences, best table and main charts, without scripts: for a notebook."""
        from paceline.report.page import fragment

        return fragment(self)

    def _repr_html_(self) -> str:
        return self.html_fragment()

    def __repr__(self) -> str:
        return f"{self.question or self.study.name}\n{self.text}"


def answer(
    results: Recorded,
    folder: Path | None = None,
    *,
    target: float | None = None,
    price: float | None = None,
    outdated: tuple[str, ...] = (),
) -> Answer:
    """What the recorded runs say. `folder` is the study's record folder; `target` is a value of the
    metric to time, unless the study's early stop names one: see facts._target. `price` is that of a device-hour."""
    check_price(price)
    check_target(target, columns(results.study, results.runs).metric)
    facts = gather(results, target, folder)
    timed = facts.study.measure == "time"
    said, found = published(facts), scaled(facts, target)
    of_time = (*(scaling_sentences(found) if found else ()), *timing_sentences(facts))
    return Answer(
        sentences=sentences(facts),
        sheets=sheets(facts, said, found, price),
        notes=(*_notes(facts), *_unmatched(said), *_of_data(folder), *(() if timed else of_time)),
        methods=methods(facts.study, facts.runs, folder, facts.chosen_on),
        published=said,
        facts=facts,
        timing=of_time if timed else (),
        scaled=found,
        outdated=outdated,
        price=price,
    )


def _notes(facts: Facts) -> list[str]:
    made = (_few_seeds, _same_seeds, _selection, _seconds, _unfinished, _behind_in_seeds, _over_fitting)
    return [note for make in made if (note := make(facts))]


def _unmatched(said: Published | None) -> list[str]:
    """Where no published row stands beside a setting, so that there is no table to say it."""
    if said is None or said.table.height or not said.unmatched:
        return []
    return [f"{counted(said.unmatched, 'published row')}: no setting of this study is named by any."]


def _of_data(folder: Path | None) -> list[str]:
    """What was noted of the data when they were read, as images that were left out."""
    machines = chain(*read_machines(StudyFolder(folder)).values()) if folder else ()
    each = chain(*((machine.get("notes") or {}).items() for machine in machines))
    said = (" ".join(f"{data}: {note}".split()) for data, notes in each for note in notes)
    return list(dict.fromkeys(said))[:MOST_NOTES]


def _few_seeds(facts: Facts) -> str:
    if facts.study.repeat == 1:
        return (
            "One seed a setting: no interval can be given, no difference called real. Run again with --seeds 3 or more."
        )
    if facts.study.repeat == 2:
        return "Two seeds a setting: the intervals are very wide. Run again with --seeds 3 or more."
    return ""


def _same_seeds(facts: Facts) -> str:
    if 2 * len(facts.alike) < facts.best["mean"].count() or not facts.alike:
        return ""  # one or two alike are chance
    who = "every setting" if facts.exact else listed(map(quoted, facts.alike))
    return f"The seeds of {who} gave the same value: their number says nothing about noise there."


def _selection(facts: Facts) -> str:
    select, source = facts.study.select, ", as the source did" if facts.study.published else ""
    if select == "best_epoch":
        return f"Each run is shown at its best epoch on test{source}: such figures flatter."
    if select == "test" and facts.columns.tune:
        return f"Tuned values were chosen on the test split{source}: such figures flatter."
    if select == "validation" and facts.columns.tune and facts.chosen_on != "validation":
        return f"There is no validation split for all runs: tuned values were chosen on {facts.chosen_on}."
    return ""


def _seconds(facts: Facts) -> str:
    if facts.exclusive or not facts.count("done", "diverged"):
        return ""
    kinds = facts.runs["timing"].drop_nulls().unique().sort().to_list()
    if set(kinds) <= {"exclusive", "oversubscribed"}:
        return (
            "Some runs had more processes than cores (oversubscribed): their seconds say nothing, so that tables and "
            "charts of time which need every run are left out; those by devices leave such counts out."
        )
    how = listed(kinds) or "not timed"
    mend = (
        "Another Paceline process trained beside them: run them anew (--out) with none."
        if facts.study.measure == "time"
        else "`measure: time` in the study trains them one by one."
    )
    return (
        "Seconds are not shown: only runs that had the machine to themselves may be timed, and these were "
        f"{how}. {mend}"
    )


def _unfinished(facts: Facts) -> str:
    left = facts.count("queued", "running", "interrupted")
    return (
        f"{counted(left, 'run')} have not ended: all this may change. The same `paceline run` continues."
        if left
        else ""
    )


def _behind_in_seeds(facts: Facts) -> str:
    """Settings whose mean leaves seeds out, because those gave no value."""
    short = facts.best.filter((pl.col("n") > 0) & (pl.col("diverged") + pl.col("failed") > 0))
    if short.is_empty():
        return ""
    return (
        f"Some seeds of {listed(map(quoted, short['label']))} gave no value even at the best tuned value: the mean is "
        "that of the others, and ranks behind settings whose seeds all finished."
    )


def _over_fitting(facts: Facts) -> str:
    wide = over_fitted(facts)
    return f"Over-fitting: at the end training accuracy exceeds held-out accuracy for {listed(wide)}." if wide else ""
