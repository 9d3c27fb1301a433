"""Does what a page says, block by block, in a folder of its own."""

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from paceline.errors import PacelineError
from paceline.plan.expand import expand
from paceline.spec.document import parse
from paceline.spec.study import from_document
from tests.docs.blocks import Block, commands, lacking

ROOT = Path(__file__).parents[2]
UNSAID = {"data": "digits", "model": "softmax", "optimizer": "gd", "lr": 0.1, "steps": 5}  # of a piece of a study
COPIED = ("paceline", "tests", "docs", "examples", "Makefile", "pyproject.toml", "README.md", "constraints.txt")
_ABSENT = re.compile(r"Data set '(\w+)' (?:lacks the file|is not here)")
_PLACE = re.compile(r"\b[A-Z]{3,}\b")
_SET = re.compile(r"\w+=")
AROUND = ("exec", "srun", "export")
KNOWN = ("source", "git", "cd", "pip", "python", "python3", "sbatch", "wait")  # what a page may say besides ours


class AbsentError(Exception):
    """A block needs data that this machine does not have."""


@dataclass
class Page:
    """The state of a page between its blocks."""

    folder: Path
    copy: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str = ""
    absent: list[str] = field(default_factory=list)  # why blocks were not run

    def __post_init__(self) -> None:
        for name in COPIED if self.copy else ():
            one, other = ROOT / name, self.folder / name
            if one.is_dir():
                shutil.copytree(one, other, ignore=shutil.ignore_patterns("__pycache__", "gallery", "benchmarks*"))
            else:
                shutil.copy(one, other)
        if self.copy:
            shutil.copytree(ROOT / "paceline" / "gallery", self.folder / "paceline" / "gallery")

    def do(self, block: Block) -> None:
        try:
            with contextlib.chdir(self.folder):
                self._do(block)
        except AbsentError as error:
            self.absent.append(f"{block}: {error}")
        except (Exception, SystemExit) as error:
            if self.absent:
                self.absent.append(f"{block}: it may need what could not be trained")
                return
            raise AssertionError(f"{block}: {error}\n\n{block.text}\n{self.printed[-4000:]}") from error

    def _do(self, block: Block) -> None:
        if block.how == "skip":
            assert block.what, "say why it is skipped"
        elif block.how == "file":
            self._save(block)
        elif block.how == "into":
            self._insert(block)
        elif block.language in ("", "sh", "bash", "console"):
            self._commands(block)
        elif block.language == "python":
            self._python(block)
        elif block.language == "yaml":
            self._study(block.text, own_parts=block.how != "parse")
        elif block.how != "parse" and not self.absent:
            missing = lacking(block.text, self.printed, tuple(block.what.split()) if block.how == "free" else ())
            assert not missing, "not printed by the block above it:\n" + "\n".join(missing)

    def _save(self, block: Block) -> None:
        file = self.folder / block.what
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)
        if file.suffix == ".py":
            compile(block.text, str(block), "exec")
        if file.suffix in (".yaml", ".yml"):
            expand(from_document(parse(block.text), self.folder))

    def _insert(self, block: Block) -> None:
        name, _, mark = block.what.partition(" after ")
        file = self.folder / name
        lines = file.read_text().splitlines(keepends=True)
        at = next((number for number, line in enumerate(lines) if mark and mark in line), None)
        assert at is not None, f"{name} has no line with {mark!r}"
        apart = "" if block.text.startswith((" ", "from ", "import ")) else "\n\n"  # a function of its own
        file.write_text("".join([*lines[: at + 1], apart, block.text, *lines[at + 1 :]]))

    def _python(self, block: Block) -> None:
        code = compile("\n" * (block.line - 1) + block.text, str(ROOT / block.page), "exec")
        if block.how == "parse":
            return
        with _captured() as said:
            try:
                exec(code, self.names)
            except PacelineError as error:
                self._unless_absent(str(error))
                raise
            finally:
                self.printed = said.getvalue()

    def _study(self, text: str, own_parts: bool) -> None:
        said = parse(text).data
        if "name" in said:
            (self.folder / "study.yaml").write_text(text)
        else:
            unsaid = {
                key: value for key, value in UNSAID.items() if key != "steps" or "epochs" not in said.get("base", {})
            }
            text = json.dumps({"name": "piece", **said, "base": {**unsaid, **said.get("base", {})}})
        assert expand(from_document(parse(text), self.folder), own_parts=own_parts)

    def _commands(self, block: Block) -> None:
        said = commands(block.text)
        assert said, "a block of commands without one; other text is fenced as text"
        printed = []
        for number, line in enumerate(said):
            words = shlex.split(line)
            words[0] = words[0].removeprefix(".venv/bin/")
            if block.how == "parse" or self._only_read(words):
                self._read(words)
                continue
            last = number == len(said) - 1
            code = int(block.what) if block.how == "exit" and last else 0
            found = self._run(words)
            printed.append(self.printed)
            if found != code:
                self._unless_absent(self.printed)
                raise AssertionError(f"`{line}` ended with {found}")
        self.printed = "".join(printed)

    def _only_read(self, words: list[str]) -> bool:
        """Installing, downloading, other hosts, and what has a name for the reader to fill in."""
        if words[0] == "torchrun":
            return not {"--standalone", "--nnodes=1"} & set(words)
        if words[0] == "paceline":
            return words[1:3] == ["data", "get"] or any(_PLACE.search(word) for word in words[2:])
        return words[0] not in ("python", "ls", "cat", "mkdir")

    def _run(self, words: list[str]) -> int:
        if words[0] == "paceline" and not self.copy:
            return self._paceline(words)
        plain = {"paceline": ["-m", "paceline"], "python": [], "torchrun": ["-m", "torch.distributed.run"]}
        command = [sys.executable, *plain[words[0]], *words[1:]] if words[0] in plain else words
        place = {"PYTHONPATH": str(self.folder)} if self.copy else {}
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **place}, check=False)
        self.printed = done.stdout + done.stderr
        return done.returncode

    def _paceline(self, words: list[str]) -> int:
        from paceline.cli import main

        with _captured() as said, mock.patch.object(sys, "argv", words):
            try:
                main()
            except SystemExit as ended:
                return int(ended.code or 0)
            finally:
                self.printed = said.getvalue()
        return 0

    def _unless_absent(self, said: str) -> None:
        if absent := _ABSENT.search(said):
            raise AbsentError(
                f"{absent[1]} is not on this machine; set $PACELINE_DATA or run `paceline data get {absent[1]}`"
            )

    def _read(self, words: list[str]) -> None:
        """Looks a command over without running it."""
        words = _bare(words)
        if not words:
            return
        if words[0] == "make":
            _read_make(words[1:])
        elif words[0] == "paceline":
            _read_paceline(words[1:])
        elif words[0] == "torchrun":
            from torch.distributed.run import get_args_parser

            said = get_args_parser().parse_args(words[1:])
            assert (said.module, said.training_script) == (True, "paceline"), "torchrun ... -m paceline run STUDY"
            _read_paceline(said.training_script_args)
        else:
            assert words[0] in KNOWN, f"what is `{words[0]}`?"


def _bare(words: list[str]) -> list[str]:
    """A command without what a shell or Slurm puts around it: variables, exec, srun, and a & at its end. None of it is
    left where a line only sets a variable."""
    while words and (words[0] in AROUND or _SET.match(words[0])):
        if "$(" in words[0]:
            return []
        words = words[1:]
    return words[:-1] if words[-1:] == ["&"] else words


def _read_make(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for word in words:
        name, given, _ = word.partition("=")
        known = f"$({name})" in makefile if given else re.search(rf"^{re.escape(name)}:", makefile, re.MULTILINE)
        assert known, f"the Makefile has no {'variable' if given else 'target'} {name}"


def _read_paceline(words: list[str]) -> None:
    """The verb and its options are there, and the study can be planned."""
    from typer.main import get_command

    from paceline.api import load
    from paceline.cli import app

    verb, rest = get_command(app), list(words)
    while hasattr(verb, "commands"):
        assert "".join(rest[:1]) in verb.commands, f"paceline has no verb `{' '.join(words[:2])}`"
        verb = verb.commands[rest.pop(0)]
    given = verb.make_context(verb.name, rest).params
    if "sets" in given and not _PLACE.search(given["study"]):
        assert expand(load(given["study"], sets=given["sets"], seeds=given["seeds"], scale=given["scale"]))
    if words[:2] == ["data", "get"]:
        from paceline.data import catalogue, pretrained

        assert pretrained.entry(given["name"]) or catalogue.entry(given["name"])


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    said = io.StringIO()
    wide = mock.patch.dict(os.environ, {"COLUMNS": "200"})
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), wide:
        yield said
