import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.errors import RecordError
from paceline.record.layout import PackFolder, read_json, write_json
from paceline.record.writer import STATUSES, PackWriter, is_row, read_statuses

ROWS = [{"run": "a", "step": step, "loss": 1 / (step + 1), "note": "é" * step} for step in range(4)]


def write(folder: PackFolder, rows: list[dict[str, Any]]) -> None:
    with PackWriter(folder) as writer:
        for row in rows:
            writer.row(row)


def lines(folder: PackFolder) -> list[Any]:
    return [json.loads(line) for line in folder.rows.read_bytes().splitlines()]


def test_rows_are_appended_by_one_writer_after_the_other(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    write(folder, ROWS[:2])
    write(folder, ROWS[2:])
    assert lines(folder) == ROWS


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_writer_reopened_after_any_cut_goes_on_to_a_readable_file(data: st.DataObject) -> None:
    with TemporaryDirectory() as place:
        folder = PackFolder(Path(place))
        write(folder, ROWS)
        whole = folder.rows.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        os.truncate(folder.rows, cut)
        write(folder, ROWS[:1])
        kept = lines(folder)
        assert kept[:-1] == ROWS[: len(kept) - 1]
        assert kept[-1] == ROWS[0]
        assert len(kept) - 1 == sum(whole.startswith(line, 0) for line in _beginnings(whole, cut))


def _beginnings(whole: bytes, cut: int) -> list[bytes]:
    """The whole rows within the first `cut` bytes; the last needs no newline."""
    ends = [at for at, byte in enumerate(whole) if byte == 10]
    return [whole[:end] for end in ends if end <= cut]


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    write(folder, ROWS[:1])
    with folder.rows.open("ab") as file:
        file.write(b'{"run": "' + b"x" * 10_000)
    write(folder, ROWS[1:2])
    assert lines(folder) == ROWS[:2]


def test_an_editor_that_took_the_last_newline_costs_no_row(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    write(folder, ROWS)
    os.truncate(folder.rows, folder.rows.stat().st_size - 1)
    write(folder, ROWS[:1])
    assert lines(folder) == [*ROWS, ROWS[0]]


def test_a_value_that_is_not_finite_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with PackWriter(PackFolder(tmp_path)) as writer, pytest.raises(ValueError):
        writer.row({"run": "a", "step": 0, "loss": float("nan")})
    assert PackFolder(tmp_path).rows.read_bytes() == b""


def test_a_status_replaces_the_one_before_and_leaves_the_others(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    with PackWriter(folder) as writer:
        writer.status("a", "running", timing="shared")
        writer.status("b", "failed", reason="why")
        writer.status("a", "done", step=3)
    with PackWriter(folder) as writer:
        writer.status("c", "interrupted")
    assert read_statuses(folder) == {
        "a": {"status": "done", "step": 3},
        "b": {"status": "failed", "reason": "why"},
        "c": {"status": "interrupted"},
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl", "status.json"]


def test_only_known_statuses_are_written(tmp_path: Path) -> None:
    with PackWriter(PackFolder(tmp_path)) as writer, pytest.raises(AssertionError):
        writer.status("a", "finished")


def test_no_status_yet() -> None:
    assert read_statuses(PackFolder(Path("/nowhere"))) == {}


@pytest.mark.parametrize("runs", [None, [], {"a": None}, {"a": {}}, {"a": {"status": "finished"}}, {"a": "done"}])
def test_a_status_edited_by_hand_is_refused_and_kept(tmp_path: Path, runs: Any) -> None:
    folder = PackFolder(tmp_path)
    folder.status.write_text(json.dumps({"format": 1, "runs": runs}))
    with pytest.raises(RecordError, match=r"status\.json: cannot be read .* Put it back"):
        PackWriter(folder)
    assert read_json(folder.status)["runs"] == runs


def test_a_full_disk_is_said_and_what_was_written_stays(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    folder.rows.symlink_to("/dev/full")
    with PackWriter(folder) as writer, pytest.raises(RecordError, match=r"rows\.jsonl: .*No space left.*is kept"):
        writer.row(ROWS[0])


def test_a_folder_that_is_gone_or_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="No such file"), PackWriter(PackFolder(tmp_path / "gone")):
        pass
    (tmp_path / "rows.jsonl").mkdir()
    with pytest.raises(RecordError, match="Is a directory"), PackWriter(PackFolder(tmp_path)):
        pass


def test_rows_that_cannot_be_mended_or_brought_to_disk(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    os.mkfifo(folder.rows)
    with pytest.raises(RecordError, match="Illegal seek"), PackWriter(folder):
        pass
    folder.rows.unlink()
    folder.rows.symlink_to("/dev/full")
    with PackWriter(folder) as writer, pytest.raises(RecordError, match="cannot be written"):
        writer.sync()


@given(st.integers(1, 200))
def test_the_beginning_of_a_row_is_never_a_row(cut: int) -> None:
    line = json.dumps({"run": "a", "step": 10, "loss": 0.25, "W": None, "note": 'a "{}" \\ z'}).encode()
    assert is_row(line)
    assert not is_row(line[: min(cut, len(line) - 1)])


SPENT = {"run": "a", "step": 10, "seconds": 1.5, "loader": 0.25}


def test_telemetry_has_a_file_of_its_own_made_when_first_written_to(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    with PackWriter(folder) as writer:
        writer.row(ROWS[0])
        assert not folder.telemetry.exists()
        writer.telemetry(SPENT)
        writer.sync()
    with PackWriter(folder) as writer:
        writer.telemetry(SPENT | {"step": 20})
    assert [json.loads(line)["step"] for line in folder.telemetry.read_text().splitlines()] == [10, 20]
    assert lines(folder) == ROWS[:1]


def test_telemetry_that_cannot_be_written_or_is_none_is_refused(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    with PackWriter(folder) as writer:
        with pytest.raises(ValueError):
            writer.telemetry(SPENT | {"loader": float("nan")})
        with pytest.raises(AssertionError):
            writer.telemetry({"run": "a", "step": 1})
    assert not folder.telemetry.exists()
    folder.telemetry.symlink_to("/dev/full")
    with PackWriter(folder) as writer, pytest.raises(RecordError, match=r"telemetry\.jsonl: .*No space left"):
        writer.telemetry(SPENT)


def test_statuses_are_as_the_design_names_them() -> None:
    assert set(STATUSES) == {"queued", "running", "done", "diverged", "failed", "interrupted"}


ODD = [
    *({"timing": 5}, {"work": [1]}, {"work": {"flops": "many"}}, {"reason": [1]}, {"step": "4"}, {"step": -1}),
    *({"step": True}, {"sources": []}, {"data": {}}, {"probe": 3}, {"peak_bytes": 2**70}, {"imbalance": [0.5]}),
]


@pytest.mark.parametrize("said", ODD)
def test_a_status_edited_by_hand_is_named(tmp_path: Path, said: dict[str, Any]) -> None:
    folder = PackFolder(tmp_path)
    whole = {"status": "done", "reason": None, "sources": {"x": None}, "work": {"flops": 1e9, "calls": 3}}
    write_json(folder.status, {"format": 1, "runs": {"a": whole}})
    assert read_statuses(folder) == {"a": whole}
    write_json(folder.status, {"format": 1, "runs": {"a": {**whole, **said}}})
    with pytest.raises(RecordError, match=rf"status\.json: cannot be read \(run a: {next(iter(said))} is not"):
        read_statuses(folder)
