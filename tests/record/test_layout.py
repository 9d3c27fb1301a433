import json
import threading
from pathlib import Path

import pytest

from paceline.errors import RecordError
from paceline.record.layout import (
    FORMAT,
    PackFolder,
    StudyFolder,
    cannot_write,
    make_folder,
    read_json,
    studies,
    write_json,
)


def test_every_path_lies_in_the_study_folder(tmp_path: Path) -> None:
    study = StudyFolder.of(tmp_path, "s")
    pack = study.pack("p")
    assert study.study == tmp_path / "s" / "study.json"
    assert pack.id == "p"
    files = [pack.pack, pack.machine, pack.rows, pack.status, pack.checkpoint, pack.claim]
    names = [file.relative_to(study.path).as_posix() for file in files]
    assert names == ["p/pack.json", "p/machine.json", "p/rows.jsonl", "p/status.json", "p/checkpoint", "p/claim"]


def test_packs_are_the_folders_by_name_without_hidden_ones_and_files(tmp_path: Path) -> None:
    for name in ("b", "a", ".replaced"):
        (tmp_path / name).mkdir()
    (tmp_path / "study.json").touch()
    assert [pack.id for pack in StudyFolder(tmp_path).packs()] == ["a", "b"]
    assert list(StudyFolder(tmp_path / "none").packs()) == []


def test_studies_are_the_folders_with_a_study(tmp_path: Path) -> None:
    for name in ("b", "a", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "study.json").touch()
    (tmp_path / "b" / "study.json").touch()
    assert [study.path.name for study in studies(tmp_path)] == ["a", "b"]
    assert studies(tmp_path / "none") == []


def test_set_aside_finds_a_free_name_and_deletes_nothing(tmp_path: Path) -> None:
    study = StudyFolder(tmp_path)
    (tmp_path / ".replaced" / "p.2").mkdir(parents=True)
    (tmp_path / ".replaced" / "p.2" / "rows.jsonl").touch()
    for text in ("first", "second"):
        study.pack("p").path.mkdir()
        study.pack("p").rows.write_text(text)
        study.set_aside(study.pack("p"))
    kept = {path.parent.name: path.read_text() for path in tmp_path.glob(".replaced/*/rows.jsonl")}
    assert kept == {"p.1": "first", "p.2": "", "p.3": "second"}
    assert list(study.packs()) == []


def test_set_aside_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / ".replaced").touch()
    with pytest.raises(RecordError, match=r"\.replaced: cannot be written"):
        StudyFolder(tmp_path).set_aside(PackFolder(tmp_path / "p"))


def test_leftovers_of_a_killed_process_are_dropped_and_nothing_else(tmp_path: Path) -> None:
    keep = ["pack.json", "status.json", "checkpoint", "machine.json", "rows.jsonl", "claim", ".claim.ab"]
    for name in (*keep, ".status.json.1f", ".checkpoint.77", ".machine.json.2e", ".tmpa1B2"):
        (tmp_path / name).touch()
    PackFolder(tmp_path).drop_leftovers()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(keep)


def test_json_goes_and_comes_back_and_leaves_nothing_beside(tmp_path: Path) -> None:
    for number in (1, 2):
        write_json(tmp_path / "x.json", {"format": FORMAT, "number": number})
        assert read_json(tmp_path / "x.json")["number"] == number
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"format": FORMAT})
    with pytest.raises(TypeError):
        write_json(tmp_path / "x.json", {"format": object()})
    assert read_json(tmp_path / "x.json") == {"format": FORMAT}
    (tmp_path / "folder").mkdir()
    with pytest.raises(RecordError, match=r"folder: cannot be written \(Is a directory\)"):
        write_json(tmp_path / "folder", {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "x.json"]


def test_a_folder_that_was_deleted_is_not_made_again_by_a_write(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="No such file or directory"):
        write_json(tmp_path / "gone" / "status.json", {})
    assert not (tmp_path / "gone").exists()


def test_a_reader_sees_a_whole_file_whatever_is_written_meanwhile(tmp_path: Path) -> None:
    path, over = tmp_path / "x.json", threading.Event()
    write_json(path, {"format": FORMAT, "filling": ""})

    def write() -> None:
        size = 0
        while not over.is_set():
            size = (size + 997) % 20_000
            write_json(path, {"format": FORMAT, "filling": "x" * size})

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(300):
            assert set(read_json(path)["filling"]) <= {"x"}
    finally:
        over.set()
        for writer in writers:
            writer.join()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", "{}", '{"format": 99}', "\x00", json.dumps({"format": FORMAT})[:-1], "[" * 100_000],
)
def test_what_is_no_record_is_refused_with_a_way_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(RecordError, match=r"x\.json: .*delete its folder"):
        read_json(tmp_path / "x.json")


def test_bytes_that_are_no_text_a_folder_and_nothing_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "x.json", tmp_path):
        with pytest.raises(RecordError, match="cannot be read"):
            read_json(path)
    with pytest.raises(RecordError, match="no such record"):
        read_json(tmp_path / "none.json")


def test_a_folder_where_a_file_stands_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match=r"file/s: cannot be written \(Not a directory\)"):
        make_folder(tmp_path / "file" / "s")
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_the_reason_is_given_even_by_an_error_without_a_number() -> None:
    assert "(No space left)" in str(cannot_write(Path("x"), ValueError("No space left")))
