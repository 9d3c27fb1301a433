"""Writes docs/reference/study-file.md, cli.md, parts.md and python.md from what Paceline itself reads, and from its
docstrings: `python docs/reference.py`.

A test keeps the pages current.
"""

import ast
import inspect
import runpy
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, get_type_hints

from typer.main import get_command

from paceline.cli import app
from paceline.spec.argument import REQUIRED, Arg, Entry
from paceline.spec.parts import TABLE
from paceline.spec.schema import schema

FOLDER = Path(__file__).parent / "reference"
HOUSE = Path(__file__).parents[1] / "paceline"
GROUPS = {"subset": "Subset", "early_stop": "EarlyStop", "augment": "Augment", "loader": "Loader"}
MARK = "<!-- Written by docs/reference.py. Do not edit. -->"


def pages() -> dict[str, str]:
    return {"study-file.md": study_file(), "cli.md": cli(), "parts.md": parts(), "python.md": _python()}


def _python() -> str:
    return str(runpy.run_path(str(Path(__file__).with_name("reference_python.py")))["page"]())


# The study file


def study_file() -> str:
    made = schema()
    settings = made["$defs"]["settings"]["properties"]
    return "\n".join(
        [
            "# The study file",
            MARK,
            "",
            "A study is a YAML file. Every key it may have, from the JSON schema that `paceline schema` prints for",
            "editors. How to write one: [how-to/study.md](../how-to/study.md). Parts by name: [parts.md](parts.md).",
            "",
            "## Keys of a study",
            "",
            *_keys(made["properties"], made["required"]),
            "",
            "Runs = cases x compare x tune x repeat. A case's settings stand above the base's, an axis above both.",
            "",
            "## Settings of a run",
            "",
            "In `base` and `cases` each has one value; in `compare` and `tune` a list of them. A run needs `data`,",
            "`model`, `optimizer`, `lr`, and `steps` or `epochs`; the rest has defaults. A dotted key reaches into a",
            "part or a group: `optimizer.beta2`, `early_stop.patience`.",
            "",
            *_keys(settings, ("data", "model", "optimizer", "lr")),
            "",
            *[line for key, name in GROUPS.items() for line in _group(key, made["$defs"][name])],
            *_group("A range to sample from (in tune, with sample)", made["$defs"]["range"]),
            *_published(),
        ]
    )


def _published() -> Iterator[str]:
    """What `published` may hold, as the modules say that read it."""
    yield from ("## published", "", *_docstring("report/published.py"))
    yield from ("### Findings", "", *_docstring("report/claims/__init__.py"))
    yield from ("### The settings that a row names", "", *_docstring("report/selection.py"))


def _docstring(file: str) -> Iterator[str]:
    """That of a module; what is indented in it is YAML. What it says of other modules leads to their place here."""
    links = {
        "`selection`": "[the settings that a row names](#the-settings-that-a-row-names)",
        "`claims`": "[findings](#findings)",
        "docs/definitions.md": "[definitions.md](../definitions.md#published-claims)",
    }
    for part in str(ast.get_docstring(ast.parse((HOUSE / file).read_text()))).split("\n\n"):
        if part.startswith("    "):
            text = "\n".join(line[4:] for line in part.splitlines())
            yield from ("<!-- test: skip it has dots where settings belong -->", "```yaml", text, "```", "")
            continue
        for word, link in links.items():
            part = part.replace(word, link)
        yield from (part, "")


def _group(title: str, said: dict[str, Any]) -> list[str]:
    return [f"## {title}", "", said["description"], "", *_keys(said["properties"], said.get("required", ())), ""]


def _keys(properties: dict[str, Any], needed: Any) -> list[str]:
    head = ["| key | may be | default | meaning |", "| --- | --- | --- | --- |"]
    return head + [
        f"| `{key}` | {_kind(key, said)} | {'needed' if key in needed else _default(said)} | {_cell(said)} |"
        for key, said in properties.items()
    ]


def _cell(said: dict[str, Any]) -> str:
    return str(said["description"]).replace("|", "\\|")


def _default(said: dict[str, Any]) -> str:
    value = said.get("default")
    return "" if value in (None, "", {}, []) else f"`{_shown(value)}`"


def _kind(key: str, said: dict[str, Any]) -> str:
    if key in TABLE:
        names = ", ".join(f"`{name}`" for name in TABLE[key])
        return f"a [part](parts.md#{key}): {names}, or your own"
    if key == "published":
        return "a [mapping](#published), or its rows alone"
    if key in GROUPS:
        said = {**said, "anyOf": [each for each in said["anyOf"] if "$ref" not in each]}
        return " or ".join(filter(None, [f"a [mapping](#{key})", _ways(said)]))
    return _ways(said)


def _ways(said: dict[str, Any]) -> str:
    ways = said.get("anyOf", [said])
    found = [_one(each) for each in ways if each.get("type") != "null"]
    if "a number" in found and "a whole number" in found:
        found.remove("a whole number")
    return " or ".join(dict.fromkeys(found))


def _one(said: dict[str, Any]) -> str:
    if "enum" in said:
        return ", ".join(f"`{word}`" for word in said["enum"])
    if "const" in said:
        return f"`{said['const']}`"
    if "$ref" in said or said.get("type") == "object":
        return "a mapping"
    names = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "text"}
    if said.get("type") == "array":
        return "a list"
    return f"{names[said['type']]}{_limits(said)}" if "type" in said else "anything"


def _limits(said: dict[str, Any]) -> str:
    words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    found = [f"{word} {said[key]:,}" for key, word in words.items() if key in said]
    return f", {' and '.join(found)}" if found else ""


# The command line


def cli() -> str:
    root = get_command(app)
    lines = ["# The command line", MARK, "", f"{root.help} Every verb says this with `--help` too.", ""]
    lines += ["| verb | what it does |", "| --- | --- |"]
    verbs = list(_verbs(root, "paceline"))
    lines += [f"| [`{path}`](#{path.replace(' ', '-')}) | {_first(verb)} |" for path, verb in verbs]
    lines += ["", "Shell completion: `paceline --install-completion`; `--show-completion` only prints it.", ""]
    return "\n".join(lines + [line for path, verb in verbs for line in _verb(path, verb)])


def _verbs(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _verbs(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _first(verb: Any) -> str:
    return str(verb.help).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _verb(path: str, verb: Any) -> Iterator[str]:
    given = [said for said in verb.params if said.name != "help"]
    needed = [_name(said) for said in given if said.param_type_name == "argument" or said.required]
    yield from (f"## {path}", "", " ".join(str(verb.help).split()), "")
    yield from (f"Usage: `{' '.join([path, *needed])}{' [options]' if len(given) > len(needed) else ''}`", "")
    if not given:
        return
    yield from ("| argument or option | default | meaning |", "| --- | --- | --- |")
    for said in given:
        yield f"| `{_name(said)}`{_choices(verb, said)} | {_option_default(said)} | {said.help or ''} |"
    yield ""


def _name(said: Any) -> str:
    if said.param_type_name == "argument":
        return str(said.metavar)
    names = " / ".join([*said.opts, *said.secondary_opts])
    return names if said.is_flag else f"{names} {said.metavar or said.name.upper()}"


def _choices(verb: Any, said: Any) -> str:
    kind = get_type_hints(inspect.unwrap(verb.callback))[said.name]
    return f": {', '.join(kind)}" if isinstance(kind, type) and issubclass(kind, StrEnum) else ""


def _option_default(said: Any) -> str:
    if said.param_type_name == "argument" or said.required:
        return "" if str(said.metavar).startswith("[") else "needed"
    if said.default is None:
        return ""
    if said.is_flag:
        return "on" if said.default else "off"
    return f"`{getattr(said.default, 'value', said.default)}`"


# Parts


def parts() -> str:
    lines = ["# Parts", MARK, "", "What a run may name, from the table that Paceline itself reads. Your own:"]
    lines += ["[model](../how-to/own-model.md), [data](../how-to/own-data.md), [optimizer, loss, schedule]"]
    lines[-1] += "(../how-to/own-optimizer.md)."
    lines.append("")
    for kind in TABLE:
        lines += [f"## {kind}", "", "| name | arguments |", "| --- | --- |"]
        lines += [f"| `{name}`{_about(entry)} | {_arguments(entry)} |" for name, entry in TABLE[kind].items()]
        lines.append("")
    return "\n".join(lines)


def _about(entry: Entry) -> str:
    return f": {entry.about}" if entry.about else ""


def _arguments(entry: Entry) -> str:
    return "; ".join(_argument(name, arg) for name, arg in entry.args.items()) or "none"


def _argument(name: str, arg: Arg) -> str:
    kinds = {"numbers": "list of numbers", "integers": "list of whole numbers", "integer": "whole number"}
    if arg.type == "word":
        allowed = ", ".join(arg.choices)
    elif arg.type == "flag":
        allowed = "true or false"
    else:
        number = f"{kinds.get(arg.type, arg.type)}, {arg.range}"
        allowed = ", or ".join((number, *(f"`{word}`" for word in arg.choices)))
    default = "needed" if arg.default is REQUIRED else f"default {_shown(arg.default)}"
    return f"`{name}` ({allowed}; {default})"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str(list(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
