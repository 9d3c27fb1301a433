"""The signature of a user's own callable, read from its source by `ast`: nothing is imported before `run`."""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from importlib.util import find_spec
from pathlib import Path

from paceline.errors import nearest
from paceline.spec.argument import ArgumentError
from paceline.spec.part import Part, misplaced

_GIVEN = {
    "model": ("input_shape", "outputs", "classes", "num_classes"),
    "data": ("files",),
    "optimizer": ("lr",),
}  # by name
_PLACES = {"loss": 2, "optimizer": 1, "schedule": 2}  # by place: outputs, targets; params; step, total


@dataclass(frozen=True)
class Signature:
    names: tuple[str, ...]
    required: tuple[str, ...]
    anything: bool  # takes **kwargs


def source_of(module: str, folder: Path) -> Path | None:
    """The module's file, beside the study first; None where it has no Python source that can be found unimported."""
    head, *rest = module.split(".")
    if head == "__main__":
        raise ArgumentError("what a notebook or a script defines is not found again; put it into a .py file.")
    if head in sys.stdlib_module_names and (folder / f"{head}.py").is_file():
        raise ArgumentError(f"{folder / head}.py has the name of a module of Python's own; call it something else.")
    spec = PathFinder.find_spec(head, [str(folder), *sys.path]) or find_spec(head)
    if spec is None:
        raise ArgumentError(f"no module '{head}': neither {folder / (head + '.py')} nor an installed package.")
    if not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    places = [Path(place, *rest) for place in spec.submodule_search_locations or ()]
    for base in places:
        for file in (base.with_name(f"{base.name}.py"), base / "__init__.py"):
            if file.is_file():
                return file
    if not any(base.is_dir() or any(_compiled(base)) for base in places):
        raise ArgumentError(f"no module '{module}' in {spec.origin or head}.")
    return None


def _compiled(base: Path) -> Iterator[bool]:
    return (base.with_name(f"{base.name}{suffix}").is_file() for suffix in EXTENSION_SUFFIXES)


def check(part: Part, folder: Path, later: Collection[str] = ()) -> None:
    """Refuses a path that leads nowhere and arguments that the callable does not take.

    `later` names arguments that dotted keys will add, so that they are not missed here.
    """
    module, _, attribute = part.path.partition(":")
    file = source_of(module, folder)
    if file is None:
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        raise ArgumentError(f"{file} is not valid Python: {error}.") from None
    top = list(_statements(tree.body))
    found = {node.name: node for node in top if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    if attribute not in found:
        if _bound_names(top) & {attribute, "*"} or "__getattr__" in found:
            return
        raise ArgumentError(
            f"{file} has no '{attribute}'. {nearest(attribute, found) if found else 'It defines nothing.'}"
        )
    signature = _signature(found[attribute])
    if signature:
        _compare(part, signature, later)


def _compare(part: Part, signature: Signature, later: Collection[str]) -> None:
    said = {key for key, _ in part.args}
    given = {*_GIVEN.get(part.kind, ()), *signature.names[: _PLACES.get(part.kind, 0)]}
    own = tuple(name for name in signature.names if name not in given)
    for key in sorted(said):
        if key not in own and not signature.anything:
            allowed = nearest(key, own) if own else "It takes none."
            raise ArgumentError(f"{part.name} has no argument '{key}'. {misplaced(part.kind, key) or allowed}", key)
    for name in signature.required:
        if name not in said and name not in given and name not in later:
            raise ArgumentError(f"{part.name} needs the argument '{name}'.")


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """What stands at the top of a module, also under an `if`, a `try` or a `with` there."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            yield from _statements(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt))
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _bound_names(top: Iterable[ast.stmt]) -> set[str]:
    """Names that the module imports or assigns at its top: there, but with no signature to read."""
    names: set[str] = set()
    for node in top:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


def _signature(node: ast.ClassDef | ast.FunctionDef) -> Signature | None:
    function: ast.stmt | None = node
    if isinstance(node, ast.ClassDef):
        function = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if not isinstance(function, ast.FunctionDef):
        return None
    args = function.args
    positional = [a.arg for a in (*args.posonlyargs, *args.args)]
    if isinstance(node, ast.ClassDef):
        positional = positional[1:]
    required = positional[: len(positional) - len(args.defaults)]
    required += [a.arg for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    return Signature((*positional, *(a.arg for a in args.kwonlyargs)), tuple(required), args.kwarg is not None)
