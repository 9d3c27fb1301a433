"""The page docs/reference/python.md, from signatures, docstrings and comments; nothing is imported. Written by
docs/reference.py."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOUSE = Path(__file__).parents[1] / "paceline"
MARK = "<!-- Written by docs/reference.py. Do not edit. -->"
FUNCTIONS = ("load", "plan", "run", "results", "compare")
CLASSES = {  # what they are of, by the file that has them
    "Results": ("api.py", "What `run` and `results` give. In a notebook it shows its answer."),
    "Answer": ("report/answer.py", "`results.answer`: what the runs say. In a notebook it shows itself."),
    "Sheet": ("report/sheet.py", "A table of an answer, with what stands round it."),
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


def page() -> str:
    names = ", ".join(f"`{name}`" for name in _exported())
    lines = ["# Python", MARK, "", f"What the command line does, as functions. `import paceline` has {names};"]
    lines += ["`plan` and `compare` are in `paceline.api`; the other classes come with results. Tables are Polars. A"]
    lines += ["first use: [tutorial](../tutorial.md#the-same-in-python).", ""]
    for name in FUNCTIONS:
        lines += _function(name)
    for name, (file, words) in CLASSES.items():
        lines += _class(name, _found(file, name), words, (HOUSE / file).read_text().splitlines())
    tree = str(ast.get_docstring(_parsed("errors.py"))).split("\n\n")
    lines += ["## Errors", "", f"{tree[0]} All are in `paceline.errors`.", "", "<!-- test: skip a tree -->"]
    lines += ["```text", inspect.cleandoc(tree[1]), "```", "", tree[2], ""]
    return "\n".join(lines)


def _parsed(file: str) -> ast.Module:
    return ast.parse((HOUSE / file).read_text())


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
    said = re.sub(r"\bSets\b", "list[str] | Mapping[str, Any]", said)
    return said.replace("PathLike", "str | os.PathLike").replace("pl.DataFrame", "DataFrame")


def _class(name: str, node: Any, words: str, source: list[str]) -> list[str]:
    about = " ".join(filter(None, (words, " ".join(str(ast.get_docstring(node) or "").split()))))
    lines, rest = [], []
    for member, kind, said in _members(node, source):
        if said:
            lines.append(f"| `{member}` | `{_escaped(kind)}` | {_escaped(said)} |")
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
