"""Code blocks of a Markdown page, each with how it is tested.

A block is run, unless a comment right above it, which readers do not see, says otherwise:

    <!-- test: file NAME -->              it is the content of that file in the page's folder
    <!-- test: into NAME after TEXT -->   it is added to that file, below the first line with that text
    <!-- test: exit 2 -->                 its last command ends with that code
    <!-- test: free WORD WORD -->         it was printed, with these words as free as numbers
    <!-- test: parse WHY -->              it is checked but not run: it needs GPUs, other hosts, a download
    <!-- test: skip WHY -->               nothing can be checked

What is run: commands (sh, or indented), python, and studies in yaml, which are planned; one that has a name is kept as
study.yaml. Any other block (text, latex, ...) is what the block above it printed: the words fixed, the numbers free,
`...` for anything. The blocks of a page run in order, in one folder of their own. A page that says

    <!-- page: a copy of the repository -->

has a copy of the repository for its folder.
"""

import re
from dataclasses import dataclass
from pathlib import Path

HOW = ("run", "file", "into", "exit", "free", "parse", "skip")
_COMMENT = re.compile(r"<!-- test: (\w+) ?(.*?) -->")
_PAGE = re.compile(r"^<!-- page: (.*?) -->$", re.MULTILINE)
_LIST = re.compile(r"\s*([-*]|\d+\.) ")


@dataclass(frozen=True)
class Block:
    page: str
    line: int  # where its text begins, from 1
    language: str  # empty for one that is indented or says none
    text: str
    how: str = "run"
    what: str = ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def in_copy(text: str) -> bool:
    said = _PAGE.findall(text)
    assert said in ([], ["a copy of the repository"]), said
    return bool(said)


def blocks(page: Path, name: str) -> list[Block]:
    lines = page.read_text().splitlines()
    found: list[Block] = []
    how, what, above, at = "run", "", "", 0
    while at < len(lines):
        line = lines[at]
        fence = re.fullmatch(r"(`{3,})(\w*)", line)
        apart = not at or not lines[at - 1].strip() or lines[at - 1].endswith("-->")
        indented = line.startswith("    ") and line.strip() and apart
        if fence or (indented and not _LIST.match(above)):
            start = at + 1 if fence else at
            end = _end(lines, start, fence[1] if fence else "")
            text = "\n".join(row if fence else row[4:] for row in lines[start:end]).rstrip() + "\n"
            found.append(Block(name, start + 1, fence[2] if fence else "", text, how, what))
            at = end + bool(fence)
            how, what = "run", ""
            continue
        if comment := _COMMENT.fullmatch(line):
            how, what = comment.groups()
            assert how in HOW, f"{name}:{at + 1}: 'test: {how}' is none of {', '.join(HOW)}"
        elif line.strip():
            assert how == "run", f"{name}:{at + 1}: a comment 'test: {how}' stands right above its block"
            assert "<!-- test" not in line, f"{name}:{at + 1}: <!-- test: HOW --> stands on a line of its own"
            above = line if not line.startswith("  ") else above
        at += 1
    return found


def _end(lines: list[str], start: int, fence: str) -> int:
    if fence:
        return lines.index(fence, start)
    end = start
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    return end


def commands(text: str) -> list[str]:
    """The commands of a block, without prompts and comments; a backslash continues a line."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = (re.sub(r"(^|\s)#.*", "", line).strip().removeprefix("$ ") for line in joined.splitlines())
    return [line for line in lines if line]


_NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?\d[\d,.]*(e[-+]?\d+)?(?![A-Za-z_])")


def loosely(line: str, free: tuple[str, ...] = ()) -> str:
    """A printed line without its numbers, and without what draws or aligns a table."""
    for word in free:
        line = re.sub(rf"\b{re.escape(word)}\b", "#", line)
    return " ".join(re.sub(r"[-─━╌]{2,}", "", _NUMBER.sub("#", line)).split())


def lacking(shown: str, printed: str, free: tuple[str, ...] = ()) -> list[str]:
    """The lines of a block that were not printed. A line of more than three words may be a piece of a longer one."""
    there = [loosely(line, free) for line in printed.splitlines()]
    whole = " ".join(there)
    wanted = [line for line in shown.splitlines() if line.strip() and line.strip() != "..."]
    return [line for line in wanted if not _found(loosely(line, free), there, whole)]


def _found(line: str, there: list[str], whole: str) -> bool:
    long = len(line.split()) > 3
    if "..." in line:
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        return any(pattern.fullmatch(each) for each in there) or bool(long and pattern.search(whole))
    return line in there or (long and line in whole)
