"""The page is made of the numbers that were kept, section by section."""

import pytest

from bench import table
from bench.ratio import Ratio
from bench.table import Line, Section


@pytest.fixture
def docs(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "PAGE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(table, "NUMBERS", tmp_path / "benchmarks.json")
    return tmp_path


def section(value: float, target: float | None) -> Section:
    line = Line("a loop", Ratio(value, value - 1, value + 1, 9), target, [2.0, 1.0, 3.0], [20.0, 30.0, 25.0])
    return Section("(x) work", "s a run", [line], ["A note."])


@pytest.mark.parametrize(("target", "verdict"), [(10.0, "met"), (12.5, "unresolved"), (20.0, "missed"), (None, "")])
def test_a_line_says_ratio_target_verdict_and_medians(docs, target, verdict):
    table.keep("x", section(12.0, target))
    table.write(["x"])
    (row,) = [text for text in table.PAGE.read_text().splitlines() if text.startswith("| a loop")]
    said = "" if target is None else f"{target:.3g}"
    assert row == f"| a loop | 12 (11 to 13) | 9 | {said} | {verdict} | 2 | 25 |"
    assert "A note." in table.PAGE.read_text()


def test_a_section_measured_anew_leaves_the_others(docs):
    table.keep("x", section(12.0, None))
    table.keep("y", section(3.0, None))
    table.keep("x", section(5.0, None))
    assert {name: kept["lines"][0]["value"] for name, kept in table.read().items()} == {"x": 5.0, "y": 3.0}
