"""What pages written by hand say of measurements is what the data say."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILL = runpy.run_path(str(ROOT / "docs" / "fill.py"))


@pytest.mark.parametrize("page", FILL["PAGES"], ids=lambda page: page.stem)
def test_the_page_is_filled_from_data(page: Path):
    text = page.read_text()
    assert FILL["filled"](text) == text, "run: python docs/fill.py"
    assert text.count("<!-- made: ") == text.count("<!-- end -->") > 0
