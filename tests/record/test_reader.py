import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.errors import RecordError, StudyError
from paceline.record.claim import Claim
from paceline.record.layout import PackFolder, StudyFolder, write_json
from paceline.record.reader import SCHEMA, PackState, read_machines, read_packs, read_rows, read_study, states
from paceline.record.writer import STATUSES, PackWriter


def row(run: str, step: int, **more: Any) -> dict[str, Any]:
    return {"run": run, "step": step, "loss": 1.0, **more}


def make(folder: PackFolder, rows: list[dict[str, Any]], **statuses: str) -> None:
    """A pack as a worker leaves it."""
    runs = list(dict.fromkeys([*(r["run"] for r in rows), *statuses]))
    folder.path.mkdir(parents=True, exist_ok=True)
    write_json(folder.pack, {"format": 1, "runs": [{"run": run, "config": {}} for run in runs]})
    with PackWriter(folder) as writer:
        for values in rows:
            writer.row(values)
        for run, status in statuses.items():
            writer.status(run, status)


def table(folder: Path) -> pl.DataFrame:
    return read_rows(read_packs(StudyFolder(folder)))


def steps(folder: Path, run: str = "a") -> list[int]:
    return table(folder).filter(pl.col("run") == run)["step"].to_list()


def test_rows_come_back_as_one_table_sorted_with_extras_last(tmp_path: Path) -> None:
    make(PackFolder(tmp_path / "p2"), [row("b", 0, W=1), row("b", 5, W=None)])
    make(PackFolder(tmp_path / "p1"), [row("c", 1, loss=None, nonfinite=True), row("a", 2, loss=0.1)])
    found = table(tmp_path)
    assert found.columns == [*SCHEMA, "W"]
    assert found.select("run", "step", "loss", "nonfinite", "W").rows() == [
        ("a", 2, 0.1, None, None),
        ("b", 0, 1.0, None, 1.0),
        ("b", 5, 1.0, None, None),
        ("c", 1, None, True, None),
    ]


def test_no_rows_yet_is_a_table_of_the_same_columns(tmp_path: Path) -> None:
    assert read_rows([]).schema == table(tmp_path).schema == pl.Schema(SCHEMA)
    make(PackFolder(tmp_path / "p"), [], a="queued")
    assert table(tmp_path).schema == pl.Schema(SCHEMA)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
@settings(max_examples=40, deadline=None)
def test_a_number_comes_back_bit_for_bit(values: list[float]) -> None:
    with TemporaryDirectory() as place:
        make(PackFolder(Path(place) / "p"), [row("a", i, loss=value, W=value) for i, value in enumerate(values)])
        found = table(Path(place))
        assert [v.hex() for v in found["loss"]] == [v.hex() for v in found["W"]] == [v.hex() for v in values]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_beginning_of_a_file_is_readable_and_gives_a_beginning_of_the_rows(data: st.DataObject) -> None:
    rows = [row("a", step, W=step / 3) for step in range(6)]
    with TemporaryDirectory() as place:
        folder = PackFolder(Path(place) / "p")
        make(folder, rows)
        whole = folder.rows.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        os.truncate(folder.rows, cut)
        found = steps(Path(place))
        assert found == list(range(len(found)))
        assert len(found) >= whole[:cut].count(b"\n")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5)), max_size=30))
@settings(max_examples=80, deadline=None)
def test_the_last_row_of_a_run_and_step_wins_and_outlives_all_that_it_follows(written: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as place:
        make(PackFolder(Path(place) / "p"), [row(run, step, W=i) for i, (run, step) in enumerate(written)])
        found = table(Path(place))
        kept = found.select("run", "step", "W").rows() if "W" in found.columns else []
    expected: dict[str, list[tuple[str, int, float]]] = {"a": [], "b": []}
    for i, (run, step) in enumerate(written):
        expected[run] = [*(old for old in expected[run] if old[1] < step), (run, step, float(i))]
    assert kept == [*expected["a"], *expected["b"]]


def test_a_run_started_anew_leaves_no_row_of_its_first_life(tmp_path: Path) -> None:
    make(PackFolder(tmp_path / "p"), [row("a", s) for s in (0, 10, 20, 30)] + [row("a", s) for s in (0, 10, 15)])
    assert steps(tmp_path) == [0, 10, 15]


def test_where_two_packs_hold_a_run_its_rows_are_of_the_one_that_got_furthest(tmp_path: Path) -> None:
    make(PackFolder(tmp_path / "p1"), [row("a", 0), row("a", 9), row("b", 0)], a="done", b="interrupted")
    make(PackFolder(tmp_path / "p2"), [row("a", 0), row("a", 3), row("b", 0, W=2), row("b", 7)], a="failed", b="done")
    assert steps(tmp_path) == [0, 9]
    assert steps(tmp_path, "b") == [0, 7]
    found = states(read_packs(StudyFolder(tmp_path)))
    assert {run: (state.pack.id, state.status) for run, state in found.items()} == {
        "a": ("p1", "done"),
        "b": ("p2", "done"),
    }


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "5",
        "[]",
        "null",
        '{"run": "a"}',
        '{"step": 1}',
        '{"run": "a", "step": 1.5}',
        '{"run": "a", "step": 1, "loss": "x"}',
        '{"run": "a", "step": 1, "loss": NaN}',
        '{"run": "a", "step": 1} x',
        '{"run": "a", "step": 1, "loss": [1]}',
        '{"run": "a", "step": "1"}',
        "\x00\x00",
        '{"run": "a", "step": 1, "loss": 1e999}',
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: str) -> None:
    make(PackFolder(tmp_path / "p1"), [row("b", 0)])
    folder = PackFolder(tmp_path / "p2")
    make(folder, [row("a", 0)])
    with folder.rows.open("a") as file:
        file.write(f"{line}\n{json.dumps(row('a', 2))}\n")
    with pytest.raises(RecordError, match=r"p2/rows\.jsonl:2: not a row"):
        table(tmp_path)


def test_a_blank_line_is_no_harm_and_a_column_of_two_kinds_is_said(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path / "p")
    make(folder, [row("a", 0)])
    with folder.rows.open("a") as file:
        file.write(f"\n\n{json.dumps(row('a', 1))}\n")
    assert steps(tmp_path) == [0, 1]
    with folder.rows.open("a") as file:
        file.write(json.dumps(row("a", 2, epoch=0.5)) + "\n")
    with pytest.raises(RecordError, match="values of several types"):
        table(tmp_path)


def test_a_run_is_interrupted_when_nobody_alive_claims_it(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path / "p")
    make(folder, [row("a", 0)], a="running", b="queued")
    assert [state.status for state in read_packs(StudyFolder(tmp_path))[0].runs] == ["interrupted", "queued"]
    with Claim(folder.claim):
        assert [state.status for state in read_packs(StudyFolder(tmp_path))[0].runs] == ["running", "queued"]


def test_only_done_and_diverged_have_ended(tmp_path: Path) -> None:
    make(PackFolder(tmp_path / "p"), [row("a", 0)], **{f"r{i}": status for i, status in enumerate(STATUSES)})
    found = states(read_packs(StudyFolder(tmp_path)))
    assert {state.status for state in found.values() if state.ended} == {"done", "diverged"}


def test_a_pack_that_was_never_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    assert read_packs(StudyFolder(tmp_path)) == []


@pytest.mark.parametrize("runs", [None, 5, ["a"], [{}], [{"run": None}], [{"run": ["a"]}]])
def test_a_pack_edited_by_hand_is_refused(tmp_path: Path, runs: Any) -> None:
    folder = PackFolder(tmp_path / "p")
    folder.path.mkdir()
    write_json(folder.pack, {"format": 1, "runs": runs})
    with pytest.raises(RecordError, match=r"pack\.json: cannot be read \(it has no list of runs\)"):
        read_packs(StudyFolder(tmp_path))


def test_rows_that_are_gone_though_runs_have_ended(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path / "p")
    make(folder, [row("a", 0)], a="done")
    folder.rows.unlink()
    with pytest.raises(RecordError, match=r"rows\.jsonl: .*it is gone.*delete its folder"):
        read_packs(StudyFolder(tmp_path))


@pytest.mark.parametrize("status", ["done", "diverged"])
@pytest.mark.parametrize(("kept", "end"), [(2, "10"), (0, "none")])
def test_rows_that_end_before_their_run_are_refused(tmp_path: Path, status: str, kept: int, end: str) -> None:
    folder = PackFolder(tmp_path / "p")
    make(folder, [row("b", 0), *(row("a", step) for step in (0, 10, 20))])
    with PackWriter(folder) as writer:
        writer.status("a", status, step=20)
        writer.status("b", "interrupted", step=5)
    assert steps(tmp_path) == [0, 10, 20]
    folder.rows.write_text("".join(folder.rows.read_text().splitlines(keepends=True)[: kept + 1]))
    with pytest.raises(
        RecordError, match=rf"p/rows\.jsonl: not whole: run a ended at step 20, and its rows at {end}\."
    ):
        table(tmp_path)


def test_a_study_comes_back_or_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    base = {"data": "line", "model": "line", "loss": "mse", "optimizer": "gd", "lr": 0.1, "steps": 3}
    said = {"format": 1, "folder": "/nowhere", "scale": "", "changed": "", "part": True}
    write_json(folder.study, {**said, "study": {"name": "s", "base": base}})
    study = read_study(folder)
    assert (study.name, study.base, study.folder) == ("s", base, Path("/nowhere"))
    for spoilt in (
        {"format": 1, "study": {}},
        said,
        {**said, "folder": 5, "study": {}},
        {**said, "part": 1, "study": {}},
    ):
        write_json(folder.study, spoilt)
        with pytest.raises(RecordError, match=r"study\.json: has no study"):
            read_study(folder)
    for wrong in ([], {"name": "s", "bases": {}}):
        write_json(folder.study, {**said, "study": wrong})
        with pytest.raises(StudyError, match=r"study\.json"):
            read_study(folder)


ODD = [
    *({"git": "x"}, {"git": {}}, {"data": [1]}, {"data": {"line": 5}}, {"gpus": 3}, {"gpus": [1]}, {"earlier": [1]}),
    *({"earlier": {}}, {"earlier": [{"git": 5}]}, {"packages": []}, {"sources": "x"}, {"cores": "two"}, {"device": 1}),
]


@pytest.mark.parametrize("said", ODD)
def test_a_machine_edited_by_hand_is_passed_over(tmp_path: Path, said: dict[str, Any]) -> None:
    for pack, more in (("p", {}), ("q", said)):
        (tmp_path / pack).mkdir()
        write_json(tmp_path / pack / "machine.json", {"format": 1, "host": "h", "git": None, "earlier": [], **more})
    assert {pack: len(found) for pack, found in read_machines(StudyFolder(tmp_path)).items()} == {"p": 1}


def test_states_of_one_pack_keep_its_order(tmp_path: Path) -> None:
    make(PackFolder(tmp_path / "p"), [], z="queued", a="failed", m="queued")
    (pack,) = read_packs(StudyFolder(tmp_path))
    assert isinstance(pack, PackState)
    assert [state.run for state in pack.runs] == ["z", "a", "m"]
