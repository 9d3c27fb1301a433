"""What a person sees while runs and stacks train."""

import io
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress

from paceline.execute.events import Event
from paceline.report.terminal import Tally, _at_work, _panel, duration, show

RUNS = ("a", "b", "c", "d")
LABELS = {run: f"seed {place}" for place, run in enumerate(RUNS)}


def tally(*events: Event, steps: int = 100, done: int = 0) -> Tally:
    made = Tally(len(RUNS), done, LABELS, dict.fromkeys(RUNS, steps))
    for event in events:
        made.take(event)
    return made


def began(*runs: str, pack: str = "p") -> Event:
    return Event("began", pack, runs=runs) if len(runs) > 1 else Event("began", pack, runs[0])


def at(step: int, *runs: str, pack: str = "p", total: int = 100) -> Event:
    if len(runs) > 1:
        return Event("progress", pack, runs=runs, step=step, total=total)
    return Event("progress", pack, runs[0], step=step, total=total)


def ended(run: str, status: str = "done", pack: str = "p", **row: float) -> Event:
    return Event("ended", pack, run, status=status, row={"step": 1, **row})


def test_a_stack_is_one_line() -> None:
    assert _at_work(tally(began(*RUNS))) == [("a stack of 4 runs", (0, 100))]
    assert _at_work(tally(began(*RUNS), at(30, *RUNS))) == [("a stack of 4 runs", (30, 100))]
    assert _at_work(tally(began(*RUNS), at(30, *RUNS), ended("b"))) == [("a stack of 3 runs", (30, 100))]
    assert _at_work(tally(began(*RUNS), *map(ended, RUNS))) == []


def test_stacks_side_by_side_and_single_runs_have_a_line_each() -> None:
    two = tally(began("a", "b"), began("c", "d", pack="q"), at(10, "a", "b"), at(20, "c", "d", pack="q"))
    assert _at_work(two) == [("a stack of 2 runs", (10, 100)), ("a stack of 2 runs", (20, 100))]
    mixed = tally(began("a", "b"), began("c", pack="q"), at(7, "c", pack="q", total=50))
    assert _at_work(mixed) == [("a stack of 2 runs", (0, 100)), ("seed 2", (7, 50))]


def test_a_stack_ends_with_its_longest_run() -> None:
    made = Tally(2, 0, LABELS, {"a": 100, "b": 400})
    for event in (began("a", "b"), at(50, "a", "b", total=400)):
        made.take(event)
    assert _at_work(made) == [("a stack of 2 runs", (50, 400))]
    assert made._steps == {"a": 100, "b": 400}


def test_the_runs_of_a_stack_that_was_given_up_are_at_work_one_by_one() -> None:
    made = tally(began(*RUNS), at(30, *RUNS), ended("a"), began("b"), at(5, "b"))
    assert _at_work(made) == [("seed 1", (5, 100))]
    assert sum(made._steps.values()) == 300
    other = tally(began("a", "b"), began("c", "d", pack="q"), began("a"))
    assert _at_work(other) == [("a stack of 2 runs", (0, 100)), ("seed 0", (0, 0))]


def test_steps_made_before_it_was_broken_off_took_no_time_now(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 60.0])
    monkeypatch.setattr("paceline.report.terminal.time.monotonic", lambda: next(clock))
    made = Tally(2, 0, LABELS, {"a": 100, "b": 100}, {"a": 60, "b": 40})
    for event in (began("a", "b"), at(75, "a", "b")):
        made.take(event)
    assert made.eta == "1 min"


def test_what_is_left_is_reckoned_from_all_steps_of_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 60.0])
    monkeypatch.setattr("paceline.report.terminal.time.monotonic", lambda: next(clock))
    made = tally(began(*RUNS), at(25, *RUNS))
    assert made.eta == "3 min"


def test_the_estimate_stands_until_the_steps_say_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("paceline.report.terminal.time.monotonic", lambda: now)
    made = Tally(2, 0, LABELS, {"a": 1000, "b": 1000}, pace={"a": 1.0, "b": 3.0})
    assert made.eta == "67 min"
    now = 30.0
    made.take(began("a"))
    made.take(at(1, "a", total=1000))
    assert made.eta == "1.6 h", "a slow start, and no more than that"
    now = 2000.0
    made.take(ended("a"))
    assert made.eta == "1.6 h", "twice as slow as expected, three quarters still to come"


def test_steps_that_nobody_knew_are_counted_once() -> None:
    made = Tally(2, 0, LABELS, {})
    for step in (0, 10, 20):
        made.take(at(step, "a", "b", total=40))
    assert (made._steps, made._before) == ({"a": 40, "b": 40}, 80)


def test_words_of_a_stack_that_ended() -> None:
    made = tally(
        began(*RUNS), ended("a", accuracy=0.5), ended("b", accuracy=0.75), ended("c", "diverged"), ended("d", "failed")
    )
    assert made.words() == "3 of 4 done, 1 diverged, 1 failed, 0 s left; best so far: accuracy 0.75 by seed 1"


@given(st.lists(st.sampled_from(["done", "diverged", "failed", "interrupted"]), min_size=4, max_size=4), st.booleans())
def test_every_end_is_counted_once_stacked_or_not(how: list[str], stacked: bool) -> None:
    start = [began(*RUNS)] if stacked else [began(run) for run in RUNS]
    made = tally(*start, *(ended(run, status) for run, status in zip(RUNS, how, strict=True)))
    assert sum(made.ended.values()) == 4
    assert made.done == how.count("done") + how.count("diverged")
    assert made.running == {}


def shown(events: Iterable[Event], terminal: bool = False) -> tuple[str, Event | None]:
    out = io.StringIO()
    last = show(iter(events), tally(), Console(file=out, force_terminal=terminal, width=100))
    return out.getvalue(), last


@pytest.mark.parametrize("terminal", [False, True])
def test_a_stack_on_a_terminal_and_in_a_log(terminal: bool) -> None:
    text, last = shown([began(*RUNS), at(10, *RUNS), *(ended(run) for run in RUNS[:3]), ended("d", "failed")], terminal)
    assert last is None
    assert "failed: seed 3: " in text
    assert ("3 of 4 done, 1 failed" in text) == terminal


@pytest.mark.parametrize("terminal", [False, True])
def test_runs_that_fail_by_the_same_reason_are_told_once(terminal: bool) -> None:
    why = {"a": "glass", "b": "glass", "c": "stone", "d": "glass"}
    events = [Event("ended", "p", run, status="failed", reason=reason) for run, reason in why.items()]
    text, _ = shown([began(*RUNS), *events], terminal)
    assert [text.count(f"failed: {said}") for said in ("seed 0: glass", "seed 1: ", "seed 2: stone", "seed 3: ")] == [
        *(1, 0, 1, 0)
    ]


def test_the_panel_names_the_stack() -> None:
    out = Console(file=io.StringIO(), width=100, record=True)
    out.print(_panel(Progress(console=out), tally(began(*RUNS), at(10, *RUNS))))
    assert "  a stack of 4 runs: step 10 of 100\n0 of 4 done" in out.export_text()


def test_who_is_refused_or_skipped_is_told() -> None:
    refused = Event("refused", "p", reason="no room")
    text, last = shown([began(*RUNS), Event("skipped", "q"), refused, ended("a")])
    assert last == refused
    assert "pack q is being trained by another process" in text


@pytest.mark.parametrize(("seconds", "said"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (5400, "1.5 h")])
def test_a_duration_in_words(seconds: float, said: str) -> None:
    assert duration(seconds) == said
