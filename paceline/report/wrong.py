"""What the best setting got wrong: its confusion matrix over seeds, its surest mistakes, and precision and recall."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from paceline.analyse.confusion import confused, macro
from paceline.record.examined import Examined, Mistake, read_examined
from paceline.record.layout import StudyFolder
from paceline.report.names import counted, listed

PAIRS = 20  # of classes, in the table
MISTAKES = 12  # pictures


class Wrong(NamedTuple):
    label: str  # the best compared setting
    at: str  # its tuned values
    seeds: int  # whose counts are summed
    names: tuple[str, ...]  # of the classes
    matrix: pl.DataFrame  # truth, said, count
    mistakes: tuple[Mistake, ...]  # the surest first, an example once
    scores: pl.DataFrame  # label, macro_precision, macro_recall, never_said: every compared setting at its best

    @property
    def setting(self) -> str:
        at = f" at {self.at}" if self.at not in ("", "-") else ""
        return f"{self.label}{at}, {counted(self.seeds, 'seed')}"


def examine(folder: Path | None, best: pl.DataFrame, at_best: pl.DataFrame) -> Wrong | None:
    """None where no run of the best setting was examined. `at_best`: the runs of the settings of `best`."""
    if folder is None or best["mean"].null_count() == best.height:
        return None
    known = at_best.filter(pl.col("status") == "done", pl.col("pack").is_not_null())
    found = read_examined(StudyFolder(folder), known.select("run", "pack").iter_rows())
    first = known.filter(pl.col("label") == best["label"][0])
    mine = [found[run] for run in first["run"] if run in found]
    mine = [one for one in mine if one.names == mine[0].names]
    if not mine:
        return None
    return Wrong(
        label=best["label"][0],
        at=best["at"][0],
        seeds=len(mine),
        names=mine[0].names,
        matrix=pl.concat(one.matrix for one in mine).group_by("truth", "said").agg(pl.col("count").sum()),
        mistakes=_surest(mine),
        scores=_scores(known, found),
    )


def _surest(runs: list[Examined]) -> tuple[Mistake, ...]:
    """Each example once, though several seeds mistake it. Where seeds split the data, a number is another example."""
    found: dict[tuple[str, int], Mistake] = {}
    said = [(run.data, mistake) for run in runs for mistake in run.worst]
    for data, mistake in sorted(said, key=lambda one: -one[1].probability):
        found.setdefault((data, mistake.index), mistake)
    return tuple(found.values())[:MISTAKES]


def _scores(known: pl.DataFrame, found: dict[str, Examined]) -> pl.DataFrame:
    """Precision and recall of each run, then their means over seeds; the classes that no seed ever answered."""
    tables = [one.matrix.with_columns(pl.lit(run).alias("run")) for run, one in found.items()]
    each = macro(pl.concat(tables), ["run"])
    named = known.select("label", "run").join(each, on="run", how="inner", maintain_order="left")
    lines = []
    for (label,), runs in named.group_by("label", maintain_order=True):
        silent = set.intersection(*(set(numbers) for numbers in runs["never_said"].to_list()))
        names = found[runs["run"][0]].names
        lines.append(
            {
                "label": label,
                "macro_precision": runs["macro_precision"].mean(),
                "macro_recall": runs["macro_recall"].mean(),
                "never_said": listed([names[number] for number in sorted(silent)]) or None,
            }
        )
    schema = {"label": pl.String, "macro_precision": pl.Float64, "macro_recall": pl.Float64, "never_said": pl.String}
    return pl.DataFrame(lines, schema=schema)


def pairs_table(wrong: Wrong) -> pl.DataFrame:
    """truth, said, count, share of truth: the pairs most often confused."""
    top = confused(wrong.matrix).head(PAIRS)
    return _named(wrong, top).rename({"share": "share of truth"})


def mistakes_table(wrong: Wrong) -> pl.DataFrame:
    """example, truth, said, probability."""
    lines = [(m.index, m.truth, m.said, m.probability) for m in wrong.mistakes]
    schema = {"example": pl.Int64, "truth": pl.Int64, "said": pl.Int64, "probability": pl.Float64}
    return _named(wrong, pl.DataFrame(lines, schema=schema, orient="row"))


def _named(wrong: Wrong, table: pl.DataFrame) -> pl.DataFrame:
    names = {name: [wrong.names[n] for n in table[name]] for name in ("truth", "said")}
    return table.with_columns(pl.Series(name, said, pl.String) for name, said in names.items())
