"""Writes docs/parts.md from the table of parts: `python docs/parts.py`. A test keeps the page current."""

from pathlib import Path

from paceline.spec.argument import REQUIRED, Arg, Entry
from paceline.spec.parts import TABLE

PAGE = Path(__file__).with_suffix(".md")


def page() -> str:
    lines = ["# Parts", "", "Written by `docs/parts.py` from the table that Paceline itself reads.", ""]
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
    allowed = ", ".join(arg.choices) if arg.choices else "true or false" if arg.type == "flag" else arg.range
    kind = "" if arg.choices or arg.type == "flag" else kinds.get(arg.type, arg.type) + ", "
    default = "needed" if arg.default is REQUIRED else f"default {_shown(arg.default)}"
    return f"`{name}` ({kind}{allowed}; {default})"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return str(list(value))
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    PAGE.write_text(page())
