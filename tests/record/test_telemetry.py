"""Where time went: written a line a row, read back whole, torn or spoilt."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.errors import RecordError
from paceline.record.layout import PackFolder, StudyFolder
from paceline.record.telemetry import TELEMETRY, read_telemetry
from paceline.record.writer import PackWriter, is_telemetry


def line(run: str, step: int = 10, **more: Any) -> dict[str, Any]:
    phases = {"loader": 0.1, "copy": 0, "forward": 0.3, "backward": 0.4, "exchange": 0.0, "optimizer": 0.1}
    beside = {"evaluation": 0.5, "checkpoint": 0.0}
    device = dict.fromkeys(("allocated_bytes", "reserved_bytes", "device_used_bytes", "device_bytes"))
    used = {"resident_bytes": 2**30, **device, "utilisation": 0.75, "power_watts": None, "energy_joules": None}
    return {"run": run, "step": step, "examples": 10 * step, "seconds": step / 10, **phases, **beside, **used} | more


def write(folder: PackFolder, *lines: dict[str, Any]) -> None:
    folder.path.mkdir(parents=True, exist_ok=True)
    with PackWriter(folder) as writer:
        for said in lines:
            writer.telemetry(said)


def read(folder: Path, *runs: str, pack: str = "p") -> pl.DataFrame:
    return read_telemetry(StudyFolder(folder), [(run, pack) for run in runs])


def test_lines_come_back_as_a_table_by_run_and_step(tmp_path: Path) -> None:
    write(PackFolder(tmp_path / "p"), line("b"), line("a"), line("a", 20))
    found = read(tmp_path, "a", "b")
    assert found.schema == TELEMETRY
    assert found.select("run", "step", "seconds").rows() == [("a", 10, 1.0), ("a", 20, 2.0), ("b", 10, 1.0)]
    assert found.row(0, named=True) == line("a")


def test_nothing_recorded_is_an_empty_table_with_its_columns(tmp_path: Path) -> None:
    assert read(tmp_path, "a").schema == TELEMETRY
    assert read(tmp_path, "a").is_empty()
    assert read_telemetry(StudyFolder(tmp_path), []).schema == TELEMETRY


def test_only_what_is_asked_for_is_read_each_from_its_pack(tmp_path: Path) -> None:
    write(PackFolder(tmp_path / "p"), line("a"), line("b"))
    write(PackFolder(tmp_path / "q"), line("a", loader=0.2))
    assert read(tmp_path, "b")["run"].to_list() == ["b"]
    assert read(tmp_path, "a", pack="q")["loader"].to_list() == [0.2]


def test_a_resumed_run_replaces_what_it_repeats(tmp_path: Path) -> None:
    write(PackFolder(tmp_path / "p"), line("a", 10), line("a", 20, loader=0.1), line("b", 20), line("a", 30))
    write(PackFolder(tmp_path / "p"), line("a", 20, loader=0.2))
    assert read(tmp_path, "a").select("step", "loader").rows() == [(10, 0.1), (20, 0.2)]
    assert read(tmp_path, "b")["step"].to_list() == [20]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_file_cut_anywhere_is_read_and_written_on(data: st.DataObject) -> None:
    with TemporaryDirectory() as place:
        folder = PackFolder(Path(place) / "p")
        write(folder, line("a"), line("b"))
        whole = folder.telemetry.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        os.truncate(folder.telemetry, cut)
        kept = set(read(Path(place), "a", "b")["run"])
        first = whole.index(b"\n")
        assert kept == ({"a", "b"} if cut >= len(whole) - 1 else {"a"} if cut >= first else set())
        write(folder, line("c"))
        assert set(read(Path(place), "a", "b", "c")["run"]) == kept | {"c"}


@pytest.mark.parametrize(
    "said",
    [
        "nonsense",
        json.dumps({"run": "a", "step": 1}),
        json.dumps(line("a", loader="fast")),
        json.dumps(line("a", loader=None)),
        json.dumps(line("a", loader=-0.1)),
        json.dumps(line("a", seconds=True)),
        json.dumps(line("a", examples=1.5)),
        json.dumps(line("a", resident_bytes=0.0)),
        json.dumps(line("a", resident_bytes=2**63)),
        json.dumps(line("a", power_watts=float("inf"))),
        json.dumps(line("a", utilisation="")),
    ],
)
def test_a_line_that_says_something_else_is_named(tmp_path: Path, said: str) -> None:
    folder = PackFolder(tmp_path / "p")
    write(folder, line("b"))
    with folder.telemetry.open("a") as file:
        file.write(f"{said}\n{json.dumps(line('c'))}\n")
    with pytest.raises(RecordError, match=r"p/telemetry\.jsonl:2: does not say where the time .* Take the line out"):
        read(tmp_path, "a", "b")


def test_a_later_version_may_say_more_and_what_may_be_missing_is_null(tmp_path: Path) -> None:
    few = {name: value for name, value in line("a").items() if value is not None}
    write(PackFolder(tmp_path / "p"), few | {"disk_bytes": 3})
    assert read(tmp_path, "a").row(0, named=True) == line("a")


@given(st.integers(1, 600))
def test_the_beginning_of_a_line_is_never_one(cut: int) -> None:
    text = json.dumps(line("a")).encode()
    assert is_telemetry(text)
    assert not is_telemetry(text[: min(cut, len(text) - 1)])


def test_a_record_of_before_several_devices_has_no_exchange(tmp_path: Path) -> None:
    earlier = {name: value for name, value in line("a").items() if name != "exchange"}
    write(PackFolder(tmp_path / "p"), earlier)
    assert read(tmp_path, "a")["exchange"].to_list() == [0.0]
