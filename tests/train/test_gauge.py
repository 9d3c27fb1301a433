"""Memory, utilisation, power and energy."""

import time

import pytest
import torch

from paceline.train import gauge as module
from paceline.train.gauge import Gauge, Usage, of_all
from paceline.train.parallel.team import Team

CPU = torch.device("cpu")


def rapl(folder, *joules):
    for number, value in enumerate(joules):
        package = folder / f"intel-rapl:{number}"
        package.mkdir(parents=True, exist_ok=True)
        (package / "energy_uj").write_text(f"{int(value * 1e6)}\n")
        (package / "name").write_text(f"package-{number}\n")
        (folder / f"intel-rapl:{number}:0").mkdir(exist_ok=True)
        (folder / f"intel-rapl:{number}:0" / "energy_uj").write_text("999999999")  # a part of the package
    (folder / "intel-rapl:9").mkdir(exist_ok=True)
    (folder / "intel-rapl:9" / "name").write_text("psys\n")  # the platform, which has the packages in it
    (folder / "intel-rapl:9" / "energy_uj").write_text("888888888")


def test_a_busy_process_is_busy_and_an_idle_one_is_not(monkeypatch):
    found = Gauge(CPU, 1)
    end = time.perf_counter() + 0.2
    while time.perf_counter() < end:
        pass
    busy = found.read()
    time.sleep(0.2)
    idle = found.read()
    assert 0 <= idle.utilisation < busy.utilisation <= 1
    assert busy.resident_bytes > 10_000_000
    assert (busy.device_bytes, busy.allocated_bytes) == (None, None)


def test_energy_is_summed_over_packages_and_survives_a_counter_that_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_POWERCAP", tmp_path)
    module._packages.cache_clear()
    rapl(tmp_path, 10, 20)
    found = Gauge(CPU, 1, energy=100.0)
    rapl(tmp_path, 12, 23)
    first = found.read()
    assert first.energy_joules == 105.0
    assert first.power_watts > 0
    rapl(tmp_path, 1, 1)
    second = found.read()
    assert (second.energy_joules, second.power_watts) == (105.0, None)
    rapl(tmp_path, 2, 3)
    assert found.read().energy_joules == 108.0
    module._packages.cache_clear()


def test_without_a_counter_nothing_is_said_of_energy(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_POWERCAP", tmp_path / "none")
    module._packages.cache_clear()
    assert Gauge(CPU, 1).read().energy_joules is None
    module._packages.cache_clear()


def test_of_a_gpu_the_most_is_told_that_was_held_since_the_reset(monkeypatch):
    """Between two steps no activations are held."""
    said = {"memory_allocated": 1, "memory_reserved": 2, "max_memory_allocated": 30, "max_memory_reserved": 40}
    for name, value in said.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, value=value: value)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (50, 100))
    found = Gauge(torch.device("cuda", 0), 1).read()
    assert (found.allocated_bytes, found.reserved_bytes) == (30, 40)
    assert (found.device_used_bytes, found.device_bytes) == (50, 100)


def test_of_a_gpu_it_is_told_how_busy_it_was_when_it_was_looked_at(monkeypatch):
    for name in ("max_memory_allocated", "max_memory_reserved"):
        monkeypatch.setattr(torch.cuda, name, lambda device: 0)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (50, 100))
    said = iter([0.9, 0.7])
    monkeypatch.setattr(module._Gpu, "utilisation", lambda gpu: next(said))
    found = Gauge(torch.device("cuda", 0), 1)
    found.look()
    found.look()
    assert found.read().utilisation == pytest.approx(0.8)
    assert found.read().utilisation is None


class Measured(Team):
    """A team of two, of which the other has measured this."""

    other = (30.0, 3.0, 0.5)

    def spread(self, seconds, device):
        return [list(seconds), list(self.other)]


def test_energy_is_that_of_all_devices():
    mine = Usage(1, energy_joules=10.0, power_watts=1.0, utilisation=1.0)
    of_gpus = of_all(mine, Measured(0, 2), torch.device("cuda", 0))
    assert (of_gpus.energy_joules, of_gpus.power_watts, of_gpus.utilisation) == (40.0, 4.0, 0.75)
    second = of_all(mine, Measured(1, 2, local=1), CPU)  # of a host the first process tells what the package used
    assert (second.energy_joules, second.power_watts, second.utilisation) == (30.0, 3.0, 0.75)
    unread = of_all(Usage(1, utilisation=1.0), Measured(0, 2), CPU)
    assert (unread.energy_joules, unread.power_watts, unread.utilisation) == (None, None, 0.75)
    assert of_all(mine, Team(), CPU) is mine
