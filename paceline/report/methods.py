"""The methods paragraph: hardware, versions, seeds, determinism, what the clock included, total time."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from paceline.record.layout import StudyFolder
from paceline.record.reader import read_machines
from paceline.report.names import counted, listed
from paceline.report.terminal import duration
from paceline.spec import Study
from paceline.spec.argument import SEED

_SELECT = {
    "validation": "Tuned values were chosen on the validation split by their mean over seeds and are reported on test.",
    "test": "Tuned values were chosen on the test split itself{}: figures flatter a little.",
    "best_epoch": "Each run is reported at its best epoch on the test split{}: figures flatter.",
}


def methods(study: Study, runs: pl.DataFrame, folder: Path | None = None, chosen_on: str = "validation") -> str:
    """In words, from the study, its runs and every machine.json under the record folder. `chosen_on`: the splits that
    there were to choose tuned values on."""
    machines = list(chain(*_of_packs(folder, runs))) if folder else []
    parts = [
        _what(study, runs),
        *_selection(study, chosen_on),
        *_machines(machines),
        _seeds(study, machines),
        _clock(runs),
    ]
    return " ".join(parts)


def _of_packs(folder: Path, runs: pl.DataFrame) -> Iterator[list[dict[str, Any]]]:
    """Of the packs that hold these runs: a record may hold others, of a study that was changed."""
    packs = set(runs["pack"].drop_nulls()) if "pack" in runs.columns else set()
    for pack, machines in read_machines(StudyFolder(folder)).items():
        if not packs or pack in packs:
            yield machines


def _selection(study: Study, chosen_on: str) -> list[str]:
    tuned = study.tune or any(case.get("tune") for case in study.cases.values())
    if tuned and study.select == "validation" and chosen_on != "validation":
        return [f"Tuned values were chosen on {chosen_on}, for want of a validation split: figures flatter a little."]
    source = ", as the source did" if study.published else ""
    return [_SELECT[study.select].format(source)] if tuned or study.select == "best_epoch" else []


def _what(study: Study, runs: pl.DataFrame) -> str:
    status = runs.unique("run")["status"]
    ended, diverged = (status == "done").sum(), (status == "diverged").sum()
    total = runs["run"].n_unique()
    others = f" and {diverged:,} diverged" if diverged else ""
    seeds = f"{counted(study.repeat, 'seed')} ({_span(runs['seed'])})"
    trained = f"{ended:,} of {counted(total, 'run')} trained to their end{others}"
    return f"Study '{study.name}': {trained}, {seeds} for every setting."


def _span(seeds: pl.Series) -> str:
    low, high = seeds.min(), seeds.max()
    return f"seed {low!r}" if low == high else f"seeds {low!r} to {high!r}"


def _machines(machines: list[dict[str, Any]]) -> list[str]:
    if not machines:
        return ["The machine is not recorded."]
    hardware = _distinct(map(_hardware, machines))
    threads = sorted({machine["threads"] for machine in machines if machine.get("threads")})
    several = " or ".join(f"{count:,}" for count in threads)
    used = f", {several} {'thread' if threads == [1] else 'threads'} to a run" if threads else ""
    parts = [f"Hardware: {'; '.join(hardware)}{used}."]
    parts.append(f"Software: {'; '.join(_distinct(map(_software, machines)))}.")
    data = {f"{name} {sum_[:19]}" for m in machines for name, sum_ in (m.get("data") or {}).items()}
    if data:
        parts.append(f"Data: {listed(sorted(data), 8)}.")
    commits = _distinct(_commit(m) for m in machines)
    return [*parts, f"Study under git {listed(commits)}."] if commits else parts


def _distinct(said: Any) -> list[str]:
    return list(dict.fromkeys(word for word in said if word))


def _hardware(machine: dict[str, Any]) -> str:
    gpus = f", {listed(machine['gpus'])}" if machine.get("gpus") else ""
    cores = counted(machine.get("cores") or 0, "core")
    device = f"trained on {machine.get('device')}"
    return f"{machine.get('cpu')}, {cores}, {machine.get('memory_gb')} GB{gpus}, {device}"


def _software(machine: dict[str, Any]) -> str:
    packages = [f"{name} {version}" for name, version in (machine.get("packages") or {}).items() if version]
    return ", ".join([f"Python {machine.get('python')}", *packages, str(machine.get("system"))])


def _commit(machine: dict[str, Any]) -> str:
    git = machine.get("git")
    return f"{git['commit'][:10]}{' with changes' if git.get('dirty') else ''}" if git else ""


def _seeds(study: Study, machines: list[dict[str, Any]]) -> str:
    where = "on one machine" if len(_distinct(map(_hardware, machines))) < 2 else "over several machines"
    return (
        "Every random draw is a function of the seed, its purpose, the step or epoch and the example, so a run sees "
        f"the same draws alone, resumed or beside others; all settings share their seeds, {where}. {_drawn_data(study)}"
        "Intervals are 95 % t intervals of the mean over seeds; pairs are compared seed by seed, corrected by Holm."
    )


def _drawn_data(study: Study) -> str:
    """Where the data, or their split, follow the seed."""
    settings = (study.base, *study.cases.values())
    parts = [*(said.get("data") for said in settings), *study.compare.get("data", ())]
    arguments = [value for part in parts if isinstance(part, dict) for value in part.values()]
    arguments += [value for said in settings for key, value in said.items() if key.startswith("data.")]
    arguments += [value for key, values in study.compare.items() if key.startswith("data.") for value in values]
    return "Every seed draws data, or their split, of its own. " if SEED in arguments else ""


def _clock(runs: pl.DataFrame) -> str:
    single = runs.unique("run")
    timing = single["timing"].drop_nulls().value_counts(sort=True)
    kinds = listed(f"{count:,} {kind}" for kind, count in timing.iter_rows()) or "none"
    trained, evaluated, wall = totals(single)
    alone = timing.height == 1 and timing["timing"][0] == "exclusive"
    kept = "" if alone else " Seconds of runs that shared the machine, or trained as one program, are not compared."
    share = f", {evaluated / wall:.0%} of it evaluation" if evaluated and wall else ""
    return (
        "The clock runs while the model trains, loading of batches included, and stops for evaluation and recording. "
        f"Timing of the runs: {kinds}.{kept} Total: {_time(trained)} of training, {_time(wall)} in all{share}."
    )


def totals(runs: pl.DataFrame) -> list[float]:
    """Seconds of training, of evaluation, and of all; the runs of a stack share theirs."""
    names = ["seconds", "evaluation_seconds", "wall_seconds"]
    stacked = (pl.col("timing") == "stacked").fill_null(False)
    single = runs.filter(~stacked).select(pl.col(names).sum())
    by = [name for name in ("pack", "stack") if name in runs.columns]
    packs = runs.filter(stacked).group_by(by).agg(pl.col(names).max()).select(pl.col(names).sum())
    return [float(single[name][0] or 0) + float(packs[name][0] or 0) for name in names]


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)
