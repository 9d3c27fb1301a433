"""Two network namespaces joined by a pair of virtual interfaces whose sending is held to a rate. Needs root."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = ("paceline-a", "paceline-b")
ADDRESSES = ("10.79.0.1", "10.79.0.2")
INTERFACE = "eth0"
HOSTS = tuple(("ip", "netns", "exec", name) for name in NAMES)
LEAST_BURST, BURST_SECONDS = 128_000, 1e-3  # bytes that may pass at once; with less the rate is not reached


def lacking() -> str:
    """Why there can be none here; empty if there can."""
    if missing := [tool for tool in ("ip", "tc") if shutil.which(tool) is None]:
        return f"this machine has no `{missing[0]}`"
    return "" if os.geteuid() == 0 else "namespaces need root"


@contextmanager
def joined() -> Iterator[None]:
    """While it lasts, the two namespaces are there, with a link that nothing holds back."""
    _remove()
    try:
        for name in NAMES:
            _run("ip", "netns", "add", name)
        _run(
            "ip", "-n", NAMES[0], "link", "add", INTERFACE, "type", "veth", "peer", "name", INTERFACE, "netns", NAMES[1]
        )
        for name, address in zip(NAMES, ADDRESSES, strict=True):
            _run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", INTERFACE)
            _run("ip", "-n", name, "link", "set", INTERFACE, "up")
            _run("ip", "-n", name, "link", "set", "lo", "up")
            _run("ip", "-n", name, "route", "replace", "10.79.0.0/24", "dev", INTERFACE, "congctl", "cubic")
        yield
    finally:
        _remove()


def limit(bits: float | None) -> None:
    """Both directions to so many bits a second; None: as fast as the machine is."""
    for host in HOSTS:
        if bits is None:
            subprocess.run([*host, "tc", "qdisc", "del", "dev", INTERFACE, "root"], capture_output=True, check=False)
        else:
            burst = max(LEAST_BURST, int(bits / 8 * BURST_SECONDS))
            how = ["rate", f"{int(bits)}bit", "burst", str(burst), "latency", "20ms"]
            _run(*host, "tc", "qdisc", "replace", "dev", INTERFACE, "root", "tbf", *how)


def _remove() -> None:
    for name in NAMES:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"`{' '.join(words)}` failed: {done.stderr.strip()}")
