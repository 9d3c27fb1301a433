"""The examples run as they stand."""

from pathlib import Path

import pytest

import paceline

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_own_parts_of_every_kind(tmp_path):
    study = paceline.load(EXAMPLES / "own_parts" / "study.yaml")
    results = paceline.run(study, out=tmp_path)
    assert results.runs["status"].to_list() == ["done"] * 6
    best = dict(results.table.select("case", "accuracy").iter_rows())
    assert best.keys() == {"gated", "plain", "torch's RMSprop"}
    assert min(best.values()) > 0.75
    assert results.rows["lr"].min() == pytest.approx(0.01 * (1 + 599 / 200) ** -0.5)


def test_a_gallery_study_and_its_example_results(tmp_path):
    study = paceline.load("quickstart", seeds=1, sets=["epochs=2", "lr=0.1"])
    results = paceline.run(study, out=tmp_path)
    assert results.runs.height == 4
    assert results.table.columns[:2] == ["optimizer", "lr"]
    assert results.rows["step"].max() == 46


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_and_shows_its_results(tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    pages = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert any("18 of 18 done" in output.get("text", "") for output in shown), "progress"
    assert "Which optimizer learns 8 x 8 digits best" in pages[0]
    assert "<svg" in pages[0]
    assert "vega" in pages[-1]
