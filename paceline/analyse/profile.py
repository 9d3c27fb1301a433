"""Performance profile over several tasks (Dolan & More 2002), scored as AlgoPerf does (Dahl et al. 2023)."""

import polars as pl

TAU_MAX = 4.0  # AlgoPerf's


def performance_profile(table: pl.DataFrame, *, solver: str, task: str, cost: str) -> pl.DataFrame:
    """solver, tau, share, area: the share of tasks a solver does within tau times the cost of the task's best.

    A cost of null means the target was not reached; a task nobody did counts for all. area is the mean share over
    tau from 1 to TAU_MAX. One line a (solver, task).
    """
    if table.select(pl.struct(solver, task).is_duplicated().any()).item():
        raise ValueError(f"a ({solver}, {task}) has several costs: give one, for example the median over seeds.")
    ratios = _ratios(table.select(solver=solver, task=task, cost=pl.col(cost).cast(pl.Float64)))
    tasks = table[task].n_unique()
    known = ratios.filter(pl.col("ratio") <= TAU_MAX)
    taus = pl.concat([known["ratio"], pl.Series([1.0, TAU_MAX])]).unique().sort().alias("tau").to_frame()
    names = ratios.select("solver").unique(maintain_order=True)
    done = known.group_by("solver", pl.col("ratio").alias("tau")).agg(pl.len().alias("done"))
    grid = names.join(taus, how="cross", maintain_order="left_right")
    grid = grid.join(done, on=["solver", "tau"], how="left", maintain_order="left")
    share = pl.col("done").fill_null(0).cum_sum().over("solver") / tasks
    grid = grid.select("solver", "tau", share.alias("share"))
    step = (pl.col("tau").shift(-1) - pl.col("tau")) * pl.col("share")
    return grid.with_columns((step.sum().over("solver") / (TAU_MAX - 1)).alias("area")).rename({"solver": solver})


def _ratios(table: pl.DataFrame) -> pl.DataFrame:
    """Each cost over the least of its task; null where not reached, 1 for the best even if that is 0."""
    least = pl.col("cost").fill_nan(None).min().over("task")
    ratio = pl.when(pl.col("cost") == least).then(1.0).otherwise(pl.col("cost") / least)
    return table.with_columns(ratio.alias("ratio"))
