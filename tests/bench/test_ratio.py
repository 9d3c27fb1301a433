"""Ratios on made-up timings with known answers."""

import numpy as np
import pytest

from bench.ratio import alternate, ratio


def test_a_known_ratio_is_found_within_its_interval():
    draw = np.random.default_rng(0)
    found = 0
    for _ in range(200):
        noise = draw.lognormal(0, 0.3, 40)  # of a round, shared by both
        ours, peer = noise * draw.lognormal(0, 0.05, 40), 1.5 * noise * draw.lognormal(0, 0.05, 40)
        made = ratio(list(ours), list(peer))
        found += made.low <= 1.5 <= made.high
    assert 180 <= found <= 200


@pytest.mark.parametrize(("target", "verdict"), [(1.2, "met"), (1.5, "unresolved"), (1.9, "missed")])
def test_verdicts(target, verdict):
    peer = [1.4, 1.45, 1.5, 1.5, 1.55, 1.6, 1.42, 1.58, 1.5, 1.49]
    assert ratio([1.0] * 10, peer).verdict(target) == verdict


def test_too_few_rounds_are_refused():
    with pytest.raises(ValueError, match="too few"):
        ratio([1.0] * 3, [1.0] * 3)


def test_contestants_alternate_and_the_first_round_is_not_counted():
    calls = []
    made = alternate({"a": lambda: calls.append("a") or 1.0, "b": lambda: calls.append("b") or 2.0}, 2)
    assert calls == ["a", "b", "a", "b", "b", "a"]
    assert made == {"a": [1.0, 1.0], "b": [2.0, 2.0]}
