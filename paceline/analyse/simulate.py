"""One data-parallel training step, computed from its mechanism: buckets, overlap, all-reduce, stragglers.

Forward, backward and optimizer are one stream of work on every device; a bucket of gradients is ready with its last
gradient; one channel sends buckets in order while backward goes on. What is not hidden is exposed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from paceline.analyse.quantiles import Array

MIB = 2**20
NODES = 64  # of the quadrature for the slowest of many ranks


@dataclass(frozen=True)
class Layers:
    """One device's work of a step, as measured; tensors in the order in which backward gives their gradients."""

    backward_seconds: tuple[float, ...]  # of each tensor
    gradient_bytes: tuple[float, ...]  # of each tensor
    forward_seconds: float
    optimizer_seconds: float
    batch: int  # examples on this device

    def __post_init__(self) -> None:
        if len(self.backward_seconds) != len(self.gradient_bytes) or not self.gradient_bytes:
            raise ValueError("backward_seconds and gradient_bytes need a value each for every tensor, at least one")
        if min(*self.backward_seconds, *self.gradient_bytes, self.forward_seconds, self.optimizer_seconds) < 0:
            raise ValueError("seconds and bytes of layers are never below 0")
        if not self.forward_seconds > 0:
            raise ValueError("forward_seconds is above 0: every step computes something")


@dataclass(frozen=True)
class Link:
    """What a message costs: latency in seconds, then bytes at a bandwidth in bytes a second, one way."""

    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        if self.latency < 0 or not self.bandwidth > 0:
            raise ValueError(f"a link needs a latency from 0 on and a bandwidth above 0, not {self}")


@dataclass(frozen=True)
class Machine:
    """Nodes of `per_node` devices: the link within a node, that of a whole node to others, and what hosts cost."""

    between: Link
    within: Link | None = None  # needed where per_node > 1
    per_node: int = 1
    call_seconds: float = 0.0  # of every all-reduce, whatever its size
    host_seconds_per_byte: float = 0.0  # for every byte a device receives: copying and summing, while the link works
    stolen: float = 0.0  # seconds of computing lost for each second that hosts spend on a hidden all-reduce
    cores: int | None = None  # of a node, where devices are processes that share them
    jitter: float = 0.0  # standard deviation over mean of a rank's computing, from step to step
    jitter_kind: Literal["normal", "lognormal"] = "lognormal"

    def __post_init__(self) -> None:
        if self.per_node < 1 or (self.per_node > 1 and self.within is None):
            raise ValueError("a machine has at least one device a node, and with several a link within the node")
        if min(self.call_seconds, self.host_seconds_per_byte, self.stolen, self.jitter) < 0:
            raise ValueError("call_seconds, host_seconds_per_byte, stolen and jitter are never below 0")


@dataclass(frozen=True)
class Exchange:
    """How gradients are averaged. torch's DDP: a first bucket of 1 MiB only if bucket_cap_mb is left at its default."""

    algorithm: Literal["ring", "tree", "hierarchical"] = "ring"
    bucket_bytes: float = 25 * MIB
    first_bucket_bytes: float = 1 * MIB
    overlap: bool = True
    compression: float = 1.0  # bytes of a gradient over bytes sent: 2 for float16
    pack_seconds_per_byte: float = 0.0  # of gradient, on the device before sending
    unpack_seconds_per_byte: float = 0.0  # of gradient, after receiving
    calls: int = 1  # all-reduces of a bucket, which share its bytes: 3 for PowerSGD

    def __post_init__(self) -> None:
        if self.algorithm not in _ALGORITHMS:
            raise ValueError(f"algorithm is '{self.algorithm}'; allowed: {', '.join(_ALGORITHMS)}.")
        if min(self.compression, self.bucket_bytes, self.first_bucket_bytes, self.calls) <= 0:
            raise ValueError("compression, the sizes of buckets and calls are above 0")


def simulate(
    layers: Layers,
    machine: Machine,
    exchange: Exchange,
    devices: ArrayLike,
    *,
    batch: ArrayLike | None = None,
    other: Layers | None = None,
) -> pl.DataFrame:
    """devices, batch, step_seconds, compute_seconds, straggler_seconds, communication_seconds, exposed_seconds,
    stolen_seconds, bytes_sent, buckets, utilisation, samples_per_second: a line a device count.

    `batch` is that of a device, one for all counts or one each; where it is not that of `layers`, `other` is the same
    model measured with another batch, and the seconds of forward and backward are taken on the line through the two.
    The step is compute + stragglers + stolen + exposed; utilisation is compute over step.
    """
    counts = np.atleast_1d(np.asarray(devices, np.int64))
    if counts.min() < 1:
        raise ValueError(f"devices are counted from 1 on, not {counts.min()}")
    batches = np.broadcast_to(np.asarray(layers.batch if batch is None else batch, np.float64), counts.shape)
    forward, backward = _work(layers, other, batches)
    shared, slow = _sharing(machine, counts), slowest(machine, counts)
    sizes = np.asarray(layers.gradient_bytes, np.float64)
    last = buckets(layers.gradient_bytes, exchange.first_bucket_bytes, exchange.bucket_bytes)
    filled = np.add.reduceat(sizes, np.concatenate([[0], last[:-1] + 1]))
    several = (counts > 1)[:, None]
    pack = np.where(several, exchange.pack_seconds_per_byte * filled, 0.0)
    ready = np.cumsum(backward, 1)[:, last] + np.cumsum(pack, 1)
    compute = (forward + backward.sum(1) + pack.sum(1) + layers.optimizer_seconds) * shared
    done = ready[:, -1:]  # backward's end
    messages = filled / exchange.compression
    sent = allreduce_seconds(messages, counts, machine, exchange.algorithm, exchange.calls)
    sent = sent + np.where(several, exchange.unpack_seconds_per_byte * filled, 0.0)
    pace = shared * slow
    begins = (ready if exchange.overlap else np.broadcast_to(done, ready.shape)) * pace[:, None]
    after = np.cumsum(sent[:, ::-1], 1)[:, ::-1]  # what the channel has to send from a bucket on
    total = sent.sum(1)
    exposed = np.maximum((begins + after).max(1) - done[:, 0] * pace, 0.0)
    exposed = np.minimum(exposed, total)  # but for rounding it is
    hosts = host_seconds(messages, counts, machine, exchange.algorithm, exchange.calls).sum(1)
    stolen = machine.stolen * hosts * np.divide(total - exposed, total, out=np.zeros(len(counts)), where=total > 0)
    straggling = compute * (slow - 1)
    step = compute + straggling + stolen + exposed
    volume = bytes_sent(float(sizes.sum()) / exchange.compression, counts, machine, exchange.algorithm)
    return pl.DataFrame(
        {
            "devices": counts,
            "batch": batches,
            "step_seconds": step,
            "compute_seconds": compute,
            "straggler_seconds": straggling,
            "communication_seconds": total,
            "exposed_seconds": exposed,
            "stolen_seconds": stolen,
            "bytes_sent": volume,
            "buckets": np.full(len(counts), len(last)),
            "utilisation": compute / step,
            "samples_per_second": counts * batches / step,
        }
    )


def buckets(gradient_bytes: Sequence[float], first: float, cap: float) -> NDArray[np.int64]:
    """The place of each bucket's last tensor: a bucket is closed by the tensor that fills it, as torch's DDP does."""
    ends, filled, limit = [], 0.0, first
    for place, size in enumerate(gradient_bytes):
        filled += size
        if filled >= limit:
            ends.append(place)
            filled, limit = 0.0, cap
    if not ends or ends[-1] != len(gradient_bytes) - 1:
        ends.append(len(gradient_bytes) - 1)
    return np.asarray(ends, np.int64)


def allreduce_seconds(
    size: ArrayLike, devices: ArrayLike, machine: Machine, algorithm: str = "ring", calls: int = 1
) -> Array:
    """[devices, sizes]: seconds to sum messages of `size` bytes over all devices; 0 for one device.

    A link and the hosts at its ends work at the same time on one part after another: the slower of the two counts.
    """
    counts, sizes = _columns(devices, size)
    waits, near, far = _ALGORITHMS[algorithm](counts, machine)
    host = machine.host_seconds_per_byte
    moved = near * max(1 / _near(machine).bandwidth, host) + far * max(1 / machine.between.bandwidth, host)
    return np.where(counts > 1, calls * (machine.call_seconds + waits) + sizes * moved, 0.0)


def host_seconds(
    size: ArrayLike, devices: ArrayLike, machine: Machine, algorithm: str = "ring", calls: int = 1
) -> Array:
    """[devices, sizes]: what of it keeps the hosts busy, whatever the links."""
    counts, sizes = _columns(devices, size)
    _, near, far = _ALGORITHMS[algorithm](counts, machine)
    busy = calls * machine.call_seconds + sizes * (near + far) * machine.host_seconds_per_byte
    return np.where(counts > 1, busy, 0.0)


def _columns(devices: ArrayLike, size: ArrayLike) -> tuple[Array, Array]:
    counts = np.atleast_1d(np.asarray(devices, np.int64)).astype(np.float64)
    return counts[:, None], np.atleast_1d(np.asarray(size, np.float64))[None, :]


def bytes_sent(size: float, devices: ArrayLike, machine: Machine, algorithm: str = "ring") -> Array:
    """Bytes that pass a device's own link and its share of the node's, for one message of `size` bytes."""
    counts = np.atleast_1d(np.asarray(devices, np.int64)).astype(np.float64)[:, None]
    _, near, far = _ALGORITHMS[algorithm](counts, machine)
    return np.asarray(np.where(counts > 1, (near + far) * size, 0.0)[:, 0], np.float64)


def slowest(machine: Machine, devices: ArrayLike) -> Array:
    """Expected computing time of the slowest of N ranks over that of one: E max of N draws with mean 1.

    E max = integral of q(u^(1/N)) du, q the quantile of the noise, by Gauss and Hermite's rule in u = Phi(t).
    """
    from scipy.special import log_ndtr, ndtri_exp  # type: ignore[import-untyped]

    counts = np.atleast_1d(np.asarray(devices, np.float64))
    if machine.jitter == 0:
        return np.ones(len(counts))
    t, weight = np.polynomial.hermite_e.hermegauss(NODES)
    weight = weight / weight.sum()
    z = ndtri_exp(log_ndtr(t)[None, :] / counts[:, None])
    if machine.jitter_kind == "normal":
        noise = 1 + machine.jitter * z
    else:
        spread = np.sqrt(np.log1p(machine.jitter**2))
        noise = np.exp(spread * z - spread**2 / 2)
    return np.where(counts > 1, np.maximum(noise @ weight, 1.0), 1.0)


def _work(layers: Layers, other: Layers | None, batches: Array) -> tuple[Array, Array]:
    """Seconds of forward [devices] and of backward [devices, tensors] at each batch."""
    forward, backward = layers.forward_seconds, np.asarray(layers.backward_seconds, np.float64)
    if np.all(batches == layers.batch):
        return np.full(len(batches), forward), np.broadcast_to(backward, (len(batches), len(backward)))
    if other is None or other.batch == layers.batch or other.gradient_bytes != layers.gradient_bytes:
        raise ValueError("another batch than the measured one needs `other`: the same model measured with two batches")
    share = ((batches - layers.batch) / (other.batch - layers.batch))[:, None]
    more = np.asarray(other.backward_seconds, np.float64) - backward
    spent = np.maximum(forward + share[:, 0] * (other.forward_seconds - forward), 0.0)
    return spent, np.maximum(backward + share * more, 0.0)


def _sharing(machine: Machine, counts: NDArray[np.int64]) -> Array:
    """How many times slower a process computes where a node has fewer cores than processes."""
    if machine.cores is None:
        return np.ones(len(counts))
    return np.maximum(np.minimum(counts, machine.per_node) / machine.cores, 1.0)


def _nodes(counts: Array, machine: Machine) -> tuple[Array, Array]:
    """Devices of a full node, and nodes."""
    return np.minimum(counts, machine.per_node), np.ceil(counts / machine.per_node)


def _ring(counts: Array, machine: Machine) -> tuple[Array, Array, Array]:
    """2 (N - 1) steps, each as slow as the slowest link; 2 (N - 1) / N of the message passes every link."""
    local = (counts <= machine.per_node) & (machine.per_node > 1)
    near = _near(machine)
    latency = np.where(local, near.latency, max(near.latency, machine.between.latency))
    return 2 * (counts - 1) * latency, *_slower(2 * (counts - 1) / counts, local, machine)


def _tree(counts: Array, machine: Machine) -> tuple[Array, Array, Array]:
    """Two binary trees with half the message each: up and down ceil(log2 N) edges, the whole message once each way.

    Two devices have one edge a tree: half of it each way.
    """
    devices, nodes = _nodes(counts, machine)
    depth = np.ceil(np.log2(nodes)) * machine.between.latency + np.ceil(np.log2(devices)) * _near(machine).latency
    local = (counts <= machine.per_node) & (machine.per_node > 1)
    return 2 * depth, *_slower(np.where(counts == 2, 1.0, 2.0), local, machine)


def _slower(volume: Array, local: NDArray[np.bool_], machine: Machine) -> tuple[Array, Array]:
    """A flat exchange's volume, put on the link that bounds it: the one within a node, or of both the slower."""
    near = local | (_near(machine).bandwidth < machine.between.bandwidth)
    return np.where(near, volume, 0.0), np.where(near, 0.0, volume)


def _hierarchical(counts: Array, machine: Machine) -> tuple[Array, Array, Array]:
    """Reduce-scatter within nodes, ring between nodes, gather within: the node's link carries the whole message."""
    devices, nodes = _nodes(counts, machine)
    waits = 2 * (devices - 1) * _near(machine).latency + 2 * (nodes - 1) * machine.between.latency
    return waits, 2 * (devices - 1) / devices, 2 * (nodes - 1) / nodes


def _near(machine: Machine) -> Link:
    return machine.within or machine.between


_ALGORITHMS: dict[str, Callable[[Array, Machine], tuple[Array, Array, Array]]] = {
    "ring": _ring,
    "tree": _tree,
    "hierarchical": _hierarchical,
}
