"""Two records compared: what is joined, what is refused and why, and what is said of it."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paceline.api import compare
from paceline.errors import RecordError
from paceline.plan.expand import Trial, expand
from paceline.record.layout import FORMAT, StudyFolder, write_json
from paceline.report.charts.ratios import ROWS, ratio_numbers
from paceline.report.comparison import brief, printed, table
from paceline.report.comparison_page import page, write_comparison
from paceline.report.markup import prose
from paceline.spec import plain
from paceline.spec.document import parse
from paceline.spec.study import from_document

STUDY: dict[str, Any] = {
    "name": "known",
    "base": {"data": "digits", "model": "softmax", "steps": 100},
    "compare": {"optimizer": ["gd", "adam"]},
    "tune": {"lr": [0.1, 0.01]},
    "repeat": 3,
}
MACHINE: dict[str, Any] = {
    "host": "old",
    "cpu": "Slow CPU",
    "cores": 2,
    "gpus": [],
    "device": "cpu",
    "threads": 2,
    "python": "3.11.2",
    "packages": {"torch": "2.9.0", "numpy": "2.0.0", "tensorflow": None},
    "git": {"commit": "0123456789abcdef", "dirty": True},
    "data": {"digits": "sha256:aaaa"},
}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def record(
    out: Path,
    said: dict[str, Any] = STUDY,
    *,
    seconds: Callable[[Trial], float] = lambda trial: 2.0 + 0.01 * trial.run.seed,
    accuracy: Callable[[Trial], float | None] = lambda trial: 0.9 + 0.001 * trial.run.seed,
    status: Callable[[Trial], str] = lambda trial: "done",
    machine: dict[str, Any] | None = None,
    **details: Any,
) -> Path:
    """A record as `paceline run` leaves it, each run with one row; no training."""
    study = from_document(parse(json.dumps(said)), out)
    folder = StudyFolder.of(out, study.name)
    pack = folder.pack("p")
    pack.path.mkdir(parents=True)
    trials = expand(study, own_parts=False)
    full = {"scale": "", "changed": "", "part": True}
    write_json(folder.study, {"format": FORMAT, "folder": str(out), **full, "study": said})
    write_json(pack.pack, {"format": FORMAT, "runs": [{"run": t.id, "config": plain(t.run)} for t in trials]})
    write_json(pack.machine, {"format": FORMAT, "earlier": [], **MACHINE, **(machine or {})})
    noted = {"timing": "exclusive", "sources": {}, "threads": 1, **details}
    standing = {t.id: {"status": status(t), **noted} for t in trials if status(t) != "queued"}
    write_json(pack.status, {"format": FORMAT, "runs": standing})
    rows = [
        {"run": t.id, "step": 100, "epoch": 3, "seconds": seconds(t), "loss": 0.5, "accuracy": accuracy(t)}
        for t in trials
        if t.id in standing
    ]
    pack.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder.path


def changed(**base: Any) -> dict[str, Any]:
    return {**STUDY, "base": {**STUDY["base"], **base}}


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """B is about 1.5 times as fast, and 0.002 to 0.004 less accurate."""
    new = {"host": "new", "cpu": "Fast CPU", "cores": 8, "packages": {"torch": "2.10.0", "numpy": "2.0.0"}}
    return record(tmp_path / "a"), record(
        tmp_path / "b",
        seconds=lambda t: (2.0 + 0.01 * t.run.seed) / (1.5 + 0.01 * t.run.seed),
        accuracy=lambda t: 0.897 + 0.0005 * t.run.seed,
        machine=new,
        samples_per_second=1000.0,
        peak_bytes=2**27,
    )


def test_the_same_runs_are_joined_and_the_answer_is_said(sides: tuple[Path, Path]) -> None:
    found = compare(*sides)
    assert found.pairs.height == 12
    assert found.settings["setting"].to_list() == ["gd / lr 0.1", "gd / lr 0.01", "adam / lr 0.1", "adam / lr 0.01"]
    assert set(found.settings["faster"]) == {"B"}
    speed, results, joined, machines = found.sentences
    assert speed == "B is 1.51 times as fast (1.51 to 1.51) over 4 settings."
    assert results == "Accuracy is higher in A by 0.0035 (0.0035 to 0.0035) over 4 settings, and differs in 4 of them."
    assert joined == "12 pairs of the same run in 4 settings; no run was refused."
    assert machines == "The machines differ in host, cpu, cores and torch."
    assert found.machines.rows()[-1] == ("torch", "2.9.0", "2.10.0")
    assert found.notes == ("No noise probe was recorded beside these runs; `measure: time` in a study records one.",)
    turned = compare(*reversed(sides)).sentences
    assert turned[:2] == ("A is 1.51 times as fast (1.51 to 1.51) over 4 settings.", results.replace("in A", "in B"))


def test_a_record_against_itself(sides: tuple[Path, Path]) -> None:
    found = compare(sides[0], sides[0])
    assert found.sentences == (
        "No difference in speed is shown: the times are the same over 4 settings.",
        "Accuracy is the same in every setting.",
        "12 pairs of the same run in 4 settings; no run was refused.",
        "The machines are the same, as far as recorded.",
    )
    assert "A and B are the same folder." in found.notes


def test_tables_for_reading(sides: tuple[Path, Path]) -> None:
    found = compare(*sides)
    full = table(found.settings)
    assert {"ratio", "ratio low", "A accuracy", "B accuracy", "difference", "B samples/s", "B MB"} <= set(full.columns)
    assert not {"why", "timed", "metric", "A samples/s", "A MB"} & set(full.columns), "nothing is said in them"
    assert full["B MB"][0] == 128
    short = brief(found.settings)
    assert short["time A/B"][0] == "1.51 (1.49 to 1.54)"
    text = printed(found)
    for words in ("gd / lr 0.01", "Fast CPU", "What differs in the machines:", found.text, "Note: No noise probe"):
        assert words in text


def test_cpu_against_gpu_is_the_same_run(tmp_path: Path) -> None:
    a = record(tmp_path / "a", changed(device="cpu"))
    b = record(
        tmp_path / "b", changed(device="cuda"), machine={"device": "Tesla T4", "gpus": ["Tesla T4"]}, peak_bytes=1
    )
    found = compare(a, b)
    assert found.pairs.height == 12
    assert (found.pairs["run_a"] != found.pairs["run_b"]).all()
    assert ("device", "cpu", "Tesla T4") in found.machines.rows()
    assert not found.refused.height


def test_where_the_device_is_an_axis_each_is_held_against_its_own(tmp_path: Path) -> None:
    said = {**STUDY, "tune": {"lr": [0.1]}, "compare": {"device": ["cpu", "cuda"]}, "repeat": 2}
    said["base"] = {**STUDY["base"], "optimizer": "gd"}
    a, b = record(tmp_path / "a", said), record(tmp_path / "b", said)
    assert compare(a, b).settings["setting"].to_list() == ["lr 0.1 / cpu", "lr 0.1 / cuda"]
    halves = [
        record(tmp_path / device, said, status=lambda t, device=device: "done" if t.run.device == device else "queued")
        for device in ("cpu", "cuda")
    ]
    assert compare(*halves).settings["setting"].to_list() == ["lr 0.1 / cpu against cuda"]
    found = compare(a, halves[0])
    assert found.settings["setting"].to_list() == ["lr 0.1 / cpu"]
    assert found.refused.rows() == [("lr 0.1 / cuda", "0, 1", 2, "queued in B")]


def test_what_is_not_the_same_run_is_refused_with_the_reason(tmp_path: Path) -> None:
    a = record(tmp_path / "a")
    more = {**STUDY, "tune": {"lr": [0.1, 0.5]}, "repeat": 2}
    how = {"gd": "done", "adam": "diverged"}
    b = record(tmp_path / "b", more, status=lambda t: how[t.run.optimizer.name])
    found = compare(a, b)
    assert found.settings["setting"].to_list() == ["gd / lr 0.1"]
    assert sorted(found.refused.rows()) == [
        ("adam / lr 0.01", "0, 1, 2", 3, "only in A"),
        ("adam / lr 0.1", "0, 1", 2, "diverged in B"),
        ("adam / lr 0.1", "2", 1, "only in A"),
        ("adam / lr 0.5", "0, 1", 2, "only in B"),
        ("gd / lr 0.01", "0, 1, 2", 3, "only in A"),
        ("gd / lr 0.1", "2", 1, "only in A"),
        ("gd / lr 0.5", "0, 1", 2, "only in B"),
    ]
    assert (
        found.join
        == "2 pairs of the same run in 1 setting; 14 runs refused: 8 only in A, 4 only in B and 2 diverged in B."
    )


@pytest.mark.parametrize(
    ("said", "machine", "reason"),
    [
        (changed(steps=50), {}, "another configuration: steps 100 in A, 50 in B (12 runs, such as gd / lr 0.1)"),
        (changed(batch=7, order="file"), {}, "batch 100 in A, 7 in B; order shuffle in A, file in B"),
        (changed(augment={"crop": 2}), {}, "augment unsaid in A, crop 2 in B"),
        (STUDY, {"data": {"digits": "sha256:bbbb"}}, "other data: digits is aaaa in A, bbbb in B (12 runs"),
        (STUDY, {"data": {}}, "machine.json of B does not say which data it was trained on"),
    ],
)
def test_where_nothing_can_be_joined_the_error_says_why(
    tmp_path: Path, said: dict[str, Any], machine: dict[str, Any], reason: str
) -> None:
    a, b = record(tmp_path / "a"), record(tmp_path / "b", said, machine=machine)
    with pytest.raises(RecordError, match=f"no run of .* is the same run in .*(\n.*)*{re.escape(reason)}"):
        compare(a, b)


def test_other_sources_of_own_parts_or_weights_are_refused(tmp_path: Path) -> None:
    said = changed(model="mine:net")
    a = record(tmp_path / "a", said, sources={"mine:net": "1111", "of_another_run:net": "1"})
    same = record(tmp_path / "same", said, sources={"mine:net": "1111"})
    assert compare(a, same).pairs.height == 12, "a stack notes the sources of all its runs"
    for sources, reason in (
        ({"mine:net": "2222"}, "another source of mine:net: 1111 in A, 2222 in B"),
        ({}, "the source of mine:net is not recorded on both sides"),
    ):
        other = record(tmp_path / reason[:10], said, sources=sources)
        with pytest.raises(RecordError, match=reason):
            compare(a, other)


def test_nothing_has_ended_on_either_side(tmp_path: Path) -> None:
    a, b = (record(tmp_path / side, status=lambda t: "queued") for side in "ab")
    with pytest.raises(RecordError, match=r"ended on neither side \(12 runs\)"):
        compare(a, b)
    c = record(tmp_path / "c")
    with pytest.raises(RecordError, match=r"queued in B \(12 runs, such as"):
        compare(c, b)
    d = record(tmp_path / "d", status=lambda t: "done" if t.run.seed < 2 else "queued")
    found = compare(d, d)
    assert "4 runs of the studies have ended on neither side." in found.notes


def test_times_are_refused_unless_both_were_alone_and_results_stand(tmp_path: Path) -> None:
    a, b = record(tmp_path / "a"), record(tmp_path / "b", timing="stacked")
    found = compare(a, b)
    assert found.sentences[0] == "No claim about speed: B was timed stacked, not exclusive."
    assert found.sentences[1] == "Accuracy is the same in every setting."
    assert "No claim about the speed of 4 settings: B was timed stacked, not exclusive." in found.notes
    assert "time of A" not in json.dumps(found.figures[0].chart.to_dict())


def test_noise_and_single_pairs_claim_nothing(tmp_path: Path) -> None:
    one = {**STUDY, "tune": {"lr": [0.1]}, "compare": {"optimizer": ["gd"]}}
    calm = {"before": 1.0, "after": 1.0}
    a = record(tmp_path / "a", one, probe=calm)
    b = record(tmp_path / "b", one, seconds=lambda t: 1.8 + 0.009 * t.run.seed, probe={"before": 1.0, "after": 1.4})
    said = compare(a, b).sentences[0]
    assert said.startswith("No claim about speed: the noise probe moved by 40 %, the times differ by 11 %.")
    assert said.endswith("As measured, B is 1.11 times as fast (1.11 to 1.11) over 1 setting.")
    single = {**one, "repeat": 1}
    c, d = record(tmp_path / "c", single), record(tmp_path / "d", single, seconds=lambda t: 1.0, accuracy=lambda t: 0.8)
    sentences = compare(c, d).sentences
    assert (
        sentences[0] == "No claim about speed: one pair: no interval. As measured, B is 2 times as fast over 1 setting."
    )
    assert sentences[1] == "Accuracy of A less that of B is 0.1, from one pair: no claim."


def test_settings_that_disagree_are_counted(tmp_path: Path) -> None:
    a = record(tmp_path / "a")
    factor = {("gd", 0.1): 0.5, ("gd", 0.01): 0.6, ("adam", 0.1): 2.0, ("adam", 0.01): 1.0}
    b = record(tmp_path / "b", seconds=lambda t: (2 + 0.02 * t.run.seed) * factor[t.run.optimizer.name, t.run.lr])
    found = compare(a, b).sentences
    assert found[0].startswith("No difference in speed is shown: B is 1.1")
    for words in ("B is faster in 2", "A is faster in 1", "no difference is shown in 1"):
        assert words in found[1]


def test_a_loss_is_compared_where_there_is_no_accuracy(tmp_path: Path) -> None:
    a, b = (record(tmp_path / side, accuracy=lambda t: None) for side in "ab")
    found = compare(a, b)
    assert set(found.settings["metric"]) == {"loss"}
    assert found.sentences[1] == "Loss is the same in every setting."


def test_folders_of_records_are_joined_by_name(tmp_path: Path) -> None:
    other = {**STUDY, "name": "other", "tune": {"lr": [0.1]}}
    for side in "ab":
        record(tmp_path / side)
        record(tmp_path / side, other)
    record(tmp_path / "a", {**STUDY, "name": "mine"})
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found.settings.height == 6
    assert {"known: gd / lr 0.1", "other: gd / lr 0.1"} <= set(found.settings["setting"])
    assert "mine: the study is only in A." in found.notes
    assert found.refused.rows() == [("mine: all", "", 0, "the study is only in A")]


def test_folders_that_cannot_be_compared(tmp_path: Path) -> None:
    a, b = record(tmp_path / "a"), record(tmp_path / "b", {**STUDY, "name": "other"})
    assert compare(a, b).pairs.height == 12, "names are no part of a run"
    (tmp_path / "empty").mkdir()
    for one, two, words in (
        (tmp_path / "nowhere", a, "nowhere: no such folder"),
        (a, tmp_path / "empty", "empty: no records"),
        (a, tmp_path / "b", "b a folder of records. Say which of them: other"),
        (tmp_path / "a", b, "other is the record of one study"),
        (tmp_path / "a", tmp_path / "b", "no study is recorded in both: .* has known; .* has other"),
    ):
        with pytest.raises(RecordError, match=words):
            compare(one, two)


def test_the_chart_has_the_numbers_of_the_table(sides: tuple[Path, Path], tmp_path: Path) -> None:
    settings = compare(*sides).settings
    found = ratio_numbers(settings)
    assert found.times["value"].to_list() == settings["ratio"].to_list()
    assert set(found.times["who"]) == {"B"}
    assert set(found.gaps["who"]) == {"A"}
    many = {**STUDY, "tune": {"lr": [0.001 * n for n in range(1, 31)]}, "repeat": 1}
    big = compare(*(record(tmp_path / f"many{side}", many) for side in "ab"))
    found = ratio_numbers(big.settings)
    assert (len(found.order), found.left_out) == (ROWS, 20)
    assert "The first 40 of 60." in big.figures[0].caption
    assert "... and 30 more lines: on the page." in printed(big)


def test_the_page(sides: tuple[Path, Path], tmp_path: Path) -> None:
    found = compare(*sides)
    html = page(found)
    own = re.sub(r'<script type="module">.*?</script>', "", html, count=1, flags=re.S)
    assert not re.search(r"""<(script|link|img|iframe)[^>]+(src|href)=|@import|url\(""", own)
    for words in (
        *found.sentences,
        *map(prose, found.notes),
        "Fast CPU",
        'id="times"',
        'id="results"',
        'id="machines"',
        'data-chart="ratios"',
    ):
        assert words in html, words
    assert "prefers-color-scheme: dark" in html
    assert "{{" not in own
    assert html.count('<script type="module">') == 2
    assert 'id="refused"' not in html
    fragment = found._repr_html_()
    assert "<svg" in fragment
    assert "<script" not in fragment
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot be written"):
        write_comparison(found, tmp_path / "file" / "page.html")


def test_what_users_wrote_is_escaped(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    said = {
        **STUDY,
        "compare": {},
        "tune": {},
        "base": {**STUDY["base"], "lr": 0.1},
        "cases": {evil: {"optimizer": "gd"}},
    }
    html = page(compare(*(record(tmp_path / side, said, machine={"host": side + evil}) for side in "ab")))
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_without_network_draws_the_chart(sides: tuple[Path, Path], tmp_path: Path) -> None:
    file = write_comparison(compare(*sides), tmp_path / "deep" / "compare.html")
    assert [path.name for path in file.parent.iterdir()] == ["compare.html"]
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=20000",
        "--dump-dom",
    ]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run([*command, profile, file.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert 'data-drawn="all"' in done.stdout
    assert "could not be drawn" not in re.sub(r"<script.*?</script>", "", done.stdout, flags=re.S)
    assert done.stdout.count("<svg") >= 1


def test_a_run_is_known_by_the_data_that_it_saw_itself(tmp_path):
    """machine.json has what the last run of the pack saw."""
    a = record(tmp_path / "a", data="sha256:aaaa")
    b = record(tmp_path / "b", data="sha256:bbbb")
    with pytest.raises(RecordError, match="other data: digits is aaaa in A, bbbb in B"):
        compare(a, b)
