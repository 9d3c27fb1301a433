"""Dropout masks of a stack are those that each run draws alone."""

import torch

from paceline.data.draws import key
from paceline.models.dropout import Dropout
from paceline.train.stack.masks import Masks

from .together import run_of

CPU = torch.device("cpu")


def test_every_run_has_the_mask_it_draws_alone():
    drawn = [(0, 0.5), (1, 0.5), (0, 0.2), (0, 0.5), (2, 0.0), (1, 1.0)]
    masks = Masks([run_of(seed=seed) for seed, _ in drawn], [[0.0, rate] for _, rate in drawn], CPU)
    x = torch.ones(6, 7, 4, 3, dtype=torch.float64)
    found = masks.of(11, 1, x)
    for mask, (seed, rate) in zip(found, drawn, strict=True):
        layer = Dropout(rate)
        layer.reseed(key(seed, "dropout", 11, 1))
        assert torch.equal(mask, layer(x[0]))
    assert masks.of(11, 0, x) is None
    assert not torch.equal(masks.of(12, 1, x), found)


def test_runs_of_one_seed_and_rate_share_a_mask():
    masks = Masks([run_of()] * 5, [[0.5]] * 5, CPU)
    assert masks.of(0, 0, torch.ones(5, 8, 3)).shape == (1, 8, 3)


def test_a_mask_is_drawn_in_the_order_of_examples_whatever_lies_next_in_memory():
    masks = Masks([run_of()], [[0.5]], CPU)
    turned = torch.ones(1, 3, 8).mT
    assert torch.equal(masks.of(0, 0, turned), masks.of(0, 0, turned.contiguous()))
