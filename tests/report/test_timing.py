"""Where the time goes, in the report: which tables stand there, what is refused, what is said, and the charts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from paceline.plan.expand import expand
from paceline.record.layout import PackFolder
from paceline.record.reader import SCHEMA, PackState, RunState
from paceline.record.writer import PackWriter
from paceline.report.answer import Answer, answer
from paceline.report.charts import spec
from paceline.report.charts.timing import bar_numbers, over_time
from paceline.report.page import page
from paceline.report.results import run_table
from paceline.spec import Run
from paceline.spec.document import parse
from paceline.spec.study import from_document

from .recorded import DIGITS, Made, learning, made

LOADERS = """
name: loaders
question: Which loader is fastest?
base: {data: digits, model: softmax, optimizer: gd, lr: 0.1, steps: 100, evaluate_every: 10}
compare: {loader: [memory, {workers: 0}, {workers: 2}, {workers: 4}]}
repeat: 3
measure: time
"""
WORKERS = LOADERS.replace(
    "loader: [memory, {workers: 0}, {workers: 2}, {workers: 4}]", "loader.workers: [0, 2, 4], batch: [10, 50]"
)
BATCHES = LOADERS.replace("loader: [memory, {workers: 0}, {workers: 2}, {workers: 4}]", "batch: [10, 20, 50]")
TIMED = ("speed", "loader", "workers", "tradeoff", "phases", "bottleneck", "resources")


def said(answer) -> tuple[str, ...]:
    """All that is said beside the three sentences, wherever it stands."""
    return (*answer.timing, *answer.notes)


def waits(run: Run) -> float:
    """Seconds of a step that go into the loader; the rest takes 1 ms."""
    if run.loader is None:
        return 0.0001
    return {0: 0.004, 2: 0.002}.get(run.loader.workers, 0.00199)


def status(run: Run, waiting: Callable[[Run], float] = waits) -> dict[str, Any]:
    """As status.json has it: samples a second of the batch over the step, each seed a little off."""
    size = run.batch if isinstance(run.batch, int) else 1
    off = 1 + 0.002 * ((run.seed * 7 + size + len(str(run.loader))) % 3 - 1)
    return {
        "samples_per_second": size / (waiting(run) + 0.001) * off,
        "compile_seconds": 0.0,
        "telemetry_share": 0.002,
        "work_flops": 4e5,
        "work_bytes": 1e4,
        "work_calls": 20.0,
        "probe_flops": 1e9,
        "probe_bytes": 1e9,
        "probe_call_seconds": 1e-6,
        "probe_before": 1.0,
        "probe_after": 1.01,
        "probe_spread": 0.02,
    }


def spent(run: Run, step: int) -> dict[str, Any]:
    """A line of telemetry."""
    parts = {
        "loader": waits(run) * step,
        "copy": 0.0,
        "forward": 3e-4 * step,
        "backward": 5e-4 * step,
        "optimizer": 1e-4 * step,
    }
    device = dict.fromkeys(("allocated_bytes", "reserved_bytes", "device_used_bytes", "device_bytes"))
    used = {
        "resident_bytes": 2**29 + step * 2**20,
        **device,
        "utilisation": 0.8,
        "power_watts": None,
        "energy_joules": None,
    }
    beside = {"evaluation": 1e-4 * step, "checkpoint": 0.0}
    return {"step": step, "examples": 10 * step, "seconds": (waits(run) + 0.001) * step, **parts, **beside, **used}


def timed(found: Made, folder: Path, line: Callable[[Run, int], dict[str, Any]] = spent, noted: Callable[[Run], dict[str, Any]] = status) -> Made:  # fmt: skip
    """The same results with telemetry under `folder`, and what status.json would say."""
    runs = {trial.id: trial.run for trial in expand(found.study)}
    pack = PackFolder(folder / "p")
    pack.path.mkdir(parents=True)
    with PackWriter(pack) as writer:
        for name, run in runs.items():
            for step in range(10, 101, 10):
                writer.telemetry({"run": name, **line(run, step)})
    said = pl.DataFrame([{"run": name, **noted(run)} for name, run in runs.items()])
    return replace(
        found, runs=found.runs.with_columns(pack=pl.lit("p")).join(said, on="run", how="left", maintain_order="left")
    )


def result(trial: Any, step: int) -> dict[str, Any]:
    """As good whatever the loader; the largest batch learns less. Seconds as telemetry has them."""
    row = learning(trial, step) | {"seconds": (waits(trial.run) + 0.001) * step / (trial.run.batch / 10)}
    return row | {"accuracy": row["accuracy"] - (0.2 if trial.run.batch == 50 else 0.0)}


def known_of(text: str, folder: Path, **more: Any) -> Answer:
    return answer(timed(made(text, result, **more), folder), folder)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    return known_of(LOADERS, tmp_path_factory.mktemp("record"))


def keys(found: Answer) -> list[str]:
    return [sheet.key for sheet in found.sheets if sheet.key in TIMED]


def note(found: Answer, key: str) -> str:
    return next(sheet.note for sheet in found.sheets if sheet.key == key)


def test_a_study_of_loaders_has_every_table(known: Answer):
    assert keys(known) == list(TIMED)


def test_speed_is_against_the_first_of_the_study(known: Answer):
    table = known.table("speed")
    assert table["setting"].to_list() == ["memory", "workers 4", "workers 2", "workers 0"]
    assert table["claim"].to_list() == ["reference", "slower", "slower", "slower"]
    assert table["ratio"].to_list() == pytest.approx([1.0, 1.1 / 2.99, 1.1 / 3.0, 1.1 / 5.0], rel=0.01)
    assert table["machine noise"].to_list() == pytest.approx([1.01] * 4)
    assert "ratio: to memory, seed by seed" in note(known, "speed")
    assert table["samples per second"].dtype == pl.Int64, "thousands are whole numbers"


def test_loaders_and_from_where_there_is_no_gain(known: Answer):
    table = known.table("loader")
    assert table.select("loader", "workers").rows() == [
        ("memory", None),
        ("DataLoader", 4),
        ("DataLoader", 2),
        ("DataLoader", 0),
    ]
    assert table["against the best"].to_list() == ["best", "slower", "slower", "slower"]
    row = known.table("workers").row(0, named=True)
    assert (row["best workers"], row["saturated at"], row["against"]) == (4, 2, 4)
    assert any(
        text.startswith("Loader workers: no gain from more than 2 workers: 4 give 1 times") for text in said(known)
    )


def test_phases_are_shares_of_all_seconds(known: Answer):
    table = known.table("phases")
    row = table.filter(pl.col("setting") == "workers 0").row(0, named=True)
    assert (row["seconds"], row["in all"]) == pytest.approx((0.5, 0.51))
    assert row["loader %"] == pytest.approx(100 * 4 / 5.1, abs=0.06)
    assert row["evaluation %"] == pytest.approx(100 * 0.1 / 5.1, abs=0.06)
    assert "copy %" not in table.columns, "nothing was copied"
    assert "at most 0.2 % of a step" in note(known, "phases")


def test_what_limits_each(known: Answer):
    table = dict(known.table("bottleneck").select("setting", "verdict").iter_rows())
    assert table == {
        "memory": "compute-bound",
        "workers 0": "loader-bound",
        "workers 2": "loader-bound",
        "workers 4": "loader-bound",
    }
    assert any(
        text.startswith("Compute-bound: memory, where its arithmetic at the machine's peak is 36 %")
        for text in said(known)
    )
    assert any(text.startswith("Loader-bound: ") for text in said(known))


def test_memory_and_utilisation_where_they_were_measured(known: Answer):
    table = known.table("resources")
    assert table.columns == ["setting", "resident GB", "utilisation %", "n"]
    assert table["resident GB"].to_list() == pytest.approx([0.5 + 100 / 1024] * 4)
    assert table["utilisation %"].to_list() == [80.0] * 4


def test_the_best_trade_off_of_batch_sizes(tmp_path: Path):
    found = known_of(BATCHES, tmp_path)
    sheet = next(sheet for sheet in found.sheets if sheet.key == "tradeoff")
    assert sheet.title == "Batch size against accuracy and time"
    assert sheet.table["setting"].to_list() == ["batch 50", "batch 20", "batch 10"]
    assert sheet.table["trade-off"].to_list()[:2] == ["on the front", "best trade-off"]
    assert any(text.startswith("Best trade-off is batch 20: accuracy ") for text in said(found))
    assert any("gain in speed that is shown: batch 50 trains 5" in text for text in said(found))
    assert "loader" not in keys(found)


def test_workers_and_batch_sizes_are_a_grid_of_loaders(tmp_path: Path):
    found = known_of(WORKERS, tmp_path)
    table = found.table("workers")
    assert table.select("batch", "saturated at").sort("batch").rows() == [(10, 2), (50, 2)]
    assert found.table("loader").columns[:3] == ["loader", "workers", "batch"]
    assert sum(text.startswith("Loader workers at batch ") for text in said(found)) == 2


def test_models_are_not_raced_against_each_other(tmp_path: Path):
    text = LOADERS.replace("model: softmax, ", "").replace("compare: {", "compare: {model: [softmax, mlp], ")
    found = known_of(text, tmp_path)
    table = found.table("speed")
    assert set(table.select("setting", "reference").iter_rows()) == {
        (f"{model} / {loader}", f"{model} / memory")
        for model in ("softmax", "mlp")
        for loader in ("memory", "workers 0", "workers 2", "workers 4")
    }
    assert sum(text.startswith("No setting is shown to be faster than") for text in said(found)) == 2
    assert found.table("loader").columns[:3] == ["model", "loader", "workers"]


def test_runs_that_shared_the_machine_have_shares_and_memory_but_no_seconds(tmp_path: Path):
    found = known_of(LOADERS, tmp_path, timing="shared")
    assert keys(found) == ["phases", "resources"]
    assert any("these were shared. Another Paceline process trained beside them" in text for text in said(found))
    assert not {"seconds", "in all"} & set(found.table("phases").columns)
    assert "utilisation %" not in found.table("resources").columns
    bars = bar_numbers(found.facts.usage)
    assert not bars.seconds
    assert over_time(found.facts, "utilisation (%)") is None
    assert over_time(found.facts, "resident memory (GB)").lines["x"].max() == 100, "against steps"


def test_another_study_has_phases_and_memory_and_no_sentence_more(tmp_path: Path):
    plain = answer(made(DIGITS, learning))
    found = answer(timed(made(DIGITS, learning), tmp_path), tmp_path)
    assert keys(found) == ["phases", "resources"]
    assert said(found) == said(plain)
    drawn = [figure.key for figure in found.figures]
    assert [key for key in drawn if key not in ("phases", "resident-memory", "utilisation")] == [
        f.key for f in plain.figures
    ]
    assert drawn[-2:] == ["resident-memory", "utilisation"]


def test_seeds_that_were_read_at_other_steps_are_one_curve_and_short_settings_none(tmp_path: Path):
    def step_of(run: Run, step: int) -> dict[str, Any]:
        if run.loader is None:
            step = 100  # one reading, that of its end
        return spent(run, step if step == 100 else step + run.seed)

    found = answer(timed(made(LOADERS, result), tmp_path, step_of), tmp_path)
    curves = over_time(found.facts, "resident memory (GB)")
    assert sorted(curves.order) == ["workers 0", "workers 2", "workers 4"]
    assert set(curves.lines["n"]) == {3}
    line = curves.lines.filter(pl.col("label") == "workers 0")
    assert line["mean"].to_list() == pytest.approx((0.5 + line["x"] / 0.005 / 1024).to_list(), rel=1e-3)
    caption = next(figure.caption for figure in found.figures if figure.key == "resident-memory")
    assert caption.endswith("Settings with fewer than two readings are left out.")


def test_records_without_telemetry_have_none_of_it(tmp_path: Path):
    plain = made(LOADERS, result)
    for folder, found in ((None, plain), (tmp_path, replace(plain, runs=plain.runs.with_columns(pack=pl.lit("p"))))):
        assert keys(answer(found, folder)) == []
        assert answer(found, folder).facts.usage is None


@pytest.mark.parametrize(
    "missing", [("work", "the work of a step was not counted"), ("probe", "this machine was not probed")]
)
def test_what_was_not_measured_is_unknown_and_said_once(tmp_path: Path, missing: tuple[str, str]):
    def poor(run: Run) -> dict[str, Any]:
        return {name: value for name, value in status(run).items() if not name.startswith(missing[0])}

    found = answer(timed(made(LOADERS, result), tmp_path, noted=poor), tmp_path)
    unknown = [text for text in said(found) if "is unknown" in text]
    assert len(unknown) == 1
    assert unknown[0].startswith(f"What limits memory is unknown: {missing[1]}")
    if missing[0] == "probe":
        assert "machine noise" not in found.table("speed").columns
        assert "was not probed" in note(found, "speed")


def test_noise_larger_than_the_effect_is_said(tmp_path: Path):
    def noisy(run: Run) -> dict[str, Any]:
        return status(run) | {"probe_after": 10.0}

    found = answer(timed(made(LOADERS, result), tmp_path, noted=noisy), tmp_path)
    assert found.table("speed")["claim"].to_list() == ["reference", *["refused"] * 3]
    assert any(text.endswith("no speed is compared: noise larger than the effect.") for text in said(found))


def test_power_energy_and_the_device_where_they_were_measured(tmp_path: Path):
    def on_device(run: Run, step: int) -> dict[str, Any]:
        device = {"allocated_bytes": 2**30, "reserved_bytes": 2**31, "device_used_bytes": 2**32, "device_bytes": 2**34}
        return spent(run, step) | device | {"copy": 1e-5 * step, "power_watts": 100.0, "energy_joules": 100.0 * step}

    found = answer(timed(made(LOADERS, result), tmp_path, on_device), tmp_path)
    row = found.table("resources").row(0, named=True)
    assert (row["allocated GB"], row["reserved GB"], row["device GB"], row["device %"]) == (1.0, 2.0, 4.0, 25.0)
    assert (row["watts"], row["joules"], row["joules per example"]) == pytest.approx((100.0, 10_000.0, 10.0))
    assert {"device-memory", "power"} <= {figure.key for figure in found.figures}
    assert "copy %" in found.table("phases").columns


def test_bars_are_stacked_to_the_seconds_of_each_setting(known: Answer):
    bars = bar_numbers(known.facts.usage)
    assert bars.seconds
    assert bars.phases == ["loader", "forward", "backward", "optimizer", "other", "evaluation"]
    ends = dict(bars.parts.group_by("name").agg(pl.col("end").max()).iter_rows())
    assert ends["workers 0"] == pytest.approx(0.51)
    touching = bars.parts.with_columns(before=pl.col("end").shift(1).over("name")).drop_nulls("before")
    assert touching["start"].to_list() == pytest.approx(touching["before"].to_list())


def test_the_charts_stand_beside_the_answer_and_in_the_page(known: Answer):
    found = [figure.key for figure in known.figures]
    assert {"phases", "resident-memory", "utilisation"} <= set(found)
    assert found.index("phases") < found.index("accuracy-step"), "a study of time shows them first"
    figure = next(figure for figure in known.figures if figure.key == "phases")
    assert spec(figure.chart)["mark"]["type"] == "bar"
    html = page(known)
    for key in ("speed", "loader", "workers", "tradeoff", "phases", "bottleneck"):
        assert f'<section id="{key}">' in html
    assert '<details id="resources">' in html


def test_the_table_of_runs_takes_what_status_says(tmp_path: Path):
    trials = expand(from_document(parse(LOADERS), tmp_path))
    folder = PackFolder(tmp_path / "p")
    details = {
        "samples_per_second": 1000.5,
        "telemetry_share": 0.001,
        "work": {"flops": 10, "bytes": 20, "calls": 3},
        "probe": {"flops": 1e9, "bytes": 1e8, "call_seconds": 1e-6, "before": 0.1, "after": 0.2, "spread": 0.01},
    }
    first, second = (
        RunState(trial.id, folder, "done", said) for trial, said in zip(trials, (details, {"work": None}), strict=False)
    )
    rows = pl.DataFrame(schema=SCHEMA)
    runs = run_table(trials, [PackState(folder, {}, (first, second))], rows)
    assert runs["samples_per_second"].to_list()[:3] == [1000.5, None, None]
    assert runs.select("work_flops", "work_bytes", "work_calls").row(0) == (10.0, 20.0, 3.0)
    assert runs.select("probe_flops", "probe_call_seconds", "probe_before", "probe_after", "probe_spread").row(0) == (1e9, 1e-6, 0.1, 0.2, 0.01)  # fmt: skip
    assert "compile_seconds" not in runs.columns, "nobody said it"
    assert not {"samples_per_second", "work_flops"} & set(run_table(trials, [], rows).columns)


def test_no_trade_off_is_said_where_a_speed_is_refused(tmp_path: Path):
    """The probe says that the machine became ten times slower on the way."""
    noisy = answer(
        timed(made(LOADERS, result), tmp_path, noted=lambda run: status(run) | {"probe_after": 10.0}), tmp_path
    )
    assert "no speed is compared" in " ".join(said(noisy))
    assert "trade-off" not in " ".join(said(noisy))
