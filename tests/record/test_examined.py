"""What runs got wrong: written a line a run, read back whole, torn or spoilt."""

import base64
import io
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from paceline.errors import RecordError
from paceline.record.examined import Examined, Mistake, read_examined
from paceline.record.layout import PackFolder, StudyFolder
from paceline.record.writer import PackWriter, is_examined


def png(colour: int = 0) -> str:
    buffer = io.BytesIO()
    Image.new("L", (3, 2), colour).save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def line(run: str, right: int = 5, **more: Any) -> dict[str, Any]:
    worst = [{"index": 7, "truth": 0, "said": 1, "probability": 0.75, "png": png()}]
    return {"run": run, "names": ["cat", "dog"], "matrix": [[0, 0, right], [0, 1, 1], [1, 1, 4]], "worst": worst} | more


def write(folder: PackFolder, *lines: dict[str, Any]) -> None:
    folder.path.mkdir(parents=True, exist_ok=True)
    with PackWriter(folder) as writer:
        for said in lines:
            writer.examined(said)


def read(folder: Path, *runs: str, pack: str = "p") -> dict[str, Examined]:
    return read_examined(StudyFolder(folder), [(run, pack) for run in runs])


def test_a_line_comes_back_as_a_table_and_mistakes(tmp_path: Path) -> None:
    write(PackFolder(tmp_path / "p"), line("a"), line("b", 9))
    found = read(tmp_path, "a", "b")
    assert found["a"].names == ("cat", "dog")
    assert found["a"].matrix.rows() == [(0, 0, 5), (0, 1, 1), (1, 1, 4)]
    assert found["a"].worst == (Mistake(7, 0, 1, 0.75, png()),)
    assert found["b"].matrix["count"][0] == 9


def test_an_example_is_pictured_once_in_a_file_and_in_every_run_that_is_read(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path / "s" / "p")
    write(folder, line("a"), line("b"))
    assert folder.examined.read_text().count(png()) == 1
    assert [one.worst[0].png for one in read(tmp_path / "s", "b").values()] == [png()]


def test_an_example_of_other_data_has_its_own_picture(tmp_path: Path) -> None:
    other = [{"index": 7, "truth": 0, "said": 1, "probability": 0.75, "png": png(200)}]
    write(PackFolder(tmp_path / "p"), line("a", data="one"), line("b", data="two", worst=other), line("c", data="one"))
    found = read(tmp_path, "a", "b", "c")
    assert {run: said.worst[0].png for run, said in found.items()} == {"a": png(), "b": png(200), "c": png()}


def test_the_last_line_of_a_run_stands_and_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    write(PackFolder(tmp_path / "p"), line("a", 1), line("b"))
    write(PackFolder(tmp_path / "p"), line("a", 2))
    write(PackFolder(tmp_path / "q"), line("a", 3))
    assert read(tmp_path, "a")["a"].matrix["count"][0] == 2
    assert read(tmp_path, "a", pack="q")["a"].matrix["count"][0] == 3
    assert read(tmp_path, "nobody") == {}
    assert read(tmp_path, "a", pack="nowhere") == {}


def test_nothing_wrong_and_no_pictures_are_lines_too(tmp_path: Path) -> None:
    blind = [{"index": 0, "truth": 1, "said": 0, "probability": 1, "png": None}]
    write(
        PackFolder(tmp_path / "p"),
        line("a", matrix=[[0, 0, 3]], worst=[]),
        line("b", worst=blind),
        line("c", matrix=[]),
    )
    found = read(tmp_path, "a", "b", "c")
    assert found["a"].worst == ()
    assert found["b"].worst[0].png is None
    assert found["c"].matrix.is_empty()


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_a_file_cut_anywhere_is_read_and_written_on(data: st.DataObject) -> None:
    with TemporaryDirectory() as place:
        folder = PackFolder(Path(place) / "p")
        write(folder, line("a"), line("b"))
        whole = folder.examined.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        os.truncate(folder.examined, cut)
        kept = set(read(Path(place), "a", "b"))
        first = whole.index(b"\n")
        expected = {"a", "b"} if cut >= len(whole) - 1 else {"a"} if cut >= first else set()
        assert kept == expected
        write(folder, line("c"))
        assert set(read(Path(place), "a", "b", "c")) == kept | {"c"}


PICTURE = base64.b64encode(b"GIF89a").decode()


@pytest.mark.parametrize(
    "said",
    [
        "nonsense",
        json.dumps({"run": "a"}),
        json.dumps(line("a", matrix=[[0, 2, 1]])),
        json.dumps(line("a", matrix=[[0, 1]])),
        json.dumps(line("a", matrix=[["cat", "dog", 1]])),
        json.dumps(line("a", worst=[{"index": 1, "truth": 0, "said": 5, "probability": 1, "png": None}])),
        json.dumps(line("a", worst=[{"index": 1, "truth": 0, "said": 1, "probability": 1, "png": PICTURE}])),
        json.dumps(line("a", worst=[{"index": 1, "truth": 0, "said": 1, "probability": 1, "png": '"><script>'}])),
        json.dumps(line("a", worst=[{"index": 1}])),
    ],
)
def test_a_line_that_says_something_else_is_named(tmp_path: Path, said: str) -> None:
    folder = PackFolder(tmp_path / "p")
    write(folder, line("b"))
    with folder.examined.open("a") as file:
        file.write(f"{said}\n{json.dumps(line('c'))}\n")
    with pytest.raises(RecordError, match=r"p/examined\.jsonl:2: does not say what a run got wrong"):
        read(tmp_path, "a", "b")


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    folder = PackFolder(tmp_path)
    folder.examined.mkdir()
    with PackWriter(folder) as writer, pytest.raises(RecordError, match="Is a directory"):
        writer.examined(line("a"))
    with PackWriter(folder) as writer, pytest.raises(ValueError):
        writer.examined(line("a", worst=[{"probability": float("nan")}]))


@given(st.integers(1, 400))
def test_the_beginning_of_a_line_is_never_one(cut: int) -> None:
    text = json.dumps(line("a")).encode()
    assert is_examined(text)
    assert not is_examined(text[: min(cut, len(text) - 1)])
