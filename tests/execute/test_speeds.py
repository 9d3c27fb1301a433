"""Speeds in the user's cache: read back, forgotten, and never in the way."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paceline.cache import KEPT_SECONDS
from paceline.execute import speeds
from paceline.plan.choose import Speed

KNOWN = {"row 1": Speed(1e-3, 2e-3), "stack 1": Speed(1e-5, 2e-5)}
MORE = {"row 4": Speed(3e-3, 1e-3)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def file(cache: Path) -> Path:
    (found,) = cache.glob("paceline/*")
    return found


def test_what_was_kept_is_loaded() -> None:
    assert speeds.load() == {}
    speeds.keep("a", KNOWN)
    speeds.keep("b", MORE)
    assert speeds.load() == {"a": KNOWN, "b": MORE}


def test_other_numbers_of_jobs_are_added_to_what_is_known() -> None:
    speeds.keep("a", KNOWN)
    speeds.keep("a", MORE)
    assert speeds.load() == {"a": {**KNOWN, **MORE}}
    speeds.keep("a", {"row 4": Speed(1.0, 1.0)})
    assert speeds.load()["a"]["row 4"] == Speed(1.0, 1.0)


def test_what_is_old_is_forgotten(cache: Path) -> None:
    speeds.keep("old", KNOWN)
    speeds.keep("new", KNOWN)
    entries = json.loads(file(cache).read_text())
    entries["old"]["at"] = time.time() - KEPT_SECONDS - 1
    file(cache).write_text(json.dumps(entries))
    assert speeds.load() == {"new": KNOWN}
    speeds.keep("old", MORE)
    assert speeds.load() == {"new": KNOWN, "old": MORE}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        '{"a": 1}',
        '{"a": {}}',
        '{"a": {"at": "today", "speeds": {}}}',
        '{"a": {"at": 1e12, "speeds": {"row 1": ["fast", "slow"]}}}',
        '{"a": {"at": 1e12, "speeds": {"row 1": {"step": "fast"}}}}',
        b"\xff\xfe",
    ],
)
def test_a_spoilt_file_is_as_good_as_none(cache: Path, text: str | bytes) -> None:
    speeds.keep("a", KNOWN)
    file(cache).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert speeds.load() == {}
    speeds.keep("b", MORE)
    assert speeds.load() == {"b": MORE}


def test_a_cache_that_cannot_be_written_is_no_trouble(cache: Path) -> None:
    cache.write_text("a file")
    speeds.keep("a", KNOWN)
    assert speeds.load() == {}


def test_another_machine_has_a_file_of_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speeds.keep("a", KNOWN)
    monkeypatch.setattr("paceline.record.machine.usable_cores", lambda: 1234)
    assert speeds.load() == {}
    speeds.keep("a", MORE)
    assert len(list(cache.glob("paceline/*"))) == 2
