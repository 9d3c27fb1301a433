"""Growth: seconds a run as a sweep grows from 8 to 7,200 runs."""

from bench import ours
from bench.peers import tight
from bench.peers.work import Setting
from bench.softmax import EVALUATE_EVERY, STEPS, STUDY, images
from bench.table import Section

SIZES = {8: (8, 1), 72: (72, 1), 720: (72, 10), 7200: (144, 50)}  # runs: settings and seeds
OPTIMIZERS = STUDY["compare"]["optimizer"]


def _study(settings: int, seeds: int) -> dict[str, object]:
    if settings == 8:
        return {**STUDY, "compare": {"optimizer": ["adam"]}, "repeat": seeds}
    rates = [0.5 * 0.95**place for place in range(settings // len(OPTIMIZERS))]
    return {**STUDY, "tune": {"lr": rates}, "repeat": seeds}


def section(rounds: int) -> Section:
    """One measurement a size: the larger ones take minutes."""
    data = images()
    points: list[dict[str, object]] = []
    for runs, (settings, seeds) in SIZES.items():
        taken = ours.seconds(_study(settings, seeds))
        points.append({"runs": runs, "tool": "Paceline", "seconds": taken / runs})
        if runs <= 72:
            asked = [Setting(OPTIMIZERS[place % len(OPTIMIZERS)], 0.01) for place in range(runs)]
            one = tight.sweep(asked, data, STEPS, EVALUATE_EVERY).seconds
            points.append({"runs": runs, "tool": "tight loop", "seconds": one / runs})
    rows = [{"runs": f"{p['runs']:,}", "tool": p["tool"], "seconds a run": p["seconds"]} for p in points]
    return Section("Growth of (a), from 8 to 7,200 runs, one measurement each", "s a run", [], [], points, rows)
