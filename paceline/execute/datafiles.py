"""The files that data and weights of the user's own come from, as they are now, by which finished runs are known to be
stale.

The data are not built for it: files that an own part names, in its arguments or its source, and the images of a folder
are hashed, and read only if they have been written since they were last.
"""

import ast
import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from paceline.errors import DataError
from paceline.spec import Part
from paceline.spec.signature import source_of


def label(part: Part) -> str:
    """Under which the hash of a data set's files stands among the sources of a run."""
    return f"files of {part}"


def files_hash(part: Part, folder: Path) -> str | None:
    """None where no file is known: a set that ships, one that is made, or one whose files are gone."""
    from paceline.data.imagefiles import Archive, content_of
    from paceline.data.locate import Files

    if part.name == "folder":
        return _images_hash(Files((), folder, folder).own(part.complete["path"]))
    if not part.own:
        return None
    found = sorted(set(_named(part, folder)))
    lines = [f"{content_of(Archive(file))}  {said}\n" for said, file in found]  # as one file, whatever is in it
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16] if lines else None


def weights_label(weights: str) -> str:
    """Under which the hash of the weights that a run began from stands among its sources."""
    return f"weights {weights}"


def weights_hash(weights: str, folder: Path, data: Path | None = None) -> str | None:
    """None where there are none, they are gone, or their name holds their checksum. `data`: --data."""
    from paceline.data.locate import Files
    from paceline.data.pretrained import seek, sha256

    if weights in ("none", "imagenet"):
        return None
    path = seek(weights, replace(Files.search(data, must_exist=False), beside=folder))
    return sha256(path, path.stat().st_mtime_ns)[:16] if path else None


def _images_hash(root: Path) -> str | None:
    from paceline.data.imagefiles import Tree, content_of
    from paceline.data.tree import find

    try:
        return content_of(Tree(root, find(root).names))[:16]
    except DataError:  # said when the data are built
        return None


def _named(part: Part, folder: Path) -> Iterator[tuple[str, Path]]:
    """Files, each with the text that names it: from here, from beside the study or from beside the source."""
    source = source_of(part.path.partition(":")[0], folder)
    said = [*_texts(value for _, value in part.args), *(_in_source(source) if source else ())]
    places = [Path.cwd(), folder, *([source.parent] if source else [])]
    for text in said:
        file = next((place / text for place in places if os.path.isfile(place / text)), None)
        if file is not None and file.suffix != ".py":
            yield text, file


def _texts(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from _texts(value)


def _in_source(source: Path) -> Iterator[str]:
    """What is no Python names no file; that its source has changed is known without."""
    try:
        tree = ast.parse(source.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.BinOp, ast.Call)) and (pieces := _pieces(node)):
            yield "/".join(pieces)


def _pieces(node: ast.AST) -> list[str]:
    """The texts that an expression joins to a path: a / "b" / "c", join(a, "b", "c")."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return [*_pieces(node.left), *_pieces(node.right)]
    return [piece for argument in node.args for piece in _pieces(argument)] if isinstance(node, ast.Call) else []
