"""The documentation says what is true: parts page current, README's study and code run, commands exist."""

import json
import re
import runpy
from pathlib import Path

import pytest
import yaml

from paceline.plan.expand import expand
from paceline.spec.document import parse
from paceline.spec.run import FIELDS
from paceline.spec.study import Study, from_document

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
STUDY = (ROOT / "docs" / "study.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_page_of_parts_is_current():
    made = runpy.run_path(str(ROOT / "docs" / "parts.py"))["page"]()
    assert (ROOT / "docs" / "parts.md").read_text() == made, "run: python docs/parts.py"


def test_the_pages_of_the_gallery_are_those_of_their_data():
    made = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    kept = [json.loads(file.read_text()) for file in sorted((ROOT / "docs" / "gallery").glob("*.json"))]
    assert kept
    for said in kept:
        assert (ROOT / "docs" / "gallery" / f"{said['study']}.md").read_text() == made["page"](said)
    assert (ROOT / "docs" / "gallery" / "index.md").read_text() == made["index"](kept), "run: python docs/gallery.py"


def test_the_readmes_studies_are_studies():
    first, second = (block for block in blocks(README, "yaml") if block.startswith("name:"))
    assert len(expand(from_document(parse(first), ROOT))) == 5 * 6 * 3
    assert len(expand(from_document(parse(second), ROOT))) == 2 * 3


def test_every_key_is_explained():
    first_cells = " ".join(line.split("|")[1] for line in STUDY.splitlines() if line.startswith("| "))
    missing = [key for key in (*Study.model_fields, *FIELDS) if key not in first_cells and key != "trial"]
    assert not missing


@pytest.mark.parametrize("block", blocks(STUDY, "yaml"))
def test_yaml_in_the_reference_is_valid(block):
    base = {"data": "digits", "model": "softmax", "optimizer": "momentum", "steps": 5}
    text = f"name: x\n{block}" if block.startswith("base:") else f"name: x\nbase: {base}\n{block}"
    assert yaml.safe_load(text)
    assert len(expand(from_document(parse(text), ROOT))) in (6, 60)


def test_the_readmes_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    source = blocks(README, "python")[0].replace("seeds=2", 'seeds=1, sets=["epochs=1"]')
    exec(compile(source, "README.md", "exec"), {})
    assert "accuracy" in capsys.readouterr().out


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_commands_in_the_readme_exist():
    from typer.main import get_command

    from paceline.cli import app

    known = set(get_command(app).commands)
    said = set(re.findall(r"^ {4}paceline (\w+)", README, re.MULTILINE))
    assert said
    assert said <= known
