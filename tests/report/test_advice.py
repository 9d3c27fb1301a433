"""Advice by records with known answers: what to change, how sure it is, what it costs, and what is not said."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from paceline.errors import StudyError
from paceline.plan.expand import Trial
from paceline.report.advice import Advised, advise
from paceline.report.advice.allowed import beyond
from paceline.report.advice.kinds import (
    ACCURACY,
    HINT,
    KINDS,
    KNOW,
    LIKELY,
    RESOURCES,
    SHOWN,
    SURE,
    TIME,
    TRADE,
    Advice,
    Gain,
    by_seeds,
    ranked,
)
from paceline.report.answer import answer
from paceline.report.page import page
from paceline.spec import Run

from .recorded import DIGITS, Made, learning, made
from .sharing import STRONG, TARGET, four_cores, shared
from .test_timing import LOADERS, known_of, result, spent, status, timed

BATCHES = """
name: batches
question: Which batch?
base: {data: digits, model: softmax, optimizer: gd, lr: 0.1, epochs: 10}
compare: {batch: [8, 32, 128]}
repeat: 4
measure: time
"""
OPTIMIZERS = """
name: rules
base: {data: digits, model: softmax, lr: 0.1, batch: 50, steps: 100, evaluate_every: 10}
compare: {optimizer: [gd, adam, rmsprop]}
repeat: 4
"""


def wobble(seed: int, of: float = 1.0) -> float:
    """Noise of the seed, of mean 0 over four seeds."""
    return of * (-0.003, 0.001, 0.003, -0.001)[seed % 4]


def study(
    text: str,
    top: Callable[[Run], float],
    took: Callable[[Run], float] = lambda run: 1.0,
    *,
    half: Callable[[Run], float] = lambda run: 10.0,
    spread: Callable[[Run], float] = lambda run: 1.0,
    noted: dict[str, Any] | None = None,
    **more: Any,
) -> Advised:
    """Curves that rise to `top` by halves of the rest every `half` steps, in `took` seconds for 100 steps."""

    def row(trial: Trial, step: int) -> dict[str, Any]:
        run = trial.run
        end = top(run) + wobble(run.seed, spread(run))
        accuracy = 0.1 + (end - 0.1) * (1 - 0.5 ** (step / half(run)))
        seconds = took(run) * (1 + wobble(run.seed + 1)) * step / 100
        return {
            "epoch": max(step - 1, 0) // 10,
            "accuracy": accuracy,
            "loss": 2.3 * (1 - accuracy),
            "seconds": seconds,
            "wall_seconds": seconds,
            "lr": 0.1,
        }

    price = more.pop("price", None)
    found: Made = made(text, row, **more)
    columns = [pl.lit(value).alias(name) for name, value in (noted or {}).items()]
    return advise(answer(replace(found, runs=found.runs.with_columns(*columns, pack=pl.lit("p"))), price=price))


def named(found: Advised, words: str) -> Advice:
    one = next((each for each in found.advice if words in each.change), None)
    assert one is not None, f"no '{words}' in {[each.change for each in found.advice]}"
    return one


def changes(found: Advised) -> str:
    return "\n".join(one.change for one in found.advice)


def refused(found: Advised) -> str:
    return "\n".join(f"{each.what}: {each.why}" for each in found.unsaid)


def alike(run: Run) -> float:
    return 0.9


def larger_is_faster(run: Run) -> float:
    return 80.0 / int(run.batch)


def test_a_faster_setting_at_the_same_result_is_shown():
    found = study(BATCHES, alike, larger_is_faster)
    one = found.advice[0]
    assert (one.kind, one.change, one.sure) == (TIME, "use batch 128 instead of 8", SHOWN)
    assert one.gain is not None
    assert one.gain.value == pytest.approx(16, rel=0.01)
    assert 1 < one.gain.low <= one.gain.value <= one.gain.high  # type: ignore[operator]
    assert one.gain.n == 4
    assert "times as fast to accuracy 0.88" in one.gain.said
    assert "none in accuracy" in one.price
    assert "median" in one.evidence


def test_a_result_that_is_lost_is_said_in_the_same_line():
    found = study(BATCHES, lambda run: 0.9 - (0.04 if run.batch == 128 else 0.0), larger_is_faster)
    trade = named(found, "batch 128")
    assert trade.kind == TRADE
    assert trade.change == "use batch 128 instead of 8, which loses 0.03996 of accuracy"
    assert "0.03996 lower (" in trade.price
    assert found.advice[0].change == "use batch 32 instead of 8", "the same result comes first"


def test_no_time_is_worth_a_result_that_is_far_worse():
    found = study(BATCHES, lambda run: 0.9 - (0.1 if run.batch == 128 else 0.0), larger_is_faster)
    assert not [one for one in found.advice if "use batch 128" in one.change]


def test_a_result_that_may_be_lost_is_not_shown():
    found = study(BATCHES, alike, larger_is_faster, spread=lambda run: 15.0 if run.batch == 128 else 0.0)
    assert named(found, "use batch 32").sure == SHOWN
    assert named(found, "use batch 128").sure != SHOWN


def test_what_misses_the_target_that_the_first_meets_has_not_the_same_result():
    text = BATCHES.replace("epochs: 10}", "epochs: 10, early_stop: {target: 0.89}}")
    found = study(text, lambda run: 0.9 if run.batch == 8 else 0.886, larger_is_faster)
    assert not [one for one in found.advice if one.kind == TIME and "batch 128" in one.change]
    assert named(found, "use batch 128").kind == TRADE
    assert "runs stop at" not in named(found, "use batch 128").price
    both = study(text, alike, larger_is_faster)
    assert any("none in accuracy: runs stop at" in one.price for one in both.advice if one.kind == TIME)


def test_ten_per_cent_is_no_gain():
    found = study(BATCHES, alike, lambda run: 1.0 if run.batch == 8 else 0.95)
    assert not [one for one in found.advice if one.kind in (TIME, TRADE) and "batch" in one.change]


def test_noise_above_the_effect_is_refused():
    noisy = {"probe_before": 1.0, "probe_after": 3.0}
    found = study(BATCHES, alike, lambda run: 1.0 if run.batch == 8 else 0.5, noted=noisy)
    assert "use batch" not in changes(found)
    assert "the noise of the machine is larger than the effect" in refused(found)


def test_runs_that_were_not_timed_alone_give_steps_at_most_likely():
    apart = {"timing": "stacked", "spread": lambda run: float(len(run.optimizer.name))}
    slow = study(OPTIMIZERS, alike, half=lambda run: 12.0 if run.optimizer.name == "gd" else 4.0, **apart)
    one = named(slow, "use adam instead of gd")
    assert one.sure == LIKELY
    assert "times fewer steps to accuracy" in one.gain.said  # type: ignore[union-attr]
    assert "12 of 12 runs were stacked; `measure: time`" in refused(slow)
    other = study(BATCHES, alike, timing="stacked", half=lambda run: 20.0 if run.batch == 8 else 5.0)
    assert not [one for one in other.advice if one.kind == TIME and "use" in one.change], "other batches, other steps"


def test_a_target_seen_too_seldom_is_a_hint():
    at = {"gd": 12.0, "adam": 10.0}  # each meets the target between the same rows, or one row later
    coarse = study(OPTIMIZERS, alike, half=lambda run: at.get(run.optimizer.name, 12.0), steps=range(0, 101, 50))
    fine = study(OPTIMIZERS, alike, half=lambda run: {"adam": 4.0}.get(run.optimizer.name, 12.0), steps=range(101))
    assert all(one.sure == HINT for one in coarse.advice if one.kind == TIME and "use" in one.change)
    assert named(fine, "use adam instead of gd").sure == SHOWN


def test_a_run_that_broke_off_is_not_fast():
    text = OPTIMIZERS.replace("repeat: 4", "repeat: 5").replace("[gd, adam, rmsprop]", "[gd, adam]")

    def broke(run: Run) -> bool:
        return run.optimizer.name == "adam" and run.seed > 0

    found = study(
        text,
        lambda run: 0.3 if broke(run) else 0.9,
        lambda run: 0.1 if broke(run) else 1.0,
        status=lambda trial: "diverged" if broke(trial.run) else "done",
    )
    assert not [one for one in found.advice if "adam" in one.change and one.kind in (TIME, TRADE)]


def test_a_better_result_is_shown_with_its_interval():
    found = study(
        OPTIMIZERS, lambda run: 0.9 if run.optimizer.name == "adam" else 0.8, spread=lambda run: len(run.optimizer.name)
    )
    one = named(found, "use adam instead of gd")
    assert (one.kind, one.sure) == (ACCURACY, SHOWN)
    assert one.gain is not None
    assert one.gain.low < one.gain.value < one.gain.high  # type: ignore[operator]
    assert "higher accuracy" in one.gain.said
    assert "times the seconds of the whole training" in one.price


def test_a_change_that_gains_twice_stands_once():
    slow = study(OPTIMIZERS, alike, timing="stacked", half=lambda run: 12.0 if run.optimizer.name == "gd" else 4.0)
    one = named(slow, "use adam instead of gd")
    assert (one.kind, one.sure) == (ACCURACY, SHOWN)
    assert "times fewer steps to accuracy" in one.evidence
    assert changes(slow).count("use adam") == 1


def test_the_first_is_kept_where_it_is_the_best():
    found = study(
        OPTIMIZERS, lambda run: 0.9 if run.optimizer.name == "gd" else 0.8, spread=lambda run: len(run.optimizer.name)
    )
    assert named(found, "keep gd instead of").sure == SHOWN


def test_dominated_settings_are_stopped_but_not_one_that_may_be_sooner():
    tops = {"gd": 0.9, "adam": 0.89, "rmsprop": 0.5}
    spread = {"gd": 1.0, "adam": 40.0, "rmsprop": 2.0}
    slow = study(OPTIMIZERS, lambda r: tops[r.optimizer.name], spread=lambda r: spread[r.optimizer.name])
    one = named(slow, "drop rmsprop from the study: gd is better and no later")
    assert (one.kind, one.sure) == (RESOURCES, SHOWN)
    assert one.gain is not None
    assert one.gain.said == "8 runs instead of 12"
    quick = study(
        OPTIMIZERS,
        lambda r: tops[r.optimizer.name],
        lambda r: 0.2 if r.optimizer.name == "rmsprop" else 1.0,
        spread=lambda r: spread[r.optimizer.name],
    )
    assert "from the study" not in changes(quick)


def test_a_setting_whose_best_lies_at_an_edge_is_not_called_dominated():
    def rising(trial: Trial, step: int) -> dict[str, Any]:
        poor = {"gd": 0.3 * abs(trial.axes["lr"] - 0.1)}.get(trial.run.optimizer.name, 0.0)
        row = learning(trial, step)
        return row | {"accuracy": row["accuracy"] - poor, "validation_accuracy": row["validation_accuracy"] - poor}

    text = DIGITS.replace("[gd, adam, rmsprop]", "[adam, rmsprop, gd]").replace("[0.1, 0.01, 0.001]", "[0.01, 0.001]")
    found = advise(answer(made(text, rising)))
    assert "from the study" not in changes(found)
    edge = named(found, "try lr above 0.01")
    assert (edge.kind, edge.gain) == (KNOW, None)
    assert "the largest tried" in edge.evidence


def test_tied_settings_are_not_said_and_seeds_are_priced():
    found = advise(answer(made(DIGITS, learning), price=2.0))
    assert "Which of adam and rmsprop has the best accuracy: not separated" in refused(found)
    seeds = [one for one in found.advice if "to separate" in one.change]
    assert all(
        "80 % power" in one.evidence and one.minutes is not None and "at this price" in one.price for one in seeds
    )


def test_a_stable_curve_is_cut_short():
    text = BATCHES.replace("epochs: 10", "epochs: 40").replace("[8, 32, 128]", "[8]")
    found = study(text, alike, steps=range(0, 401, 10), half=lambda run: 20.0)
    one = named(found, "of 40 epochs")
    assert (one.kind, one.sure) == (TIME, SHOWN)
    assert one.gain is not None
    assert one.gain.n is None, "epochs are counted"
    assert one.gain.value > 1.25
    assert "accuracy" in one.price
    scheduled = text.replace("lr: 0.1", "lr: 0.1, schedule: cosine")
    assert named(study(scheduled, alike, steps=range(0, 401, 10), half=lambda run: 20.0), "of 40 epochs").sure == LIKELY


def test_devices_that_gain_and_devices_that_do_not(tmp_path: Path):
    gains = advise(shared(STRONG, tmp_path / "gains", price=3.0))
    one = named(gains, "use 8 devices instead of 1")
    assert (one.kind, one.sure) == (TIME, SHOWN)
    assert "times the device-hours" in one.price
    assert "a run costs" in one.price
    idle = advise(shared(STRONG, tmp_path / "idle", speed=lambda run: 1000.0 * min(run.devices, 2) + run.seed))
    assert named(idle, "use 2 devices instead of 1").sure == SHOWN
    fewer = named(idle, "use 2 devices instead of 8")
    assert (fewer.kind, fewer.sure) == (RESOURCES, SHOWN)
    assert "times fewer device-hours" in fewer.gain.said  # type: ignore[union-attr]


def test_devices_that_share_no_seed_are_held_against_those_that_do(tmp_path: Path):
    text = STRONG.replace("[1, 2, 4, 8]", "[1, 2, 4]").replace("repeat: 3", "repeat: 4")
    seeds = {1: (0, 1), 2: (0, 1, 2, 3), 4: (2, 3)}
    found = shared(text, tmp_path, status=lambda run: "done" if run.seed in seeds[run.devices] else "queued")
    one = named(advise(found), "use 4 devices instead of 2")
    assert one.gain is not None
    assert one.gain.value == pytest.approx(1.1 * 2 / 1.3, rel=0.01)


def test_oversubscribed_devices_are_refused(tmp_path: Path):
    found = advise(shared(TARGET, tmp_path, timing=four_cores))
    assert "8 devices" not in changes(found)
    assert "How fast 8 devices would be: 3 of 3 runs were oversubscribed" in refused(found)


def test_loader_workers(tmp_path: Path):
    found = advise(known_of(LOADERS, tmp_path))
    one = named(found, "use 2 DataLoader workers")
    assert (one.kind, one.sure) == (RESOURCES, SHOWN)
    assert "more gain nothing" in one.change


def test_a_compared_axis_is_followed_beyond_the_best_end_of_it():
    def rising(run: Run) -> float:
        return 0.5 + int(run.batch) / 400

    spread = {"spread": lambda run: math.sqrt(int(run.batch))}
    edge = named(study(BATCHES, rising, **spread), "try batch above 128: the best lies at the edge")
    assert (edge.kind, edge.sure) == (KNOW, HINT)
    assert "the largest tried" in edge.evidence
    assert edge.price.startswith("4 more runs")
    assert "try batch" not in changes(study(BATCHES, lambda run: 0.9 - abs(int(run.batch) - 32) / 400, **spread))
    assert "try batch" not in changes(study(BATCHES, alike, **spread)), "the best is not known"


def test_what_no_run_can_have_is_not_tried():
    small = BATCHES.replace("[8, 32, 128]", "[1, 8, 32]")
    spread = {"spread": lambda run: math.sqrt(int(run.batch))}

    def falling(run: Run) -> float:
        return 0.9 - int(run.batch) / 400

    assert "try batch" not in changes(study(small, falling, **spread))
    assert "try batch below 2" in changes(study(small.replace("[1,", "[2,"), falling, **spread))
    assert "try epochs" not in changes(
        study(
            small.replace("batch: [1, 8, 32]", "epochs: [1, 2, 3]").replace(", epochs: 10", ""),
            lambda run: 0.9 - float(run.epochs or 0) / 20,
            spread=lambda run: float(run.epochs or 0),
        )
    )
    tuned = OPTIMIZERS.replace("batch: 50, ", "") + "tune: {batch: [1, 2, 4]}\n"
    assert "try batch" not in changes(study(tuned, falling, **spread))
    assert "try batch below 2" in changes(study(tuned.replace("[1, 2, 4]", "[2, 4, 8]"), falling, **spread))


@pytest.mark.parametrize(
    ("axis", "value", "below", "above"),
    [
        ("batch", 1, False, True),
        ("axis.batch", 2, True, True),
        ("epochs", 1.0, False, True),
        ("epochs", 2.0, True, True),
        ("lr", 1.0, True, True),
        ("warmup", 0, False, False),
        ("loader.workers", 1024, True, False),
        ("loader.prefetch", 1, False, True),
        ("optimizer.beta1", 0.9, True, True),
        ("model.widths", 3, True, True),
        ("strategy.rank", 1, False, True),
    ],
)
def test_where_there_is_something_beyond(axis: str, value: float, below: bool, above: bool):
    run = Run(data="digits", model="my:Net", optimizer="adam", lr=1.0, epochs=2, loader={"workers": 2})  # type: ignore[arg-type]
    assert beyond(run, axis, value, above=False) == below
    assert beyond(run, axis, value, above=True) == above


def test_a_best_that_is_not_known_lies_at_no_edge():
    tops = {8: 0.5, 32: 0.9, 128: 0.8}

    def top(run: Run) -> float:
        return tops[int(run.batch)]

    def missing(trial: Trial) -> str:
        return "queued" if trial.run.batch == 32 and trial.run.seed == 3 else "done"

    spread = {"spread": lambda run: math.sqrt(int(run.batch))}
    known = study(BATCHES, lambda run: tops[int(run.batch)] - 0.2 * (run.batch == 32), **spread)
    assert "the best lies at the edge" in changes(known)
    assert "the best lies at the edge" not in changes(study(BATCHES, top, status=missing, **spread))


def test_another_value_of_a_compared_axis_is_tuned_too():
    text = BATCHES.replace("lr: 0.1, ", "").replace("repeat", "tune: {lr: [0.1, 0.2, 0.3]}\nrepeat")
    spread = {"spread": lambda run: math.sqrt(int(run.batch))}
    found = study(text, lambda run: 0.5 + int(run.batch) / 400 - abs(run.lr - 0.2), **spread)
    assert named(found, "try batch above 128").price.startswith("12 more runs")


def waits_on(text: str, folder: Path, line: dict[str, float], **noted: Any) -> str:
    """What is advised where a step of 5 ms spends so much in the phases of `line`."""

    def spends(run: Run, step: int) -> dict[str, Any]:
        return spent(run, step) | {name: each * step for name, each in line.items()} | {"seconds": 0.005 * step}

    found = made(text, result)
    return changes(advise(answer(timed(found, folder, spends, lambda run: status(run) | noted), folder)))


def test_what_the_best_has_or_cases_vary_is_not_proposed(tmp_path: Path):
    plain = LOADERS.replace(
        "compare: {loader: [memory, {workers: 0}, {workers: 2}, {workers: 4}]}", "compare: {lr: [0.1, 0.2]}"
    )
    cases = LOADERS.replace(
        "compare: {loader: [memory, {workers: 0}, {workers: 2}, {workers: 4}]}",
        "cases: {memory: {loader: memory}, two: {loader: 2}, four: {loader: 4}}",
    )
    pinned = plain.replace("steps: 100", "steps: 100, loader: {workers: 2, pin_memory: true}")
    loader, copies, calls = {"loader": 0.004}, {"loader": 0.0, "copy": 0.004}, {"work_calls": 1e4}
    assert "the loader waits: try a DataLoader with workers" in waits_on(plain, tmp_path / "plain", loader)
    assert "the loader waits" not in waits_on(cases, tmp_path / "cases", loader)
    assert "copies wait: try data that stays on the device" in waits_on(pinned, tmp_path / "pinned", copies)
    assert "copies wait" not in waits_on(plain, tmp_path / "copies", copies)
    said = waits_on(plain, tmp_path / "calls", {}, **calls)
    assert "calls bound the step: try a larger batch, or compile" in said
    compiled = plain.replace("steps: 100", "steps: 100, compile: true")
    said = waits_on(compiled, tmp_path / "compiled", {}, **calls)
    assert "calls bound the step: try a larger batch" in said
    assert "or compile" not in said
    batches = compiled.replace("lr: [0.1, 0.2]", "batch: [10, 20]")
    assert "calls bound the step" not in waits_on(batches, tmp_path / "batches", {}, **calls)


def test_what_the_best_waits_for_is_named_unless_the_study_varies_it(tmp_path: Path):
    text = LOADERS.replace(
        "compare: {loader: [memory, {workers: 0}, {workers: 2}, {workers: 4}]}", "compare: {lr: [0.1, 0.2]}"
    )
    waiting = text.replace("steps: 100", "steps: 100, loader: {workers: 0}")
    one = named(advise(known_of(waiting, tmp_path / "waits")), "the loader waits: try the memory loader")
    assert (one.kind, one.sure) == (KNOW, HINT)
    assert one.evidence.startswith("loader-bound: ")
    assert "n = 3 seeds" in one.evidence
    assert "waits" not in changes(advise(known_of(text, tmp_path / "memory")))
    assert "the loader waits" not in changes(advise(known_of(LOADERS, tmp_path / "varied")))


def batches_of(batch: int, useful: Callable[[int], float]) -> str:
    """What is advised by squared norms of a gradient of norm 1 whose noise is that of the useful batch at a step, a
    tenth off by turns; where that is below 0, noise alone."""
    text = OPTIMIZERS.replace(
        "batch: 50, steps: 100, evaluate_every: 10", f"batch: {batch}, steps: 100, noise_every: 1"
    )

    def row(trial: Trial, step: int) -> dict[str, Any]:
        trace, signal = useful(step) * (1 + 0.1 * (-1) ** (step // 5)), 1.0
        if trace < 0:
            trace, signal = 1.0, -0.01
        norms = {"noise_small_norm2": signal + 2 * trace / batch, "noise_big_norm2": signal + trace / batch}
        sizes = {"noise_small_batch": batch / 2, "noise_big_batch": float(batch)}
        return {"accuracy": 0.9 - 0.1 * 0.5**step, **sizes, **norms}

    return changes(advise(answer(made(text, row, steps=range(0, 101, 5)))))


@pytest.mark.parametrize(
    ("batch", "useful", "words"),
    [
        (64, 10.0, "try batch 8 instead of 64: above the useful batch a larger one buys few steps"),
        (64, 5000.0, "try a batch up to 4,096 instead of 64: it would need fewer steps"),
        (100, 120.0, "try a batch up to 128 instead of 100: it would need fewer steps"),
        (120, 94.0, None),  # 128 is the nearest power of two
        (75, 87.0, None),  # 64 is
        (64, 64.0, None),
        (64, 0.0, None),
    ],
)
def test_a_batch_outside_the_useful_one_is_named(batch: int, useful: float, words: str | None):
    found = batches_of(batch, lambda step: useful)
    assert (words in found) if words else ("try batch" not in found and "try a batch" not in found)


@pytest.mark.parametrize("late", [-1.0, 0.0])
def test_the_start_of_a_training_says_nothing_of_its_end(late: float):
    assert "try batch 8 instead of 100" in batches_of(100, lambda step: 10.0)
    assert "try batch" not in batches_of(100, lambda step: 10.0 if step <= 66 else late)


def test_what_still_improves_is_trained_longer():
    text = BATCHES.replace("epochs: 10", "epochs: 40").replace("[8, 32, 128]", "[8]")
    one = named(study(text, alike, steps=range(0, 401, 10), half=lambda run: 400.0), "longer: it still improves")
    assert (one.kind, one.sure) == (KNOW, LIKELY)
    assert "'still improving' in 4 of 4 seeds" in one.evidence
    assert one.price.startswith("twice as long: 4 more runs, about 32 s")
    assert one.minutes == pytest.approx(4 * 2 * 4.0 / 60, rel=0.01)
    stopped = text.replace("epochs: 40", "epochs: 40, early_stop: {target: 0.45}")
    assert "longer" not in changes(study(stopped, alike, steps=range(0, 401, 10), half=lambda run: 400.0))
    assert "longer" not in changes(study(text, alike, steps=range(0, 401, 10), half=lambda run: 20.0))


def test_missing_runs_and_those_that_need_a_gpu_are_named():
    text = OPTIMIZERS.replace("optimizer: [gd, adam, rmsprop]", "optimizer: [gd, adam], device: [cpu, cuda]")
    found = study(text, alike, status=lambda trial: "queued" if trial.run.device == "cuda" else "done")
    assert named(found, "train the 8 missing runs of 16 on a GPU").kind == KNOW
    assert "What a GPU would do: 8 runs" in refused(found)
    assert "8 of 16 runs have not ended" in refused(found)


def test_runs_that_train_have_not_ended():
    how = {0: "running", 1: "queued"}
    found = study(OPTIMIZERS, alike, status=lambda trial: how.get(trial.run.seed, "done"))
    assert named(found, "train the 3 missing runs of 12").evidence.startswith("6 of 12 runs have ended")


def test_runs_that_were_not_timed_are_said():
    found = made(OPTIMIZERS, learning)
    untimed = pl.when(pl.col("seed") > 0).then(pl.lit("exclusive")).alias("timing")
    said = refused(advise(answer(replace(found, runs=found.runs.with_columns(untimed, pack=pl.lit("p"))))))
    assert "How many seconds a change saves: 3 of 12 runs were not timed" in said


def test_one_seed_asks_for_more():
    found = study(BATCHES.replace("repeat: 4", "repeat: 1"), alike, larger_is_faster)
    assert named(found, "use batch 128").sure == HINT
    assert named(found, "train 2 more seeds of every setting (--seeds 3)").price.startswith("6 more runs")
    assert "one seed a setting" in refused(found)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_more_seeds_are_not_asked_for_where_they_change_nothing(noise: float):
    def line(trial, step):
        return {"loss": {"gd": 0.5, "adam": 0.4, "rmsprop": 0.7}[trial.run.optimizer.name] + noise * trial.run.seed}

    text = DIGITS.replace("tune: {lr: [0.1, 0.01, 0.001]}", "").replace("base: {", "base: {lr: 0.1, ")
    found = advise(answer(made(text.replace("repeat: 4", "repeat: 2"), line)))
    assert any("more seed" in one.change for one in found.advice) == (noise > 0)


def test_what_one_seed_seems_to_lose_is_not_advised():
    lost = study(BATCHES.replace("repeat: 4", "repeat: 1"), lambda run: 0.9 - int(run.batch) / 300, larger_is_faster)
    assert not [one for one in lost.advice if one.kind == TRADE]
    falling = BATCHES.replace("[8, 32, 128]", "[8]").replace("repeat: 4", "repeat: 1")
    assert "stop" not in changes(study(falling, alike, half=lambda run: 60.0))


def test_more_runs_of_a_stack_cost_their_share():
    """Six runs are one stack of 2 s; three more cost half of it."""
    found = study(OPTIMIZERS.replace("repeat: 4", "repeat: 2"), alike, lambda run: 2.0, timing="stacked")
    one = named(found, "train 1 more seed of every setting")
    assert one.minutes == pytest.approx(3 * 2.0 / 6 / 60, rel=0.01)


def test_a_smaller_size_is_named():
    text = BATCHES + "scales:\n  quick: {epochs: 1}\n"
    assert "this is its size 'quick'" in refused(study(text, alike, larger_is_faster, scale="quick"))


def test_without_a_result_nothing_is_advised():
    found = study(OPTIMIZERS, alike, status=lambda trial: "queued")
    assert found.advice == ()
    assert "none of 12 runs has ended" in refused(found)
    assert "Nothing to change" in found.text


def test_a_price_must_be_one():
    with pytest.raises(StudyError, match="no price of a device-hour"):
        study(BATCHES, alike, price=-1.0)


STUDIES: dict[str, Callable[[Path, int], Advised]] = {
    "batches": lambda folder, n: study(BATCHES.replace("repeat: 4", f"repeat: {n}"), alike, larger_is_faster),
    "lost": lambda folder, n: study(
        BATCHES.replace("repeat: 4", f"repeat: {n}"), lambda run: 0.9 - int(run.batch) / 1000, larger_is_faster
    ),
    "rules": lambda folder, n: study(
        OPTIMIZERS.replace("repeat: 4", f"repeat: {n}"),
        lambda run: {"adam": 0.9, "gd": 0.8}.get(run.optimizer.name, 0.6),
    ),
    "tuned": lambda folder, n: advise(answer(made(DIGITS.replace("repeat: 4", f"repeat: {n}"), learning))),
    "devices": lambda folder, n: advise(shared(STRONG.replace("repeat: 3", f"repeat: {n}"), folder)),
    "idle": lambda folder, n: advise(
        shared(STRONG.replace("repeat: 3", f"repeat: {n}"), folder, speed=lambda run: 1000.0 + run.seed)
    ),
    "loaders": lambda folder, n: advise(known_of(LOADERS.replace("repeat: 3", f"repeat: {n}"), folder)),
}


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("seeds", [1, 2, 4])
def test_laws(name: str, seeds: int, tmp_path: Path):
    """No advice without evidence and price; nothing shown from fewer than three seeds; ranked as the rule says."""
    found = STUDIES[name](tmp_path, seeds)
    assert found.study.repeat == seeds
    for one in found.advice:
        assert any(sign.isdigit() for sign in one.evidence), one
        assert one.price, one
        assert one.sure in SURE
        assert one.kind in KINDS
        assert (one.gain is None) == (one.kind == KNOW)
        assert seeds >= 3 or one.sure != SHOWN, one
        assert seeds > 1 or one.sure == HINT or one.kind == KNOW, one
        if one.gain and one.sure == SHOWN:
            assert one.gain.low is not None
            assert one.gain.certain > 0, "the whole interval is a gain"
    if seeds < 3:
        assert "seed" in refused(found)
    places = [(one.kind == KNOW, SURE.index(one.sure) if one.kind != KNOW else 0) for one in found.advice]
    assert places == sorted(places)
    assert [one.change for one in found.advice] == list(dict.fromkeys(one.change for one in found.advice))


def test_the_order_does_not_depend_on_how_advice_was_found():
    gains = [
        None,
        Gain(2.0, 1.5, 3.0, 4, "times"),
        Gain(2.0, None, None, 1, "times"),
        Gain(0.1, 0.05, 0.2, 4, "more", False),
    ]
    found = [
        Advice(kind, f"{kind} {sure} {place}", gain, sure, "1", "1", float(place))
        for kind in KINDS
        for sure in SURE
        for place, gain in enumerate(gains)
    ]
    first, mixed = ranked(found), random.Random(0)
    for _ in range(20):
        mixed.shuffle(found)
        assert ranked(found) == first
    assert [one.sure for one in first if one.kind != KNOW] == sorted(
        (one.sure for one in found if one.kind != KNOW), key=SURE.index
    )
    assert {one.kind for one in first[-3 * len(gains) :]} == {KNOW}


@pytest.mark.parametrize(("n", "sure"), [(1, HINT), (2, LIKELY), (3, SHOWN), (9, SHOWN)])
def test_seeds_bound_how_sure_a_thing_is(n: int, sure: str):
    assert by_seeds(n) == sure
    assert by_seeds(n, most=HINT) == HINT


def test_the_table_has_everything_and_the_text_fits_a_terminal():
    found = study(BATCHES, alike, larger_is_faster)
    table = found.table
    assert table.height == len(found.advice) + len(found.unsaid)
    assert table["rank"].drop_nulls().to_list() == list(range(1, len(found.advice) + 1))
    assert (table.filter(pl.col("rank").is_null())["sure"] == "not said").all()
    assert max(map(len, found.text.splitlines())) <= 100
    assert "Not said" in study(BATCHES.replace("repeat: 4", "repeat: 2"), alike, larger_is_faster).text
    assert repr(found) == found.text


def test_the_page_has_the_first_five(tmp_path: Path):
    known = shared(STRONG, tmp_path)
    section = page(known).partition('<section id="advice">')[2].partition("</section>")[0]
    assert "Use 8 devices instead of 1 [shown]" in section
    assert section.count("<li>") == min(len(advise(known).advice), 5)
