"""What the best setting got wrong: counts over seeds, pairs, pictures, the chart and the tables, as recorded."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from paceline.record.examined import Examined, Mistake
from paceline.report.answer import Answer, answer
from paceline.report.charts import spec
from paceline.report.charts.confusion import CLASSES as MOST
from paceline.report.charts.confusion import confusion_numbers
from paceline.report.figures import tables
from paceline.report.page import page
from paceline.report.wrong import MISTAKES, Wrong, _surest

from .recorded import CLASSES, DIGITS, examined, learning, made, mistaken, picture


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    folder = tmp_path_factory.mktemp("record")
    return answer(examined(made(DIGITS, learning), folder), folder)


@pytest.fixture(scope="module")
def wrong(known: Answer) -> Wrong:
    assert known.facts.wrong
    return known.facts.wrong


def test_counts_are_summed_over_the_seeds_of_the_best_setting(wrong: Wrong):
    assert (wrong.label, wrong.at, wrong.seeds, wrong.names) == ("adam", "lr 0.01", 4, CLASSES)
    assert wrong.setting == "adam at lr 0.01, 4 seeds"
    counts = {(truth, said): count for truth, said, count in wrong.matrix.rows()}
    assert counts == {(0, 0): 40, (1, 1): 30, (1, 0): 10, (2, 2): 40, (3, 2): 40}


def test_pairs_have_names_counts_and_shares(known: Answer):
    table = known.table("confused")
    assert table.select("truth", "said", "count").rows() == [("<b>owl</b>", "fox", 40), ("dog", "cat", 10)]
    assert table["share of truth"].to_list() == pytest.approx([1.0, 0.25])


def test_an_example_stands_once_at_its_surest(known: Answer, wrong: Wrong):
    assert [(m.index, m.probability) for m in wrong.mistakes][:2] == [(3, 0.93), (10, 0.5)]
    assert len(wrong.mistakes) == 5 <= MISTAKES
    assert [m.probability for m in wrong.mistakes] == sorted((m.probability for m in wrong.mistakes), reverse=True)
    assert known.table("mistakes")["truth"].to_list() == ["<b>owl</b>", *["dog"] * 4]


def test_a_number_is_another_example_where_seeds_split_the_data_anew():
    one, other = Mistake(7, 0, 1, 0.9, None), Mistake(7, 2, 1, 0.8, None)
    runs = [
        Examined("a", CLASSES, pl.DataFrame(), (one,), "sha256:a"),
        Examined("b", CLASSES, pl.DataFrame(), (other,), "sha256:b"),
    ]
    assert _surest(runs) == (one, other)
    assert _surest([replace(run, data="sha256:a") for run in runs]) == (one,)


def test_precision_and_recall_stand_beside_test_accuracy(known: Answer):
    table = known.table("fit")
    assert table["setting"].to_list() == ["adam", "rmsprop", "gd"]
    each = [((10 / (11 + seed)) + 1 + 0.5 + 0) / 4 for seed in range(4)]
    assert table["macro precision"].to_list() == pytest.approx([sum(each) / 4] * 3)
    assert table["macro recall"].to_list() == pytest.approx([(1 + 0.75 + 1 + 0) / 4] * 3)
    assert table["never said"].to_list() == ["<b>owl</b>"] * 3
    assert table["test accuracy"].to_list() == known.table("best")["accuracy"].to_list()


def test_runs_that_were_never_examined_leave_all_that_out(tmp_path: Path):
    plain = answer(made(DIGITS, learning).__class__(*_packed(tmp_path)), tmp_path)
    assert plain.facts.wrong is None
    assert not {"confused", "mistakes", "fit"} & {sheet.key for sheet in plain.sheets}
    assert "confusion" not in [figure.key for figure in plain.figures]


def _packed(folder: Path):
    found = made(DIGITS, learning)
    return found.study, found.runs.with_columns(pack=pl.lit("p")), found.rows


def test_the_chart_colours_wrong_answers_alone(known: Answer, wrong: Wrong):
    found = confusion_numbers(wrong)
    assert found is not None
    assert found.order == list(CLASSES)
    assert found.left_out == 0
    assert found.most == 1.0
    assert found.cells.filter(truth="dog", said="cat")["share"].item() == pytest.approx(0.25)
    assert found.cells.filter(right=1).height == 4
    assert found.cells.height == 16, "pairs that never occurred stand there as 0"
    figure = next(figure for figure in known.figures if figure.key == "confusion")
    assert "adam at lr 0.01, 4 seeds" in figure.caption
    assert len(spec(figure.chart)["layer"]) == 4


def many(classes: int) -> Wrong:
    """Class k is taken for its neighbour k times out of 100."""
    cells = [(k, s, c) for k in range(classes) for s, c in ((k, 100 - k), ((k + 1) % classes, k)) if c]
    matrix = pl.DataFrame(cells, schema={"truth": pl.Int64, "said": pl.Int64, "count": pl.Int64}, orient="row")
    names = tuple(f"a name that is far too long for a chart {k}" for k in range(classes))
    return Wrong("s", "-", 1, names, matrix, (), pl.DataFrame())


def test_of_many_classes_the_most_confused_are_shown():
    found = confusion_numbers(many(60))
    assert found is not None
    assert (len(found.order), found.left_out) == (MOST, 40)
    assert set(found.cells["truth"]) <= set(found.order)
    assert len(set(found.order)) == MOST, "names that were cut stay apart"
    assert found.most == pytest.approx(0.58), "class 59 is taken for 0, which has fewer mistakes than those shown"
    assert confusion_numbers(many(1)) is None, "nothing is wrong"


def test_the_caption_says_that_classes_are_left_out(tmp_path: Path):
    def said(run: str, seed: int) -> dict[str, object]:
        wide = many(60)
        return {"names": list(wide.names), "matrix": [list(cell) for cell in wide.matrix.rows()], "worst": []}

    found = answer(examined(made(DIGITS, learning), tmp_path, said), tmp_path)
    caption = next(figure.caption for figure in found.figures if figure.key == "confusion")
    assert "The 20 most confused of 60 classes." in caption
    assert "mistake-pictures" not in page(found)


def test_pictures_stand_in_the_page_with_their_words(known: Answer):
    html = page(known)
    images = re.findall(r'<img src="data:image/png;base64,([A-Za-z0-9+/=]+)" alt="([^"]+)">', html)
    assert len(images) == 5
    assert images[0][0] == picture((200, 90, 0))
    assert images[0][1] == "Test example 3: &lt;b&gt;owl&lt;/b&gt;, taken for fox with probability 0.930"
    assert "<figcaption><b>dog</b>said cat, 0.500</figcaption>" in html
    assert "<b>owl</b>" not in html
    assert not re.search(r"<(script|link|iframe)[^>]+(src|href)=", html)


def test_examples_that_are_no_pictures_stand_in_the_table_alone(tmp_path: Path):
    def blind(run: str, seed: int) -> dict[str, object]:
        said = mistaken(run, seed)
        return said | {"worst": [{**one, "png": None} for one in said["worst"]]}

    found = answer(examined(made(DIGITS, learning), tmp_path, blind), tmp_path)
    assert 'id="mistake-pictures"' not in page(found)
    assert found.table("mistakes").height == 5


def test_the_tables_are_files_too(known: Answer):
    names = {path.name for path, _ in tables(known, Path("x"))}
    assert {"confused.csv", "confused.tex", "mistakes.md", "fit.csv"} <= names
