"""The page stands alone, escapes what is not ours, scales, and draws in a real browser; files for a paper are whole."""

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from paceline.errors import RecordError
from paceline.report import scripts
from paceline.report.answer import Answer, answer
from paceline.report.figures import latex, tables, write_figures
from paceline.report.formats import tex
from paceline.report.markup import LONG, prose, table_html, text_html, texts_of
from paceline.report.page import page, write_page
from paceline.report.sheet import Sheet

from .recorded import DIGITS, TOPS, learning, made

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & \"'"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def known() -> Answer:
    return answer(
        made(DIGITS + "assumed: [weights start at 0]\npublished: {source: A report, findings: [adam wins]}\n", learning)
    )


@pytest.fixture(scope="module")
def html(known: Answer) -> str:
    return page(known)


def test_the_page_needs_nothing_from_outside(html: str):
    own = re.sub(r'<script type="module">.*?</script>', "", html, count=1, flags=re.S)
    assert not re.search(r"""<(script|link|img|iframe)[^>]+(src|href)=|@import|url\(""", own)
    assert html.count('<script type="module">') == 2
    assert "window.vegaEmbed" in html
    assert 500_000 < len(html) < 2_000_000


def test_the_page_has_every_part(known: Answer, html: str):
    for part in (*known.sentences, known.question, known.methods, "weights start at 0", "adam wins", "A report"):
        assert part.replace("'", "&#x27;") in html, part
    for sheet in known.sheets:
        assert f'id="{sheet.key}"' in html
    for figure in known.figures:
        assert f'data-chart="{figure.key}"' in html
    assert "{{" not in re.sub(r"<script.*?</script>", "", html, flags=re.S)
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_every_run_stands_there_with_its_configuration(known: Answer, html: str):
    assert all(run in html for run in known.facts.runs["run"])
    assert "What all runs share" in html
    assert "<th>model</th><td>softmax" in html
    assert "<th>order</th><td>shuffle" in html, "defaults are said too"


def test_code_stands_as_code_and_nothing_else_slips_through():
    assert prose("say `measure: time` & <b>") == "say <code>measure: time</code> &amp; &lt;b&gt;"
    assert prose("`<script>`") == "<code>&lt;script&gt;</code>"


def test_what_users_wrote_is_escaped():
    study = {
        "name": "evil",
        "question": EVIL,
        "base": {"data": "digits", "model": "softmax", "steps": 100, "lr": 0.1},
        "repeat": 2,
    }
    study |= {
        "cases": {EVIL: {"optimizer": "gd"}, "b": {"optimizer": "adam"}, "c": {"optimizer": "rmsprop"}},
        "assumed": [EVIL],
    }
    study |= {"published": {"source": EVIL, "findings": [EVIL], "rows": [{"case": "b", "accuracy": 0.5, EVIL: EVIL}]}}
    text = page(answer(made(json.dumps(study), learning)))
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "&lt;script&gt;alert(1)" in text
    specs = re.search(r'id="specs">(.*?)</script>', text, re.S)[1]
    assert EVIL[:30] in json.dumps(json.loads(specs)), "the charts still say the name as it is"


@pytest.mark.parametrize("status", ["queued", "diverged"])
def test_a_poor_study_has_a_page_too(status: str, tmp_path: Path):
    poor = answer(made(DIGITS, lambda t, s: learning(t, s) if status == "diverged" else None, status=lambda t: status))
    text = write_page(poor, tmp_path / "deep" / "page.html").read_text()
    assert poor.sentences[0] in text
    assert not list((tmp_path / "deep").glob(".*")), "nothing half-written is left"


def test_a_page_that_cannot_be_written_is_refused_in_words(known: Answer, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match=r"cannot be written \(.*\). Choose another --file"):
        write_page(known, tmp_path / "file" / "page.html")
    with pytest.raises(RecordError, match=r"cannot be written \(.*\). Choose another --figures"):
        write_figures(known, tmp_path / "file" / "figures")


def test_thousands_of_runs_become_lines_of_text():
    text = DIGITS.replace("optimizer: [gd, adam, rmsprop]", f"batch: {list(range(1, 301))}").replace(
        "model: softmax,", "model: softmax, optimizer: adam,"
    )
    many = answer(made(text.replace("repeat: 4", "repeat: 3"), learning, steps=range(0, 101, 50)))
    html = page(many)
    assert many.facts.runs.height == 2700
    assert len(html) < 5_000_000
    assert all(run in html for run in many.facts.runs["run"])
    assert html.count("<td") < 60 * LONG
    assert "Of the best 40" in many.sentences[1]


def test_the_script_is_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(scripts.vl_convert, "javascript_bundle", lambda snippet: "made")
    assert scripts.vega() == "made"
    monkeypatch.setattr(scripts.vl_convert, "javascript_bundle", lambda snippet: "made anew")
    assert scripts.vega() == "made"
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert scripts.vega() == "made anew", "a cache that cannot be written is done without"


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_without_network_draws_every_chart(known: Answer, tmp_path: Path):
    file = write_page(known, tmp_path / "page.html")
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"]  # fmt: skip
    command = [
        str(CHROMIUM),
        *quiet,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=20000",
        "--dump-dom",
        file.as_uri(),
    ]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stdout
    assert 'data-drawn="all"' in dom
    assert ">This chart could not be drawn" not in dom
    assert len(re.findall(r'<svg [^>]*class="marks"', dom)) == len(known.figures)
    assert len(re.findall(r'aria-roledescription="line mark"', dom)) > 10


def test_tables_in_html_and_text():
    table = pl.DataFrame(
        {
            "a_b": ["<x>", None],
            "accuracy": [0.9, 0.85123],
            "lr": [0.5, 0.001],
            "n": [3, None],
            "ok": [True, False],
            "stands": ["best", "not separated"],
        }
    )
    html = table_html(table)
    assert "&lt;x&gt;" in html
    assert "<th>a b</th>" in html
    assert '<tr class="best">' in html
    assert '<tr class="tied">' in html
    assert texts_of(table["accuracy"]) == ["0.9000", "0.8512"]
    assert texts_of(table["lr"]) == ["0.5", "0.001"]
    assert texts_of(table["n"]) == ["3", "-"]
    assert texts_of(table["ok"]) == ["yes", "no"]
    assert texts_of(pl.Series("loss", [1e-11, 2.0])) == ["1e-11", "2"]
    assert "&lt;x&gt;    0.9000" in text_html(table)


def test_latex_is_bold_only_for_what_is_significantly_best():
    tied = answer(made(DIGITS, learning))
    text = latex(next(s for s in tied.sheets if s.key == "best"))
    assert r"\textbf" not in text
    assert r"rmsprop$^\dagger$" in text
    assert r"adam$^\dagger$" not in text
    assert "not separated from the best" in text
    apart = answer(made(DIGITS, lambda t, s: learning(t, s, TOPS | {"rmsprop": 0.9})))
    text = latex(next(s for s in apart.sheets if s.key == "best"))
    assert re.search(r"\\textbf\{1\} & \\textbf\{adam\}", text)
    assert text.count(r"\textbf{adam}") == 1
    assert "dagger" not in text
    assert r"95 \% interval" in text
    assert all(word in text for word in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert tex(r"a_b & 50 % \{~^#$") == r"a\_b \& 50 \% \textbackslash{}\{\textasciitilde{}\textasciicircum{}\#\$"


def test_long_tables_are_csv_alone(known: Answer):
    long = Sheet("long", "Long", "", pl.DataFrame({"x": range(LONG + 1)}))
    made_ = {path.name: text for path, text in tables(replace(known, sheets=(*known.sheets, long)), Path("x"))}
    assert "long.csv" in made_
    assert not {"long.md", "long.tex"} & set(made_)
    assert {"best.md", "best.tex", "best.csv"} <= set(made_)
    rows = list(csv.DictReader(io.StringIO(made_["best.csv"].decode())))
    assert [row["optimizer"] for row in rows] == ["adam", "rmsprop", "gd"]


def test_figures_are_pictures_and_not_blank(tmp_path: Path):
    text = DIGITS.replace("tune: {lr: [0.1, 0.01, 0.001]}", "").replace("steps: 100,", "steps: 100, lr: 0.01,")
    few = answer(made(text, learning, timing="shared"))
    written = {path.name: path for path in write_figures(few, tmp_path)}
    keys = [figure.key for figure in few.figures]
    assert keys == ["best", "accuracy-step", "loss-step", "log-loss-step"]
    for key in keys:
        assert written[f"{key}.svg"].read_text().startswith("<svg")
        assert written[f"{key}.pdf"].read_bytes().startswith(b"%PDF")
        picture = Image.open(written[f"{key}.png"]).convert("RGB")
        colours = picture.getcolors(1 << 24)
        assert picture.width > 800
        assert len(colours) > 50
        assert 0.01 < 1 - max(count for count, _ in colours) / (picture.width * picture.height) < 0.6


def test_a_notebook_gets_pictures_and_no_scripts(known: Answer):
    html = known._repr_html_()
    assert known.sentences[0] in html
    assert html.count("<svg") == 2
    assert "<script" not in html
    assert "currentColor" in html


def test_a_price_is_in_the_advice_of_the_page_too():
    """Seeds are tied, so that more are advised, at what they cost."""
    assert "at this price" in page(answer(made(DIGITS, learning), price=2.0))
    assert "at this price" not in page(answer(made(DIGITS, learning)))
