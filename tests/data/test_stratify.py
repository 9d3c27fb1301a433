import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paceline.data.stratify import hold_share, stratified_order


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_a_stratified_order_is_a_permutation_with_balanced_heads(labels, data):
    y = np.array(labels)
    order = stratified_order(y, range(len(y)), "digits")
    assert sorted(order) == list(range(len(y)))
    head = data.draw(st.integers(0, len(y)))
    for label in set(labels):
        fair = head * labels.count(label) / len(y)
        assert abs((y[order[:head]] == label).sum() - fair) <= len(set(labels)) / 2 + 1


def test_a_share_is_held_out_by_class_and_salt():
    y = np.repeat([0, 1], [80, 20])
    names = [f"{i}.jpg" for i in range(100)]
    held, rest = hold_share(y, names, 0.2, "test 0")
    assert (len(held), (y[held] == 1).sum()) == (20, 4)
    assert sorted([*held, *rest]) == list(range(100))
    assert list(held) == sorted(held)
    assert list(hold_share(y, names, 0.2, "test 0")[0]) == list(held)
    assert list(hold_share(y, names, 0.2, "test 1")[0]) != list(held)
    assert len(hold_share(y, names, 0.0, "test 0")[0]) == 0


def test_the_order_of_names_is_frozen():
    """Known values: a change here changes every split of a folder."""
    held, _ = hold_share(np.zeros(10, int), [f"{i}.jpg" for i in range(10)], 0.3, "test 0")
    assert held.tolist() == HELD


HELD = [4, 6, 9]
