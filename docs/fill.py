"""Fills what is measured into pages written by hand: README.md and docs/answers. `python docs/fill.py`.

Between these two lines of a page stands what the data say, and nothing typed:

    <!-- made: STUDY answer -->      the sentences of a gallery study; `advice`: the first of it;
                                     `size`: how it was trained; `claims`, `best`, ...: one of its tables
    <!-- end -->

`<!-- made: all overall -->` is what became of all of them, `<!-- made: bench {"SECTION": ["LINE", ...]} -->` a table of
these lines (by their first words) of docs/benchmarks.json.
"""

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs" / "answers").glob("*.md")))
BLOCK = re.compile(r"(<!-- made: (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    return BLOCK.sub(lambda found: f"{found[1]}\n{made(found[2])}\n\n{found[3]}", text)


def made(asked: str) -> str:
    first, *rest = asked.split(" ", 1)
    if first == "all":
        return re.search(r"^\d+ studies, .*$", (ROOT / "docs/gallery/index.md").read_text(), re.MULTILINE)[0]
    return bench(json.loads(rest[0])) if first == "bench" else gallery(first, rest[0])


def gallery(study: str, what: str) -> str:
    said = json.loads((ROOT / "docs" / "gallery" / f"{study}.json").read_text())
    if what == "answer":
        words = " ".join(word for label in sorted(said["labels"]) for word in label.split())
        return f"<!-- test: free {words} -->\n```text\n" + "\n".join(said["sentences"]) + "\n```"
    if what == "advice":
        first = said["advice"].partition("\n1. ")[2].partition("\n\n")[0]
        unsaid = re.split(r"\n- |\n\n", said["advice"].partition("Not said\n")[2])[0]
        return f"<!-- test: skip it is of another study -->\n```text\n1. {first}\n...\nNot said\n{unsaid}\n...\n```"
    if what == "size":
        size = f"the size `{said['scale']}`" if said["scale"] else "full size"
        return f"`{said['command']}`, {size}, {said['seeds']} seeds, {'; '.join(said['machine'])}, {said['date']}."
    tables = {table["key"]: table["text"] for table in said["tables"]}
    return str(tables[what])


def bench(lines: dict[str, list[str]]) -> str:
    """`{section: [first words of a line, ...]}` of docs/benchmarks.json."""
    kept: dict[str, Any] = json.loads((ROOT / "docs" / "benchmarks.json").read_text())
    rows = ["| what | against | times as fast | 95 % interval |", "| --- | --- | ---: | --- |"]
    for section, wanted in lines.items():
        found = kept[section]
        title = re.sub(r"^\(\w\) ", "", found["title"])
        for start in wanted:
            line = next(line for line in found["lines"] if line["against"].startswith(start))
            ends = f"{line['low']:.3g} to {line['high']:.3g}"
            rows.append(f"| {title} | {line['against']} | {line['value']:.3g} | {ends} |")
    told = {(kept[section]["date"], kept[section]["machine"]) for section in lines}
    return "\n".join([*rows, "", *(f"{day}, {machine}." for day, machine in sorted(told))])


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text()))
