"""The tables of an answer, each with its title and what a reader must know of it."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.intervals import summarise
from paceline.report.columns import without_empty
from paceline.report.facts import MOST_PAIRED, Facts
from paceline.report.fit import fit_table
from paceline.report.models import model_table
from paceline.report.names import ALONE, counted, listed, plain, size
from paceline.report.noise import NOTE, noise_table
from paceline.report.profiles import profile
from paceline.report.published import Published
from paceline.report.scaling.runs import Scaled
from paceline.report.scaling.tables import tables as scaling_tables
from paceline.report.sentences import HOW
from paceline.report.sheet import Sheet
from paceline.report.timing.tables import tables as timing_tables
from paceline.report.wrong import mistakes_table, pairs_table

_MEASURED = (
    "train_loss",
    "loss",
    "accuracy",
    "validation_loss",
    "validation_accuracy",
    "step",
    "seconds",
    "wall_seconds",
)
TIED = "not separated"  # from the first, in the column `stands`


def sheets(
    facts: Facts, said: Published | None = None, scaled: Scaled | None = None, price: float | None = None
) -> tuple[Sheet, ...]:
    """`said`: what was published; `scaled`: what several devices did; `price`: of a device-hour."""
    first = (*_best(facts), *_scaled(facts, scaled, price), *_claims(facts, said))
    answered = (s for make in (_timed, _noise, _models, _fit) for s in make(facts))
    behind = (_confused, _mistakes, _pairs, _reached, _profile, _verdicts, _stable, _settings, _runs)
    made = (*first, *answered, *_published(facts, said), *(s for make in behind for s in make(facts)))
    return tuple(sheet for sheet in made if sheet.table.height)


def _noise(facts: Facts) -> Iterator[Sheet]:
    yield Sheet("useful-batch", "The useful batch, by the noise of gradients", NOTE, noise_table(facts))


def _profile(facts: Facts) -> Iterator[Sheet]:
    note = (
        "Share of the tasks (data x model) that a setting brings to within 0.01 of the task's best accuracy in at most "
        "1, 2 and 4 times the steps of the quickest; area is the mean share from 1 to 4 (AlgoPerf's score)."
    )
    yield Sheet("profile", "Performance profile over tasks", note, profile(facts))


def _named(facts: Facts, table: pl.DataFrame) -> pl.DataFrame:
    """For the reader: no column that says nothing, none of our own making."""
    empty = [
        name for name in table.columns if name in facts.columns.setting and table[name].null_count() == table.height
    ]
    return table.drop("label", "at", ALONE, *empty, strict=False)


def _best(facts: Facts) -> Iterator[Sheet]:
    of = facts.columns
    ranks = [rank for each in facts.by_data.values() for rank in range(1, each.best.height + 1)]
    table = facts.best.with_columns(pl.Series("rank", ranks), pl.Series("stands", standings(facts), pl.String))
    names = [*of.setting, "mean", "low", "high", "sd", "n", "stands", "diverged", "failed", "note"]
    table = table.select("rank", *names)
    table = table.drop(_silent(table))
    at = f" at its own best {listed(map(plain, of.tune))}, chosen on {facts.chosen_on}," if of.tune else ""
    note = f"Each compared setting{at} with {of.metric} on test: mean, 95 % interval (low, high) and n over seeds."
    tested = (
        f"stands: held against the first ({HOW}; over all pairs); a lower rank may not be separated where a higher one "
        "is, for its seeds vary more."
        if TIED in table["stands"]
        else ""
    )
    apart = "Each data set is ranked and tested by itself." if len(facts.by_data) > 1 else ""
    note = " ".join(filter(None, (size(facts.study), note, apart, tested)))
    yield Sheet(
        "best", _sized(facts, "Best of each compared setting"), note, _named(facts, table.rename({"mean": of.metric}))
    )


def _sized(facts: Facts, title: str) -> str:
    """A title that says so where the study was run at a smaller size."""
    return f"{title} (size '{facts.study.scale}')" if facts.study.scale else title


def _silent(table: pl.DataFrame) -> list[str]:
    """Columns of counts that are all 0, and of notes that are all missing."""
    counts = [name for name in ("diverged", "failed") if table[name].sum() == 0]
    return [*counts, *(["note"] if table["note"].null_count() == table.height else [])]


def standings(facts: Facts) -> list[str]:
    """How each compared setting stands to the first of its data set."""
    return [said for each in facts.by_data.values() for said in _standings(each)]


def _standings(facts: Facts) -> list[str]:
    """Best is said only where it is separated from all others."""
    tied = dict(facts.ties.select("label", "tied_with_best").iter_rows())
    better = set(facts.ahead["a"])
    rivals = facts.best["mean"].count()
    said = []
    for rank, row in enumerate(facts.best.iter_rows(named=True)):
        if row["mean"] is None:
            said.append("no result")
        elif rivals == 1:
            said.append("the only one")
        elif row["n"] == 1:
            said.append("one seed")
        elif facts.exact:
            said.append("exact")
        elif row["label"] in better:
            said.append("better, but incomplete")
        elif row["label"] not in tied:
            said.append("not tested")
        elif rank == 0 and not any(tied.values()) and not better:
            said.append("best")
        else:
            word = "highest" if facts.columns.higher else "lowest"
            first = word if not better else f"{word if any(tied.values()) else 'best'} of the complete"
            said.append(first if rank == 0 else TIED if tied[row["label"]] else "worse")
    return said


def _published(facts: Facts, found: Published | None) -> Iterator[Sheet]:
    if found and found.table.height:
        source = f" Source: {found.source}." if found.source else ""
        others = f"{counted(found.unmatched, 'published row')} {'names' if found.unmatched == 1 else 'name'}"
        missing = f" {others} no setting of this study." if found.unmatched else ""
        smaller = f"{size(facts.study)} What was published is of the full one. " if facts.study.scale else ""
        judged = " A figure is reproduced that lies in the 95 % prediction interval of one more run, if that is narrow."
        note = f"{smaller}Measured here on the machine named under Methods.{judged}{source}{missing}"
        yield Sheet("published", _sized(facts, "Published beside measured"), note, found.table)


def _claims(facts: Facts, said: Published | None) -> Iterator[Sheet]:
    found = [claim for claim in (said.findings if said else ()) if claim.verdict]
    lines = [{"claim": claim.text, "verdict": claim.verdict, "why": claim.why} for claim in found]
    note = (
        "Paired by seed: separated as claimed (95 %, Holm-corrected where one is held against several) "
        "is reproduced, separated the other way or far smaller than claimed contradicted; yes, no and open answer what "
        "the study itself asks. "
        "Each claim is one test; the table of the best corrects for all pairs and so separates fewer."
    )
    note = " ".join(filter(None, (size(facts.study), note)))
    yield Sheet("claims", _sized(facts, "What was claimed, judged by what was measured"), note, pl.DataFrame(lines))


def _timed(facts: Facts) -> Iterator[Sheet]:
    for sheet in timing_tables(facts):
        yield sheet._replace(title=_sized(facts, sheet.title))


def _scaled(facts: Facts, scaled: Scaled | None, price: float | None) -> Iterator[Sheet]:
    for sheet in scaling_tables(scaled, price) if scaled else ():
        table = without_empty(sheet.table) if sheet.table.height else sheet.table
        yield sheet._replace(title=_sized(facts, sheet.title), table=table)


def _models(facts: Facts) -> Iterator[Sheet]:
    if found := model_table(facts):
        memory = " Memory is the most that any seed's process held, and its share of the machine's (or device's)."
        note = (
            f"Seconds of training an epoch, {facts.columns.metric} on test with its 95 % interval over seeds."
            f"{memory if 'memory GB' in found.table.columns else ''} {found.refusal}"
        )
        yield Sheet("models", _sized(facts, "Models side by side"), note.rstrip(), _named(facts, found.table))


def _fit(facts: Facts) -> Iterator[Sheet]:
    table = fit_table(facts)
    if table.is_empty():
        return
    on = "validation" if "validation accuracy" in table.columns else "test"
    gap = (
        "Training accuracy is that of the batches since the row before the last. "
        f"gap: training less {on} accuracy at the last row, mean with 95 % interval (low, high) and n over seeds."
    )
    scores = "Macro precision and recall: on test, every class counts alike; a class never said has precision 0."
    said = [text for name, text in (("gap", gap), ("macro precision", scores)) if name in table.columns]
    title = "Training beside held-out accuracy" if "gap" in table.columns else "Precision and recall"
    yield Sheet("fit", _sized(facts, title), " ".join(said), table.rename({"label": "setting"}))


def _confused(facts: Facts) -> Iterator[Sheet]:
    if facts.wrong:
        note = (
            f"{facts.wrong.setting}, counts summed: wrong answers on test at the last evaluation, most frequent first."
        )
        yield Sheet("confused", "Most confused pairs of classes", note, pairs_table(facts.wrong))


def _mistakes(facts: Facts) -> Iterator[Sheet]:
    if facts.wrong:
        note = (
            f"{facts.wrong.setting}: wrong answers given with the highest probability; example counts the test split."
        )
        yield Sheet("mistakes", "Surest mistakes, listed", note, mistakes_table(facts.wrong))


def _pairs(facts: Facts) -> Iterator[Sheet]:
    if facts.exact:
        note = "a is better than b by the difference, which is exact: the seeds change nothing."
        yield Sheet("pairs", "Pair by pair", note, facts.pairs.select("a", "b", "difference"))
        return
    capped = f" Only the best {MOST_PAIRED} are held against each other." if facts.best.height > MOST_PAIRED else ""
    corrected = f"; p_holm is corrected for all {facts.pairs.height:,} pairs" if facts.pairs.height > 1 else ""
    note = f"a is better than b by the difference, with its 95 % interval; paired by seed{corrected}.{capped}"
    yield Sheet("pairs", "Pair by pair", note, facts.pairs)


def _reached(facts: Facts) -> Iterator[Sheet]:
    if facts.target is None or facts.reached.is_empty():
        return
    refused = "refusal" in facts.reached.columns and facts.reached["refusal"].is_not_null().any()
    mend = " Seconds are blank where runs were not timed alone; `measure: time` in the study trains them one by one."
    said = mend if refused else ""
    note = f"Medians over seeds; a run that never got there counts as later than all others, never as absent.{said}"
    title = f"To {facts.goal}"
    table = facts.reached.drop("refusal", strict=False).rename(
        {"label": "setting", "low": "steps low", "high": "steps high"}
    )
    yield Sheet("target", title, note, without_empty(table.sort("steps", nulls_last=True)))


def _verdicts(facts: Facts) -> Iterator[Sheet]:
    judged = facts.runs.unique(["run", "label"]).with_columns(pl.col("verdict").fill_null("no verdict"))
    if judged.filter(pl.col("verdict") != "no verdict").is_empty():
        return
    table = judged.pivot("verdict", index="label", values="run", aggregate_function="len", sort_columns=True)
    table = facts.best.select("label").join(table, on="label", how="left", maintain_order="left").fill_null(0)
    note = "Runs of each compared setting, all tuned values, by how they went; each run's reason stands with it below."
    yield Sheet("verdicts", "How the runs went", note, table.rename({"label": "setting"}))


def _stable(facts: Facts) -> Iterator[Sheet]:
    if facts.stable.is_empty() or facts.stable["stable_epoch"].is_null().all():
        return
    counts = facts.stable.group_by("label", maintain_order=True).agg(
        pl.len().alias("runs"),
        pl.col("stable_epoch").is_not_null().sum().alias("stable"),
        pl.col("sweet_spot").fill_null(False).sum().alias("worsen after their best"),
        pl.col("best_step").mean().alias("best step"),
    )
    means = summarise(facts.stable, ["label"], "stable_epoch").rename({"mean": "stable epoch"}).drop("n", "sd")
    table = counts.join(means, on="label", how="left", maintain_order="left")
    whole = pl.col("stable") == pl.col("runs")  # a mean over the stable ones alone would flatter
    table = table.with_columns(pl.when(whole).then(pl.col("stable epoch", "low", "high")))
    note = (
        "The first epoch from which the smoothed held-out curve stays within a noise-scaled band of its best; "
        "a mean only where all seeds got there."
    )
    yield Sheet("stable", "Epochs to a stable curve", note, table.rename({"label": "setting"}))


def _settings(facts: Facts) -> Iterator[Sheet]:
    of = facts.columns
    if facts.settings.height > facts.best.height:
        names = [*of.setting, "mean", "low", "high", "sd", "n", "runs", "done", "diverged", "failed"]
        table = _named(facts, facts.settings.select(names).rename({"mean": of.metric}))
        yield Sheet(
            "settings", "All settings", f"{of.metric} on test, mean and 95 % interval over seeds, best first.", table
        )


def _runs(facts: Facts) -> Iterator[Sheet]:
    of = facts.columns
    shown_ = [name for name in _MEASURED if name in facts.runs.columns]
    names = ["run", *of.setting, "seed", "status", "verdict", "why", *shown_, "timing", "reason"]
    table = without_empty(_named(facts, facts.runs.select(names)))
    note = (
        "Every run, with its last row. Its configuration is what all runs share (below), its case, and its axes here."
    )
    yield Sheet("runs", "Every run", note, table)
