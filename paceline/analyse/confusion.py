"""Which classes are taken for which: precision, recall and the pairs most often confused."""

from collections.abc import Sequence

import polars as pl


def per_class(matrix: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """by..., class, examples, answers, right, precision, recall: a line a class that has test examples.

    `matrix` has by..., truth, said, count. A class that was never the answer has precision 0.
    """
    keys = [*by, "class"]
    right = matrix.filter(pl.col("truth") == pl.col("said")).rename({"truth": "class"})
    counts = [
        table.group_by(keys, maintain_order=True).agg(pl.col("count").sum().alias(name))
        for table, name in (
            (matrix.rename({"truth": "class"}), "examples"),
            (matrix.rename({"said": "class"}), "answers"),
            (right, "right"),
        )
    ]
    table = counts[0].filter(pl.col("examples") > 0)
    for other in counts[1:]:
        table = table.join(other, on=keys, how="left", nulls_equal=True, maintain_order="left")
    table = table.with_columns(pl.col("answers", "right").fill_null(0))
    said = pl.col("answers") > 0
    return table.with_columns(
        pl.when(said).then(pl.col("right") / pl.col("answers")).otherwise(0.0).alias("precision"),
        (pl.col("right") / pl.col("examples")).alias("recall"),
    ).sort(keys)


def macro(matrix: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """by..., classes, macro_precision, macro_recall, never_said (a list of classes): every class counts alike."""
    table = per_class(matrix, by).with_columns(pl.lit(0).alias("_all"))
    keys = list(by) or ["_all"]
    found = table.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("classes"),
        pl.col("precision").mean().alias("macro_precision"),
        pl.col("recall").mean().alias("macro_recall"),
        pl.col("class").filter(pl.col("answers") == 0).alias("never_said"),
    )
    return found.drop("_all", strict=False)


def confused(matrix: pl.DataFrame) -> pl.DataFrame:
    """truth, said, count, share (of the truth's examples): the wrong answers, most frequent first."""
    examples = matrix.group_by("truth").agg(pl.col("count").sum().alias("_examples"))
    wrong = matrix.filter(pl.col("truth") != pl.col("said"), pl.col("count") > 0)
    shares = wrong.join(examples, on="truth", how="left").with_columns(
        (pl.col("count") / pl.col("_examples")).alias("share")
    )
    order = ["count", "share", "truth", "said"]
    return shares.select("truth", "said", "count", "share").sort(order, descending=[True, True, False, False])


def most_confused(matrix: pl.DataFrame, most: int) -> list[int]:
    """The classes that take part in most mistakes, as truth or as answer, in the order of their numbers."""
    wrong = confused(matrix)
    parts = [wrong.select(pl.col(name).alias("class"), "count") for name in ("truth", "said")]
    counts = pl.concat(parts).group_by("class").agg(pl.col("count").sum())
    return sorted(counts.sort(["count", "class"], descending=[True, False])["class"].head(most).to_list())
