"""Why runs failed, in words: a line for each reason, and where in the user's own code it arose."""

import re
from collections.abc import Iterable
from pathlib import Path

from paceline.record.reader import RunState
from paceline.report.names import counted

_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)$', re.MULTILINE)
_INSTALLED = re.compile(r"[/\\](site-packages|dist-packages|lib[/\\]python3\.\d+)[/\\]", re.IGNORECASE)
_HOUSE = Path(__file__).parents[1]


def failures(states: Iterable[RunState]) -> list[str]:
    """Of the runs that have failed; the most frequent reason first."""
    found: dict[str, list[RunState]] = {}
    for state in states:
        if state.status == "failed":
            found.setdefault(str(state.details.get("reason")), []).append(state)
    if not found:
        return []
    most = sorted(found.items(), key=lambda item: -len(item[1]))
    lines = [
        f"{counted(len(runs), 'run')} failed: {why}{place(str(runs[0].details.get('traceback') or ''))}"
        for why, runs in most
    ]
    return [*lines, f"A traceback is in {most[0][1][0].pack.status}; --retry-failed tries again."]


def place(traceback: str) -> str:
    """The last frame of a traceback that is in a file of the user's own."""
    frames = _FRAME.findall(traceback)
    own = [frame for frame in frames if _own(frame[0])]
    return " ({}, line {}, in {})".format(*own[-1]) if own else ""


def _own(file: str) -> bool:
    return not (_INSTALLED.search(file) or file.startswith("<") or Path(file).is_relative_to(_HOUSE))
