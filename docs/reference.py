"""Writes docs/reference/study-file.md, cli.md, parts.md and python.md from what Paceline itself reads, and from its
docstrings: `python docs/reference.py`.

A test keeps the pages current.
"""

import ast
import inspect
import re
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
    return {"study-file.md": study_file(), "cli.md": cli(), "parts.md": parts(), "python.md": python()}


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
    for part in str(ast.get_docstring(_parsed(file))).split("\n\n"):
        if part.startswith("    "):
            text = "\n".join(line[4:] for line in part.splitlines())
            yield from ("<!-- test: skip it has dots where settings belong -->", "```yaml", text, "```", "")
            continue
        for word, link in links.items():
            part = part.replace(word, link)
        yield from (part, "")


def _parsed(file: str) -> ast.Module:
    return ast.parse((HOUSE / file).read_text())


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


# Python

FUNCTIONS = ("load", "run", "results", "compare")
CLASSES = {  # what they are of, by the file that has them
    "Results": ("api.py", "What `run` and `results` give. In a notebook it shows its answer."),
    "Answer": ("report/answer.py", "`results.answer`: what the runs say. In a notebook it shows itself."),
    "Sheet": ("report/sheets.py", "A table of an answer, with what stands round it."),
    "Figure": ("report/charts/look.py", ""),
    "Advised": ("report/advice/__init__.py", "`results.advice`: what `paceline advise` prints."),
    "Advice": (
        "report/advice/kinds.py",
        "One line of it. Kinds, and how sure: [definitions](../definitions.md#advice).",
    ),
    "Gain": ("report/advice/kinds.py", ""),
    "Unsaid": ("report/advice/kinds.py", ""),
    "Comparison": ("report/comparison.py", "What `compare` gives. In a notebook it shows itself."),
    "Dataset": ("data/dataset.py", "For [data of your own](../how-to/own-data.md)."),
    "Split": ("data/dataset.py", ""),
    "Rule": ("optim/rule.py", "For [an optimizer of your own](../how-to/own-optimizer.md)."),
}
UNSAID = {  # what its own line does not say of a name
    "Results.study": "the study as it was run",
    "Answer.question": "of the study",
    "Answer.sentences": "what is best, what is tied with it, what else there is to know",
    "Answer.sheets": "every table",
    "Answer.methods": "a paragraph: runs, seeds, hardware, versions, statistics",
    "Answer.published": "what was published beside what was measured",
    "Answer.facts": "every analysis that it was written from",
    "Answer.study": "the study as it was run",
    "Advised.unsaid": "what is not said, and why",
    "Comparison.joined": "which runs were joined",
    "Comparison.pairs": "a line a run that both trained",
    "Comparison.sentences": "which is faster, how results differ, what was joined, how the machines differ",
    "Comparison.text": "the same as one text",
    "Comparison.notes": "what a reader must know, refusals among them",
}


def python() -> str:
    names = ", ".join(f"`{name}`" for name in _exported())
    lines = ["# Python", MARK, "", f"What the command line does, as functions. `import paceline` has {names};"]
    lines += ["`compare` is in `paceline.api`; the other classes come with results. Tables are Polars. A first use:"]
    lines += ["[tutorial](../tutorial.md#the-same-in-python).", ""]
    for name in FUNCTIONS:
        lines += _function(name)
    for name, (file, words) in CLASSES.items():
        lines += _class(name, _found(file, name), words, (HOUSE / file).read_text().splitlines())
    tree = str(ast.get_docstring(_parsed("errors.py"))).split("\n\n")
    lines += ["## Errors", "", f"{tree[0]} All are in `paceline.errors`.", "", "<!-- test: skip a tree -->"]
    lines += ["```text", inspect.cleandoc(tree[1]), "```", "", tree[2], ""]
    return "\n".join(lines)


def _exported() -> list[str]:
    named = next(n for n in _parsed("__init__.py").body if isinstance(n, ast.Assign) and n.targets[0].id == "__all__")
    return list(ast.literal_eval(named.value))


def _found(file: str, name: str) -> Any:
    return next(node for node in _parsed(file).body if getattr(node, "name", "") == name)


def _function(name: str) -> list[str]:
    node = _found("api.py", name)
    shown = ["<!-- test: skip a signature -->", "```text", _signature(node), "```"]
    return [f"## {name}", "", *shown, "", str(ast.get_docstring(node)), ""]


def _signature(node: Any) -> str:
    """An argument a line, with its type and default."""
    said = node.args
    known = [(arg, None) for arg in said.args] + list(zip(said.kwonlyargs, said.kw_defaults, strict=True))
    lines = [f"{arg.arg}: {_bare(arg.annotation)}{_equal(default)}" for arg, default in known]
    if said.kwonlyargs:
        lines.insert(len(said.args), "*")
    return "\n".join([f"{node.name}(", *(f"    {line}," for line in lines), f") -> {_bare(node.returns)}"])


def _equal(default: Any) -> str:
    return f" = {ast.unparse(default)}" if default is not None else ""


def _bare(annotation: Any) -> str:
    """A type without the quotes of one that is named before it is known, and without the house's own short names."""
    said = ast.unparse(annotation).replace("'", "") if annotation else ""
    return said.replace("PathLike", "str | os.PathLike").replace("pl.DataFrame", "DataFrame")


def _class(name: str, node: Any, words: str, source: list[str]) -> list[str]:
    about = " ".join(filter(None, (words, " ".join(str(ast.get_docstring(node) or "").split()))))
    lines, rest = [], []
    for member, kind, said in _members(node, source):
        meaning = said or UNSAID.get(f"{name}.{member}", "")
        if meaning:
            lines.append(f"| `{member}` | `{_escaped(kind)}` | {_escaped(meaning)} |")
        else:
            rest.append(f"`{member}` (`{kind}`)")
    table = ["| has | is | meaning |", "| --- | --- | --- |", *lines, ""] if lines else []
    others = [f"{'Also' if lines else 'It has'} {', '.join(rest)}.", ""] if rest else []
    return [f"## {name}", "", about, "", *table, *others]


def _members(node: Any, source: list[str]) -> Iterator[tuple[str, str, str]]:
    """The public names of a class, each with its type and with what its comment or docstring says."""
    for at, each in enumerate(node.body):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            after = node.body[at + 1] if at + 1 < len(node.body) else None
            comment = re.search(r"  # (.*)$", source[each.lineno - 1])
            yield each.target.id, _bare(each.annotation), comment[1] if comment else _text(after)
        elif isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            held = any(ast.unparse(by) in ("property", "cached_property") for by in each.decorator_list)
            arguments = ast.unparse(each.args).removeprefix("self").removeprefix(", ")
            name = each.name if held else f"{each.name}({arguments})"
            yield name, _bare(each.returns), " ".join((ast.get_docstring(each) or "").split())


def _text(node: Any) -> str:
    said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value
    return " ".join(said.split()) if isinstance(said, str) else ""


def _escaped(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
