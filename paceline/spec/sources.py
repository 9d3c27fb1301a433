"""The files that a user's own part is made of: its module, and what that imports from beside the study. Read by `ast`:
nothing is imported before `run`."""

import ast
import hashlib
from collections.abc import Iterator
from pathlib import Path

from paceline.spec.argument import ArgumentError
from paceline.spec.part import Part
from paceline.spec.signature import source_of


def source_hash(part: Part, folder: Path) -> str | None:
    """None where there is no Python source. Of one file it is that file's."""
    files = list(source_files(part, folder).values())
    content = files[0].read_bytes() if files else b""
    for file in sorted(files[1:]):
        content += hashlib.sha256(file.read_bytes()).digest()
    return hashlib.sha256(content).hexdigest()[:16] if files else None


def source_files(part: Part, folder: Path) -> dict[str, Path]:
    """By the name of its module, each file, the part's own first; empty where that has no Python source."""
    module = part.path.partition(":")[0]
    file = source_of(module, folder)
    found: dict[str, Path] = {module: file} if file else {}
    waiting = list(found)
    while waiting:
        importer = waiting.pop()
        for name in _imported(importer, found[importer]):
            other = None if name in found else _beside(name, folder)
            if other:
                found[name] = other
                waiting.append(name)
    return found


def _beside(name: str, folder: Path) -> Path | None:
    """The file of a module that lies beside the study; None of any other."""
    head = name.partition(".")[0]
    if not ((folder / f"{head}.py").is_file() or (folder / head).is_dir()):
        return None
    try:
        file = source_of(name, folder)
    except ArgumentError:
        return None
    return file if file and (file.parent == folder or folder / head in file.parents) else None


def _imported(module: str, file: Path) -> Iterator[str]:
    """What a file may import, wherever in it: `from a import b` may mean the module a.b."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (base := _base(node, module, file)):
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def _base(node: ast.ImportFrom, module: str, file: Path) -> str:
    """The absolute name of what `from ... import` names; empty where that lies above the package."""
    if not node.level:
        return node.module or ""
    package = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above) if above else ""
