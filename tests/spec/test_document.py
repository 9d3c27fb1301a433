"""YAML into plain values: what is read, with which line, and what no file can do."""

import json
import math
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import StudyError
from paceline.spec.document import MAX_BYTES, MAX_DEPTH, Document, parse, read, scalar

from .conftest import Refused
from .studies import study

printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn", "Co"]), max_size=20)
printable = printable.filter(
    lambda text: not re.fullmatch(r"[-+]?[\d.]+[eE][-+]?\d+", text)
)  # PyYAML takes 1e3 for text
numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | numbers | printable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(printable, inner, max_size=4),
    max_leaves=20,
)


@given(plain)
def test_json_is_read_as_json_reads_it(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse(text).data == json.loads(text)


@given(plain)
def test_block_style_is_read_back(value: object) -> None:
    text = yaml.safe_dump(json.loads(json.dumps(value)), allow_unicode=True)
    assert parse(text.replace("\n...\n", "\n")).data == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("-.5", -0.5),
        ("+7", 7),
        ("007", 7),
        ("1.", 1.0),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("9" * 400, math.inf),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        *(
            (word, word)
            for word in ("no", "on", "yes", "off", "y", "N", "1_000", "12:30:45", "2024-01-01", "1e", "0x1F")
        ),
    ],
)
def test_words_and_numbers_are_those_of_yaml_1_2(text: str, value: object) -> None:
    read = scalar(text)
    assert read == value
    assert type(read) is type(value)


def test_nan_is_a_number() -> None:
    assert math.isnan(scalar(".NaN"))


@pytest.mark.parametrize("text", ["'1e-3'", '"1e-3"', "|-\n  1e-3", ">-\n  1e-3"])
def test_quoted_stays_a_string(text: str) -> None:
    assert parse(f"a: {text}").data == {"a": "1e-3"}


def test_each_value_has_the_line_of_its_key() -> None:
    document = parse("a:\n  b:\n    - 1\n    - c: 2\nd: 3\n", "f.yaml")
    assert document.data == {"a": {"b": [1, {"c": 2}]}, "d": 3}
    wanted = {(): 1, ("a",): 1, ("a", "b"): 2, ("a", "b", 0): 3, ("a", "b", 1): 4, ("a", "b", 1, "c"): 4, ("d",): 5}
    assert document.lines == wanted
    assert document.where(("a", "b", 1, "unsaid", "deeper")) == "f.yaml:4"
    assert str(document.error(("a", "b", 0), "no.")) == "f.yaml:3: a.b.0: no."


def test_a_document_without_lines_still_says_its_name() -> None:
    assert Document("<mapping>", {}).where(("a",)) == "<mapping>"


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_nothing_is_none(text: str) -> None:
    assert parse(text).data is None


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert read(file).data == {"name": "a"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nname: b\n", "study.yaml:2: the key 'name' stands here twice."),
        (study("cases:\n  a: {lr: 1}\n  a: {lr: 2}\n"), "study.yaml:10: the key 'a' stands here twice."),
        ("name: a\nbase: {data: digits\ncompare: [\n", "study.yaml:3: is not valid YAML: did not find expected"),
        ("name: a\nbase:\n\tdata: digits\n", "study.yaml:3: is not valid YAML: found character"),
        ("é: é\nquestion: \x01\n", "study.yaml:2: is not valid YAML: unacceptable character #x0001"),
        (b"name: a\nquestion: \xe9\n", "study.yaml:2: is not UTF-8 text (byte 18)."),
        (study().encode("utf-16"), "study.yaml:1: is not UTF-8 text (byte 0)."),
        ("a: 1\n" * 2_000_001, "study.yaml: is too long; a study has at most 2,000,000 bytes."),
        ("[" * 100_000, f"study.yaml:1: nested deeper than {MAX_DEPTH} levels."),
        ("{a: " * 100_000, f"study.yaml:1: nested deeper than {MAX_DEPTH} levels."),
        ("- " * 100_000, f"study.yaml:1: nested deeper than {MAX_DEPTH} levels."),
        ("a: &a [x, x]\nb: &b [*a, *a]\n", "study.yaml:1: anchors and aliases (& and *) are not allowed"),
        ("a: 1\nb: *a\n", "study.yaml:2: anchors and aliases (& and *) are not allowed"),
        ("a: 1\nb: !!str 1\n", "study.yaml:2: the tag tag:yaml.org,2002:str is not allowed"),
        (study() + "---\nname: b\n", "study.yaml:8: a second YAML document; a study is one."),
        ("? [a]\n: b\n", "study.yaml:1: a key must be a word, not a list or a mapping."),
        ("- a\n", "study.yaml:1: a study is a mapping with name, base"),
        ("", "study.yaml: a study is a mapping with name, base"),
    ],
)
def test_unreadable_files_are_refused(refused: Refused, text: str | bytes, message: str) -> None:
    assert refused(text).startswith(message)


def test_a_tag_runs_nothing(refused: Refused, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    said = refused(f"name: a\nbase: !!python/object/apply:pathlib.Path.touch ['{mark}']\n")
    assert said.startswith("study.yaml:2: the tag tag:yaml.org,2002:python/object/apply:pathlib.Path.touch is not")
    assert not mark.exists()


def test_a_file_of_ten_megabytes_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "long.yaml"
    file.write_bytes(b"#" * 10_000_000)
    with pytest.raises(StudyError, match=r"long.yaml: is too long; a study has at most 2,000,000 bytes"):
        read(file)
    file.write_bytes(b"#" * MAX_BYTES)
    assert read(file).data is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.yaml", "no such file"),
        ("folder.yaml", "cannot be read: Is a directory"),
        ("a.yaml/b", "cannot be read"),
    ],
)
def test_a_path_that_is_no_file(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "a.yaml").touch()
    with pytest.raises(StudyError, match=message) as error:
        read(tmp_path / name)
    assert error.value.where == str(tmp_path / name)
