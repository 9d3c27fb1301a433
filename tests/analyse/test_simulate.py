"""The simulator obeys its laws, and examples worked out by hand."""

import dataclasses
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.analyse.simulate import (
    MIB,
    Exchange,
    Layers,
    Link,
    Machine,
    allreduce_seconds,
    buckets,
    bytes_sent,
    host_seconds,
    simulate,
    slowest,
)

ALGORITHMS = ["ring", "tree", "hierarchical"]
SECONDS, BYTES = st.floats(0, 0.1), st.floats(1, 1e8)


@st.composite
def layers_of(draw: st.DrawFn) -> Layers:
    tensors = draw(st.lists(st.tuples(SECONDS, BYTES), min_size=1, max_size=12))
    seconds, sizes = zip(*tensors, strict=True)
    return Layers(seconds, sizes, draw(st.floats(1e-6, 0.1)), draw(SECONDS), 32)


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    links = [Link(draw(st.floats(0, 1e-2)), draw(st.floats(1e5, 1e12))) for _ in range(2)]
    return Machine(
        links[0],
        links[1],
        per_node=draw(st.integers(1, 8)),
        call_seconds=draw(st.floats(0, 1e-3)),
        host_seconds_per_byte=draw(st.floats(0, 1e-9)),
        stolen=draw(st.floats(0, 1)),
        cores=draw(st.none() | st.integers(1, 4)),
        jitter=draw(st.floats(0, 0.5)),
        jitter_kind=draw(st.sampled_from(["normal", "lognormal"])),
    )


EXCHANGES = st.builds(
    Exchange,
    st.sampled_from(ALGORITHMS),
    st.floats(1, 1e8),
    st.floats(1, 1e8),
    st.booleans(),
    st.floats(0.5, 32),
    st.floats(0, 1e-9),
    st.floats(0, 1e-9),
)
COUNTS = st.lists(st.integers(1, 10_000), min_size=1, max_size=6)


def one(layers: Layers, machine: Machine, exchange: Exchange, devices: int, **more: Any) -> dict[str, Any]:
    return simulate(layers, machine, exchange, devices, **more).row(0, named=True)


@settings(max_examples=100, deadline=None)
@given(layers_of(), machines(), EXCHANGES, COUNTS)
def test_a_step_is_its_parts_and_never_below_compute(
    layers: Layers, machine: Machine, exchange: Exchange, counts: list[int]
) -> None:
    for row in simulate(layers, machine, exchange, counts).iter_rows(named=True):
        parts = row["compute_seconds"] + row["straggler_seconds"] + row["stolen_seconds"] + row["exposed_seconds"]
        assert row["step_seconds"] == pytest.approx(parts)
        assert row["step_seconds"] >= row["compute_seconds"]
        alone = sum(layers.backward_seconds) + layers.forward_seconds + layers.optimizer_seconds
        assert row["compute_seconds"] >= alone * (1 - 1e-12)
        assert 0 <= row["exposed_seconds"] <= row["communication_seconds"]
        assert 0 <= row["utilisation"] <= 1


@settings(max_examples=100, deadline=None)
@given(layers_of(), machines(), EXCHANGES, COUNTS, st.floats(1, 100), st.floats(0, 1))
def test_a_better_link_is_never_slower(
    layers: Layers, machine: Machine, exchange: Exchange, counts: list[int], more: float, less: float
) -> None:
    plain = simulate(layers, machine, exchange, counts)["step_seconds"].to_numpy()
    assert machine.within
    for name in ("between", "within"):
        link = getattr(machine, name)
        for better in (Link(link.latency, link.bandwidth * more), Link(link.latency * less, link.bandwidth)):
            quick = dataclasses.replace(machine, **{name: better})
            assert np.all(simulate(layers, quick, exchange, counts)["step_seconds"].to_numpy() <= plain * (1 + 1e-9))


@settings(max_examples=50, deadline=None)
@given(layers_of(), EXCHANGES, COUNTS, st.integers(1, 8))
def test_a_perfect_link_leaves_the_compute(
    layers: Layers, exchange: Exchange, counts: list[int], per_node: int
) -> None:
    perfect = Link(0.0, math.inf)
    bare = dataclasses.replace(exchange, unpack_seconds_per_byte=0.0)
    found = simulate(layers, Machine(perfect, perfect, per_node), bare, counts)
    assert found["step_seconds"].to_list() == pytest.approx(found["compute_seconds"].to_list())


@settings(max_examples=50, deadline=None)
@given(layers_of(), machines(), EXCHANGES)
def test_one_device_sends_nothing_and_waits_for_nobody(layers: Layers, machine: Machine, exchange: Exchange) -> None:
    row = one(layers, machine, exchange, 1)
    alone = sum(layers.backward_seconds) + layers.forward_seconds + layers.optimizer_seconds
    assert row["step_seconds"] == pytest.approx(alone)
    assert (row["communication_seconds"], row["bytes_sent"], row["straggler_seconds"]) == (0, 0, 0)


@settings(max_examples=50, deadline=None)
@given(layers_of(), machines(), EXCHANGES, COUNTS)
def test_overlap_never_exposes_more(layers: Layers, machine: Machine, exchange: Exchange, counts: list[int]) -> None:
    hidden, bare = (
        simulate(layers, machine, dataclasses.replace(exchange, overlap=overlap), counts) for overlap in (True, False)
    )
    assert np.all(hidden["exposed_seconds"].to_numpy() <= bare["exposed_seconds"].to_numpy() * (1 + 1e-9) + 1e-12)
    assert bare["exposed_seconds"].to_list() == pytest.approx(
        bare["communication_seconds"].to_list(), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("devices", [2, 3, 8, 1000])
def test_a_ring_sends_2_n_minus_1_over_n_of_the_message(devices: int) -> None:
    volume = 2 * (devices - 1) / devices
    machine = Machine(Link(0.0, 1e9))
    assert bytes_sent(3e6, devices, machine)[0] == pytest.approx(volume * 3e6)
    assert allreduce_seconds(3e6, devices, machine)[0, 0] == pytest.approx(volume * 3e6 / 1e9)
    slow = Machine(Link(1e-3, math.inf))
    assert allreduce_seconds(3e6, devices, slow)[0, 0] == pytest.approx(2 * (devices - 1) * 1e-3)


def test_trees_and_hierarchies_by_hand() -> None:
    flat = Machine(Link(1e-3, 1e9))
    tree = [float(allreduce_seconds(1e6, n, flat, "tree")[0, 0]) for n in (2, 4, 5, 1024)]
    assert tree == pytest.approx([2e-3 + 1e-3, 4e-3 + 2e-3, 6e-3 + 2e-3, 20e-3 + 2e-3])
    nodes = Machine(Link(1e-3, 1e9), Link(1e-5, 1e11), per_node=8)
    within = 2 * 7 * 1e-5 + 2 * 7 / 8 * 1e6 / 1e11
    assert allreduce_seconds(1e6, 8, nodes, "hierarchical")[0, 0] == pytest.approx(within)
    assert allreduce_seconds(1e6, 8, nodes, "ring")[0, 0] == pytest.approx(within)
    between = 2 * 3 * 1e-3 + 2 * 3 / 4 * 1e6 / 1e9
    assert allreduce_seconds(1e6, 32, nodes, "hierarchical")[0, 0] == pytest.approx(within + between)
    assert allreduce_seconds(1e6, 32, nodes, "ring")[0, 0] == pytest.approx(2 * 31 * 1e-3 + 2 * 31 / 32 * 1e6 / 1e9)
    assert allreduce_seconds(1e6, 32, nodes, "tree")[0, 0] == pytest.approx(2 * (2 * 1e-3 + 3 * 1e-5) + 2 * 1e6 / 1e9)


def test_of_hosts_and_links_the_slower_counts_and_every_call_costs() -> None:
    slow_hosts = Machine(Link(0.0, 1e9), call_seconds=5e-4, host_seconds_per_byte=2e-9)
    assert allreduce_seconds(1e6, 2, slow_hosts)[0, 0] == pytest.approx(5e-4 + 1e6 * 2e-9)
    slow_link = dataclasses.replace(slow_hosts, between=Link(1e-5, 1e8))
    assert allreduce_seconds(1e6, 2, slow_link)[0, 0] == pytest.approx(5e-4 + 2e-5 + 1e6 / 1e8)
    assert allreduce_seconds(1e6, 2, slow_link, calls=3)[0, 0] == pytest.approx(3 * (5e-4 + 2e-5) + 1e6 / 1e8)
    for machine in (slow_hosts, slow_link):  # hosts are as busy with a slow link
        assert host_seconds(1e6, 2, machine, calls=2)[0, 0] == pytest.approx(2 * 5e-4 + 1e6 * 2e-9)
    assert host_seconds(1e6, 1, slow_hosts)[0, 0] == 0
    nodes = Machine(Link(0.0, 1e9), Link(0.0, 1e11), per_node=2, host_seconds_per_byte=1e-10)
    by_hand = 1e6 * (1e-10 + 2 * 3 / 4 * 1e-9)  # within a node the hosts are slower, between nodes the link is
    assert allreduce_seconds(1e6, 8, nodes, "hierarchical")[0, 0] == pytest.approx(by_hand)


def test_buckets_close_with_the_tensor_that_fills_them() -> None:
    assert buckets([0.4 * MIB, 0.4 * MIB, 0.4 * MIB, 20 * MIB, 20 * MIB, MIB], MIB, 25 * MIB).tolist() == [2, 4, 5]
    assert buckets([1.0, 1.0], MIB, 25 * MIB).tolist() == [1]
    assert buckets([MIB, 25 * MIB, MIB], MIB, 25 * MIB).tolist() == [0, 1, 2]  # just full
    assert buckets([5 * MIB, 30 * MIB], MIB, 25 * MIB).tolist() == [0, 1]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(1, 1000), st.integers(1, 4000))
def test_buckets_are_those_of_torch(elements: list[int], first: int, cap: int) -> None:
    import torch
    from torch.distributed import _compute_bucket_assignment_by_size

    tensors = [torch.empty(n) for n in elements]
    theirs, _ = _compute_bucket_assignment_by_size(tensors, [first, cap])
    ours = buckets([4 * n for n in elements], first, cap)
    assert ours.tolist() == [bucket[-1] for bucket in theirs]


def test_a_timeline_by_hand() -> None:
    """Backward 10 + 20 + 30 ms, each tensor a bucket; on the channel 25, 5 and 15 ms.

    The first is sent from 10 to 35, the second from 35 to 40, the third from 60 to 75: 15 ms after backward's end.
    """
    layers = Layers((0.01, 0.02, 0.03), (25e6, 5e6, 15e6), forward_seconds=0.02, optimizer_seconds=0.005, batch=10)
    machine = Machine(Link(0.0, 1e9))
    split = Exchange(bucket_bytes=1, first_bucket_bytes=1)
    row = one(layers, machine, split, 2)
    assert row["exposed_seconds"] == pytest.approx(0.015)
    assert row["step_seconds"] == pytest.approx(0.02 + 0.06 + 0.015 + 0.005)
    assert row["communication_seconds"] == pytest.approx(0.045)
    assert row["buckets"] == 3
    assert row["utilisation"] == pytest.approx(0.085 / 0.1)
    assert row["samples_per_second"] == pytest.approx(20 / 0.1)
    whole = one(layers, machine, Exchange(bucket_bytes=1e9, first_bucket_bytes=1e9), 2)
    assert (whole["buckets"], whole["exposed_seconds"]) == (1, pytest.approx(0.045))
    busy = dataclasses.replace(machine, stolen=0.5, host_seconds_per_byte=0.2e-9)
    assert one(layers, busy, split, 2)["stolen_seconds"] == pytest.approx(0.5 * 0.2 * 0.03)  # 30 of 45 ms are hidden
    assert one(layers, busy, split, 2)["step_seconds"] == pytest.approx(0.1 + 0.003)
    queued = one(layers, Machine(Link(0.0, 0.25e9)), split, 2)  # 100, 20, 60 ms: the channel never rests from 10 on
    assert queued["exposed_seconds"] == pytest.approx(0.01 + 0.18 - 0.06)


def test_compression_by_hand() -> None:
    layers = Layers((0.01,), (10e6,), 0.02, 0.005, 10)
    half = Exchange(compression=2, pack_seconds_per_byte=1e-10, unpack_seconds_per_byte=2e-10)
    row = one(layers, Machine(Link(0.0, 1e9)), half, 2)
    assert row["compute_seconds"] == pytest.approx(0.035 + 0.001)
    assert row["exposed_seconds"] == pytest.approx(0.005 + 0.002)
    assert row["bytes_sent"] == pytest.approx(5e6)


def test_processes_that_share_cores_compute_slower() -> None:
    layers = Layers((0.01,), (1.0,), 0.02, 0.0, 10)
    machine = Machine(Link(0.0, math.inf), Link(0.0, math.inf), per_node=4, cores=2)
    assert simulate(layers, machine, Exchange(), [1, 2, 4, 8])["compute_seconds"].to_list() == pytest.approx(
        [0.03, 0.03, 0.06, 0.06]
    )


@pytest.mark.parametrize("kind", ["normal", "lognormal"])
def test_the_slowest_of_many_is_that_of_a_simulation(kind: Any) -> None:
    machine = Machine(Link(0.0, 1.0), jitter=0.2, jitter_kind=kind)
    random = np.random.default_rng(0)
    spread = math.sqrt(math.log1p(0.2**2))
    for devices in (2, 8, 64, 1000):
        z = random.standard_normal((4000, devices)).max(1)
        drawn = 1 + 0.2 * z if kind == "normal" else np.exp(spread * z - spread**2 / 2)
        assert slowest(machine, devices)[0] == pytest.approx(drawn.mean(), rel=0.01)
    assert slowest(machine, 1)[0] == 1
    if kind == "normal":
        assert slowest(machine, 2)[0] == pytest.approx(1 + 0.2 / math.pi**0.5, rel=1e-6)  # known exactly


def test_another_batch_lies_on_the_line_through_two_measured() -> None:
    small, large = Layers((0.01, 0.02), (1.0, 1.0), 0.01, 0.005, 10), Layers((0.02, 0.03), (1.0, 1.0), 0.03, 0.005, 30)
    perfect = Machine(Link(0.0, math.inf))
    found = simulate(small, perfect, Exchange(), [1, 2, 4], batch=[40, 20, 10], other=large)
    assert found["compute_seconds"].to_list() == pytest.approx(
        [0.025 + 0.035 + 0.04 + 0.005, 0.015 + 0.025 + 0.02 + 0.005, 0.045]
    )
    assert found["batch"].to_list() == [40, 20, 10]
    with pytest.raises(ValueError, match="needs `other`"):
        simulate(small, perfect, Exchange(), [1], batch=20)


def test_ten_thousand_counts_are_quick() -> None:
    layers = Layers((1e-3,) * 160, (4e5,) * 160, 0.1, 0.01, 32)
    machine = Machine(Link(1e-5, 1e10), Link(1e-6, 1e11), 8, jitter=0.05)
    simulate(layers, machine, Exchange("hierarchical"), 8)
    began = time.monotonic()
    found = simulate(layers, machine, Exchange("hierarchical"), np.arange(1, 10_001))
    assert time.monotonic() - began < 1
    assert found.height == 10_000
    assert found["utilisation"].is_finite().all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Link(-1, 1), "latency from 0 on"),
        (lambda: Link(0, 0), "bandwidth above 0"),
        (lambda: Machine(Link(0, 1), per_node=2), "link within the node"),
        (lambda: Machine(Link(0, 1), stolen=-0.1), "never below 0"),
        (lambda: Exchange(calls=0), "above 0"),
        (lambda: Machine(Link(0, 1), jitter=-1), "never below 0"),
        (lambda: Layers((1.0,), (1.0, 2.0), 0, 0, 1), "for every tensor"),
        (lambda: Layers((-1.0,), (1.0,), 0, 0, 1), "never below 0"),
        (lambda: Layers((1.0,), (1.0,), 0, 0, 1), "forward_seconds is above 0"),
        (lambda: Exchange("star"), "algorithm is 'star'; allowed: ring, tree, hierarchical"),
        (lambda: Exchange(compression=0), "above 0"),
        (lambda: simulate(Layers((1.0,), (1.0,), 1, 0, 1), Machine(Link(0, 1)), Exchange(), [0]), "counted from 1 on"),
    ],
)
def test_what_makes_no_sense_is_an_error(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
