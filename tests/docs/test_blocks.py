"""Every command and code block of the README and of docs/ does what it says (tests/docs/blocks.py says how)."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.blocks import blocks, in_copy
from tests.docs.pages import ROOT, Page

DOCS = sorted((ROOT / "docs").rglob("*.md"))
NAMES = [str(p.relative_to(ROOT)) for p in DOCS if "gallery" not in p.parts and not p.name.startswith("benchmarks")]


@pytest.fixture(autouse=True)
def _no_module_stays() -> Iterator[None]:
    """A page's own parts are forgotten with its folder."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "." not in name and name.startswith("my_"):
            del sys.modules[name]


@pytest.mark.parametrize("name", ["README.md", *NAMES])
def test_a_page_does_what_it_says(name: str, tmp_path: Path) -> None:
    page = Page(tmp_path, copy=in_copy((ROOT / name).read_text()))
    for block in blocks(ROOT / name, name):
        page.do(block)
    if page.absent:
        pytest.skip("; ".join(page.absent))


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "gallery").glob("*.md")), ids=lambda page: page.stem)
def test_the_command_of_a_gallery_page_is_right(page: Path, tmp_path: Path) -> None:
    """It is read, not run: that takes up to two hours."""
    for block in blocks(page, page.name):
        if block.text.startswith("paceline "):
            Page(tmp_path).do(replace(block, how="parse"))
