"""The pages of docs/reference that a script writes are current, and links of all pages lead somewhere."""

import inspect
import json
import re
import runpy

import pytest

from paceline.spec.parts import TABLE
from paceline.spec.schema import schema
from tests.docs.blocks import blocks
from tests.docs.pages import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_reference_is_what_its_script_writes():
    made = runpy.run_path(str(ROOT / "docs" / "reference.py"))["pages"]()
    stale = [name for name, text in made.items() if (ROOT / "docs" / "reference" / name).read_text() != text]
    assert not stale, "run: python docs/reference.py"


def test_the_reference_has_every_key_part_verb_and_option():
    from typer.main import get_command

    from paceline.cli import app

    pages = {name: (ROOT / "docs" / "reference" / f"{name}.md").read_text() for name in ("study-file", "cli", "parts")}
    keys = {**schema()["properties"], **schema()["$defs"]["settings"]["properties"]}
    assert not [key for key in keys if f"| `{key}` |" not in pages["study-file"]]
    assert not [name for kind in TABLE for name in TABLE[kind] if f"| `{name}`" not in pages["parts"]]
    verb = get_command(app).commands["predict"]
    options = [option for said in verb.params for option in said.opts if option.startswith("--") and option != "--help"]
    assert options
    assert not [option for option in options if f"`{option}" not in pages["cli"]]


def test_the_reference_has_every_function_of_python_and_what_results_hold():
    from dataclasses import fields

    from paceline import api
    from paceline.report.answer import Answer

    made = runpy.run_path(str(ROOT / "docs" / "reference_python.py"))
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    for name in made["FUNCTIONS"]:
        text = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert all(f"    {argument}: " in text for argument in inspect.signature(getattr(api, name)).parameters)
    for kind, more in ((api.Results, ("answer", "advice")), (Answer, ("text", "table(key: str)", "figures"))):
        text = page.split(f"\n## {kind.__name__}\n")[1].split("\n## ")[0]
        assert not [name for name in (*(field.name for field in fields(kind)), *more) if f"| `{name}` |" not in text]


def test_the_reference_has_every_claim_that_can_be_judged():
    from paceline.report.claims import _KINDS

    text = (ROOT / "docs" / "reference" / "study-file.md").read_text().split("\n## published\n")[1]
    options = ("asked", "of", "within", "by", "at_most", "size", "device", "unlike", "source", "rows")
    assert not [name for name in (*_KINDS, *options) if not re.search(rf"\b{name}\b", text)]


def test_every_variable_of_ours_is_in_the_table():
    text = (ROOT / "docs" / "reference" / "records.md").read_text()
    code = "".join(file.read_text() for file in (ROOT / "paceline").rglob("*.py"))
    named = set(re.findall(r"PACELINE_[A-Z_]+", code))
    read = set(re.findall(r"""(?:environ(?:\.get\(|\[)|number_said\()"([A-Z_]+)""", code))
    assert named < read
    assert not [name for name in read if f"`{name}`" not in text]


def _anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", page.read_text()):
        if re.match(r"https?:", target):
            continue
        there = page.parent / target if target else page
        assert there.exists(), target
        assert not anchor or anchor in _anchors(there.read_text()), f"{target}#{anchor}"


def test_the_index_leads_to_every_page():
    seen, ahead = set(), [ROOT / "docs" / "README.md"]
    while ahead:
        page = ahead.pop()
        seen.add(page)
        linked = {(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text())}
        ahead += [there for there in linked - seen if there.is_file()]
    assert not [str(page.relative_to(ROOT)) for page in PAGES[1:] if page not in seen]


def test_the_pages_of_the_gallery_are_those_of_their_data(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    made = runpy.run_path(str(ROOT / "docs" / "gallery.py"))
    kept = [json.loads(file.read_text()) for file in sorted((ROOT / "docs" / "gallery").glob("*.json"))]
    assert kept
    for said in kept:
        assert (ROOT / "docs" / "gallery" / f"{said['study']}.md").read_text() == made["page"](said)
    assert (ROOT / "docs" / "gallery" / "index.md").read_text() == made["index"](kept), "run: python docs/gallery.py"


def test_the_readmes_blocks_are_seen():
    found = blocks(ROOT / "README.md", "README.md")
    assert {"yaml", "python"} <= {block.language for block in found}
    assert any("paceline run" in block.text for block in found)
