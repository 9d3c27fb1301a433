"""How large a batch is still useful, by the noise of the gradients: for every setting, early and late in training."""

from collections.abc import Iterator

import polars as pl

from paceline.analyse.noise_scale import example_efficiency, noise_scale, step_efficiency
from paceline.report.facts import Facts
from paceline.spec.run import NOISE

STRETCHES = ("first third", "second third", "last third")


def noise_table(facts: Facts) -> pl.DataFrame:
    """setting, of training, batch, useful batch with its interval, what examples and steps are worth at that batch."""
    lines = list(_lines(facts))
    return pl.DataFrame(lines, infer_schema_length=None) if lines else pl.DataFrame()


def _lines(facts: Facts) -> Iterator[dict[str, object]]:
    if not set(NOISE) <= set(facts.rows.columns):
        return
    labels = facts.at_best.filter(pl.col("status") == "done").select("run", "label").unique(maintain_order=True)
    last = pl.col("step").max().over("run")
    stretch = (3 * (pl.col("step") - 1) // last).clip(0, 2).alias("stretch")
    rows = facts.rows.with_columns(stretch).drop_nulls(NOISE[0])
    rows = labels.join(rows, on="run", how="inner", maintain_order="left").sort("stretch", maintain_order=True)
    for (label, third), group in rows.group_by("label", "stretch", maintain_order=True):
        norms = group.select(pl.col(name).alias(name.removeprefix("noise_")) for name in NOISE)
        batch = float(norms["big_batch"].max())  # type: ignore[arg-type]
        found = noise_scale(norms)
        useful = found.useful_batch
        yield {
            "setting": label,
            "of training": STRETCHES[int(third)],
            "batch": int(batch),
            "useful batch": useful,
            "low": found.low,
            "high": found.high,
            "examples count for": example_efficiency(batch, useful) if useful is not None else None,
            "steps count for": step_efficiency(batch, useful) if useful is not None else None,
            "rows": found.steps,
            "note": found.refusal,
        }


NOTE = (
    "The gradient noise scale: at that batch, steps and examples are both about twice their least (McCandlish et al. "
    "2018). A larger one saves few steps, a smaller one few examples. 95 % interval over the rows, all seeds together. "
    "What examples and steps count for: 1 is as well used as can be."
)
