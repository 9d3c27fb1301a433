"""Batch composition: laws that hold for every setting, and the labs' cases by hand."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from paceline.data.batches import Composition
from paceline.data.dataset import Split
from paceline.data.draws import generator, key
from paceline.data.memory import Memory
from paceline.errors import StudyError
from paceline.spec import Run


def composition(examples=100, **said) -> Composition:
    run = Run(data="mnist", model="softmax", optimizer="gd", lr=1, **({"steps": 10} | said))
    return Composition(run, examples)


def first(made: Composition, count: int, start: int = 0):
    return list(itertools.islice(made.batches(start), count))


settings = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["file", "shuffle", "random"]),
        "batch": st.one_of(st.integers(1, 40), st.sampled_from(["3 + 2 * epoch", "max(1, 20 - 5 * epoch)"])),
        "subset": st.one_of(
            st.none(),
            st.integers(1, 30),
            st.builds(
                lambda size, redraw: {"size": size, "redraw": redraw},
                st.integers(1, 30),
                st.sampled_from(["never", "epoch"]),
            ),
        ),
        "overlap": st.sampled_from([0, 0, 0.25, 0.5, 2]),
        "seed": st.integers(0, 3),
    }
)


@given(settings, st.integers(30, 60), st.integers(0, 25))
def test_position_is_all_that_is_needed_to_go_on(said, examples, start):
    made = composition(examples, **said)
    for resumed, straight in zip(first(made, 8, start), first(made, start + 8)[start:], strict=True):
        assert (resumed.step, resumed.epoch, resumed.ends_epoch) == (straight.step, straight.epoch, straight.ends_epoch)
        assert torch.equal(resumed.indices, straight.indices)


@given(settings, st.integers(30, 60))
def test_an_epoch_covers_its_pool(said, examples):
    made = composition(examples, **said)
    batches = first(made, made.steps_in(0))
    seen = torch.cat([b.indices for b in batches]).tolist()
    assert [b.ends_epoch for b in batches] == [False] * (len(batches) - 1) + [True]
    assert all(0 <= i < examples for i in seen)
    assert len(set(seen)) <= made.pool
    if said["order"] != "random":
        assert len(set(seen)) == made.pool
        if not said["overlap"]:
            assert len(seen) == made.pool
    assert all(len(b.indices) <= made.width(0) for b in batches)


def test_file_order_is_file_order():
    assert torch.cat([b.indices for b in first(composition(7, order="file", batch=3), 3)]).tolist() == list(range(7))


def test_the_last_batch_of_an_epoch_is_smaller_if_it_must_be():
    assert [len(b.indices) for b in first(composition(7, batch=3), 6)] == [3, 3, 1, 3, 3, 1]


def test_each_epoch_is_shuffled_anew_and_by_the_seed():
    one = [b.indices.tolist() for b in first(composition(50, batch=50), 2)]
    other = [b.indices.tolist() for b in first(composition(50, batch=50, seed=1), 2)]
    assert one[0] != one[1]
    assert one != other
    assert one == [b.indices.tolist() for b in first(composition(50, batch=50), 2)]


def test_random_draws_with_replacement():
    drawn = torch.cat([b.indices for b in first(composition(1000, order="random", batch=100), 10)])
    assert len(drawn) == 1000
    assert 600 < len(set(drawn.tolist())) < 660  # 1 - 1/e of them, give or take


def test_a_fixed_subset_stays_and_a_redrawn_one_moves():
    fixed = [set(b.indices.tolist()) for b in first(composition(1000, batch=10, subset=10), 3)]
    moved = [
        set(b.indices.tolist()) for b in first(composition(1000, batch=10, subset={"size": 10, "redraw": "epoch"}), 3)
    ]
    assert fixed[0] == fixed[1] == fixed[2]
    assert len(moved[0] | moved[1] | moved[2]) > 25
    assert fixed[0] == moved[0]


def test_overlapping_windows_share_what_they_should():
    batches = [b.indices.tolist() for b in first(composition(100, order="file", batch=20, overlap=0.25), 3)]
    assert batches[0] == list(range(20))
    assert batches[1] == list(range(15, 35))
    assert first(composition(100, order="file", batch=20, overlap=5), 2)[1].indices.tolist() == batches[1]
    assert composition(100, batch=20, overlap=True).stride(0) == 10


def test_a_growing_batch_follows_its_formula():
    made = composition(1000, batch="30 + 10 * epoch", epochs=3, steps=None)
    widths = [made.width(epoch) for epoch in range(3)]
    assert widths == [30, 40, 50]
    assert made.total_steps() == math.ceil(1000 / 30) + 25 + 20
    assert {b.epoch: len(b.indices) for b in reversed(first(made, made.total_steps()))} == {0: 30, 1: 40, 2: 50}


def test_a_part_of_an_epoch():
    assert composition(100, batch=10, steps=None, epochs=1.25).total_steps() == 13
    assert composition(100, batch=10, steps=None, epochs=0.01).total_steps() == 1


def test_a_batch_larger_than_the_set_is_the_set():
    assert composition(4, batch=100).width(0) == 4


@pytest.mark.parametrize(
    ("said", "words"),
    [({"subset": 200}, "subset of 200 from a training set of 100"), ({"batch": "2 - epoch"}, "at epoch 2")],
)
def test_what_cannot_be_composed_is_refused(said, words):
    with pytest.raises(StudyError, match=words):
        first(composition(100, **said), 300)


def test_draws_depend_on_every_part_of_their_key():
    keys = {key(0, "order", 1), key(1, "order", 1), key(0, "subset", 1), key(0, "order", 2), key(0, "order", 1, 0)}
    assert len(keys) == 5
    assert all(0 <= k < 2**63 for k in keys)
    assert key(0, "order", 1) == 4361090855987773765, "a frozen draw: recorded runs depend on it"
    assert np.array_equal(generator(1, "x", 2).random(3), generator(1, "x", 2).random(3))


@pytest.mark.parametrize("channels_last", [False, True])
def test_memory_gathers_what_was_asked_for(channels_last):
    split = Split(torch.rand(20, 3, 4, 5), torch.arange(20))
    memory = Memory(split, torch.device("cpu"), torch.float64, channels_last)
    for indices in (torch.tensor([3, 1, 3]), torch.tensor([19, 0]), torch.arange(20)):
        x, y = memory.gather(indices)
        assert torch.equal(x, split.x[indices].double())
        assert torch.equal(y, indices)
        assert x.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    assert torch.equal(memory.chunk(5, 9), split.x[5:9].double())


@given(
    st.integers(1, 60),
    st.integers(1, 25),
    st.integers(2, 7),
    st.sampled_from(["shuffle", "file", "random"]),
    st.integers(0, 99),
)
def test_devices_share_every_batch_without_overlap_or_gap(examples, batch, size, order, seed):
    run = Run(data="digits", model="softmax", optimizer="gd", lr=0.1, batch=batch, steps=9, order=order, seed=seed)
    whole = Composition(run, examples).batches()
    shares = [Composition(run, examples, rank, size).batches() for rank in range(size)]
    for _ in range(9):
        batch_, parts = next(whole), [next(share) for share in shares]
        joined = torch.full((batch_.count,), -1)
        for part in parts:
            assert (part.step, part.epoch, part.ends_epoch) == (batch_.step, batch_.epoch, batch_.ends_epoch)
            assert part.count == batch_.count == len(batch_.indices)
            if part.counts:
                assert (joined[part.places] == -1).all()
                joined[part.places] = part.indices
            else:
                assert len(part.indices) == 1
        assert torch.equal(joined, batch_.indices)
        assert sum(len(part.indices) for part in parts if part.counts) == batch_.count
