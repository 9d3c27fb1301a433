"""Words for lists."""

import pytest

from paceline.report.names import listed


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcdef"), "a, b, c, d and 2 more"),
        (["a, b", "c", "d"], "a, b; c and d"),
    ],
)
def test_a_list_in_a_sentence(items: list[str], said: str) -> None:
    assert listed(items) == said
