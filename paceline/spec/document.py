"""YAML read into plain values, each with its line, within bounds that no file can burst.

Scalars follow YAML 1.2's core schema, so `1e-3` is a number and `no` is a word.
Anchors, aliases and tags are refused: a study is data, and says what it means where it stands.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from paceline.errors import StudyError

MAX_BYTES = 2_000_000
MAX_DEPTH = 32

KeyPath = tuple[str | int, ...]
Lines = dict[KeyPath, int | str]

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def mapping(value: Any) -> dict[str, Any]:
    """The value, if it is a mapping; else an empty one, for what may be anything until it is checked."""
    return value if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Document:
    """A file's values and the line on which each stands."""

    file: str
    data: Any
    lines: Lines = field(default_factory=dict, repr=False)

    def where(self, path: KeyPath) -> str:
        """`file:line` of a value, or of the nearest thing around it that has a line; `--set ...` if that set it."""
        for end in range(len(path), -1, -1):
            line = self.lines.get(path[:end])
            if line is not None:
                return line if isinstance(line, str) else f"{self.file}:{line}"
        return self.file

    def error(self, path: KeyPath, message: str) -> StudyError:
        return StudyError(message, key=".".join(str(p) for p in path), where=self.where(path))


def read(file: Path) -> Document:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise StudyError("no such file.", where=str(file)) from None
    except OSError as error:
        raise StudyError(f"cannot be read: {error.strerror}.", where=str(file)) from None
    if len(raw) > MAX_BYTES:
        raise StudyError(f"is too long; a study has at most {MAX_BYTES:,} bytes.", where=str(file))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise StudyError(f"is not UTF-8 text (byte {error.start}).", where=f"{file}:{line}") from None
    return parse(text, str(file))


def parse(text: str, file: str = "<text>") -> Document:
    lines: Lines = {}
    try:
        data = _build(yaml.parse(text, Loader=_LOADER), file, lines)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise StudyError(f"is not valid YAML: {problem}.", where=f"{file}:{_line(error, text)}") from None
    return Document(file, data, lines)


def _line(error: yaml.YAMLError, text: str) -> int:
    mark = getattr(error, "problem_mark", None)
    if mark:
        return int(mark.line) + 1
    return text.encode().count(b"\n", 0, getattr(error, "position", 0)) + 1


def _build(events: Iterator[Any], file: str, lines: Lines) -> Any:
    """Builds the value from the event stream with a stack of its own: no recursion to exhaust."""
    root: list[Any] = []
    stack: list[tuple[Any, KeyPath]] = [(root, ())]  # containers still open
    key: list[tuple[str, int] | None] = [None]  # the pending key of each open mapping, and its line
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent) and root:
            raise StudyError("a second YAML document; a study is one.", where=f"{file}:{line}")
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            stack.pop()
            key.pop()
        if not isinstance(event, yaml.NodeEvent):
            continue
        _refuse_indirection(event, file, line)
        container, path = stack[-1]
        pending = key[-1]
        if isinstance(container, dict) and pending is None:
            key[-1] = (_key(event, container, file, line), line)
            continue
        name, at = pending or (len(container), line)
        here: KeyPath = () if container is root else (*path, name)
        lines[here] = at
        value: Any = _scalar(event) if isinstance(event, yaml.ScalarEvent) else _container(event)
        if isinstance(container, list):
            container.append(value)
        else:
            container[name] = value
            key[-1] = None
        if isinstance(value, (dict, list)):
            stack.append((value, here))
            key.append(None)
            if len(stack) > MAX_DEPTH:
                raise StudyError(f"nested deeper than {MAX_DEPTH} levels.", where=f"{file}:{line}")
    return root[0] if root else None


def _container(event: Any) -> Any:
    return {} if isinstance(event, yaml.MappingStartEvent) else []


def _refuse_indirection(event: Any, file: str, line: int) -> None:
    if isinstance(event, yaml.AliasEvent) or event.anchor:
        raise StudyError("anchors and aliases (& and *) are not allowed; write the value out.", where=f"{file}:{line}")
    if event.tag and not (isinstance(event, yaml.ScalarEvent) and event.tag == "!"):
        raise StudyError(f"the tag {event.tag} is not allowed; a study is plain data.", where=f"{file}:{line}")


def _key(event: Any, container: dict[str, Any], file: str, line: int) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise StudyError("a key must be a word, not a list or a mapping.", where=f"{file}:{line}")
    if event.value in container:
        raise StudyError(f"the key '{event.value}' stands here twice.", where=f"{file}:{line}")
    return str(event.value)


def _scalar(event: Any) -> Any:
    return event.value if event.style in ("'", '"', "|", ">") else scalar(event.value)


def scalar(text: str) -> Any:
    """A plain word as YAML 1.2's core schema reads it."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 300 else float("inf")
    if _FLOAT.fullmatch(text):
        return float(text)
    if text.lower() in (".inf", "+.inf", "-.inf", ".nan"):
        return float(text.replace(".", ""))
    return text
