"""Predictions against measurements: how cells, verdicts and paces are made; nothing here is timed."""

import dataclasses

import pytest

from bench import published, scaling, table
from bench.net import namespaces
from paceline.execute.anatomy import Costs, Work

WORK = Work(75, 0.03, (0.0, 0.04), (4_000, 12_996_000), ((1_000,), (1500, 2166)), 0.01)
FOUND = scaling.Calibrated(
    {"none": WORK, "fp16": WORK, "powersgd": WORK},
    {"none": Costs(1e-3, 1e-9, True), "fp16": Costs(1e-3, 2e-9, True), "powersgd": Costs(1e-3, 1e-9, True)},
)


def measured(link="localhost", compress="none", seconds=0.1, predicted=0.1, unpaced=0.1):
    return {
        "link": link,
        "compress": compress,
        "measured": seconds,
        "predicted": predicted,
        "unpaced": unpaced,
        "pace": 1,
    }


def test_a_cell_is_the_median_of_its_rounds():
    rounds = [measured(predicted=value, unpaced=0.2) for value in (0.09, 0.105, 0.2)]
    (cell,) = scaling.cells("net", rounds)
    assert (cell["miss, %"], cell["least"], cell["most"]) == pytest.approx((5, -10, 100))
    assert cell["measured, ms"] == pytest.approx(100)
    assert cell["miss without the probe, %"] == pytest.approx(100)
    assert cell["rounds"] == 3
    two = scaling.cells("net", [measured(), measured("1 Gbit/s"), measured(), measured("1 Gbit/s", "fp16")])
    assert [(cell["link"], cell["compression"], cell["rounds"]) for cell in two] == [
        ("localhost", "none", 2),
        ("1 Gbit/s", "none", 1),
        ("1 Gbit/s", "fp16", 1),
    ]


@pytest.mark.parametrize(
    ("misses", "held"), [([5, -9], "met"), ([11, 11], "missed"), ([1, 1, -26], "missed"), ([10, -25, 1], "met")]
)
def test_the_aim_is_of_sizes_not_of_signs(misses, held):
    said = scaling.verdict([{"miss, %": float(miss)} for miss in misses])
    assert said.endswith(f"25 %: {held}).")
    assert f"worst {max(map(abs, misses)):.1f} %" in said


def test_a_prediction_by_hand():
    run = scaling.RUNS["lab_cnn"]
    local = scaling.predicted(FOUND, run, "none", "localhost", 1.0)
    assert local == pytest.approx(0.08 + 1e-3 + 13e6 * 1e-9)
    slow = scaling.predicted(FOUND, run, "none", "200 Mbit/s", 1.0)
    assert slow == pytest.approx(0.08 + 1e-3 + 13e6 / (2e8 / 8 * 1448 / 1514))
    half = scaling.predicted(FOUND, run, "fp16", "200 Mbit/s", 1.0)
    assert half == pytest.approx(0.08 + 1e-3 + 6.5e6 / (2e8 / 8 * 1448 / 1514))


def test_the_pace_is_of_the_machine_and_never_of_the_link():
    run = scaling.RUNS["lab_cnn"]
    assert scaling.predicted(FOUND, run, "none", "localhost", 2.0) == pytest.approx(
        2 * scaling.predicted(FOUND, run, "none", "localhost", 1.0)
    )
    sent = 13e6 / (2e8 / 8 * 1448 / 1514)
    assert scaling.predicted(FOUND, run, "none", "200 Mbit/s", 2.0) == pytest.approx(2 * 0.081 + sent)


def test_where_no_namespaces_can_be_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(namespaces.shutil, "which", lambda tool: None)
    assert namespaces.lacking() == "this machine has no `ip`"
    monkeypatch.setattr(namespaces.shutil, "which", lambda tool: tool)
    monkeypatch.setattr(namespaces.os, "geteuid", lambda: 1000)
    assert namespaces.lacking() == "namespaces need root"


def test_a_section_without_namespaces_measures_localhost_alone(monkeypatch):
    class Pair:
        def __init__(self, apart, port):
            assert not apart

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def ask(self, do, **said):
            from dataclasses import asdict

            if do == "exchange":
                return [{kind: [(1e3, 1e-3), (1e6, 2e-3)] for kind in said["kinds"]}]
            return [asdict(WORK)] * 2 if do == "profile" else [0.1, 0.1]

    monkeypatch.setattr(scaling, "Pair", Pair)
    monkeypatch.setattr(namespaces, "lacking", lambda: "of a reason")
    made = scaling.section("lab_cnn", 2)
    assert {row["link"] for row in made.rows} == {"localhost"}
    assert len(made.rows) == len(scaling.COMPRESSED)
    assert "Two emulated nodes: not measured, because of a reason." in made.notes


def test_the_table_shows_every_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(table, "NUMBERS", tmp_path / "numbers.json")
    rows = scaling.cells("net", [measured(), measured("1 Gbit/s", predicted=0.12)])
    table.keep("links-lab_cnn", table.Section("links", "", [], ["A note."], rows=rows))
    table.write(["links-lab_cnn"])
    lines = table.PAGE.read_text().splitlines()
    assert [line.split(" | ")[1] for line in lines if line.startswith("| net |")] == ["localhost", "1 Gbit/s"]
    assert "| --- | --- | --- | ---: | ---: |" in table.PAGE.read_text()
    monkeypatch.setattr(scaling, "read", table.read)
    together = scaling.together()
    assert "over 2 cells" in together.notes[0]
    assert any(note.startswith("1 Gbit/s: ") for note in together.notes)


def test_published_tables_are_the_gallerys():
    points = published.times("msoe-caltech", "minutes")
    assert points["devices"].to_list() == [2, 4, 8]
    assert points["seconds"].to_list() == pytest.approx([98.5 * 60, 41.7 * 60, 23.12 * 60])
    made = published.section()
    assert {row["says"] for row in made.rows if row["table"] == "upc-gpus"} == {"no gain"}
    assert "usl has 3 parameters and 2 measured points" in made.notes[0]


def test_devices_side_by_side_are_as_fast_as_on_average():
    found = scaling.work([dataclasses.asdict(each) for each in (WORK, WORK.scaled(3.0))])
    assert found.step_seconds == pytest.approx(2 * WORK.step_seconds)
    assert found.backward_seconds == pytest.approx((0.0, 0.08))
    assert found.jitter == WORK.jitter
