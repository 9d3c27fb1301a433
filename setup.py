"""The long description: README.md without its pictures and links into the repository, which no index could follow.

All else is in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

HERE = r"(?![a-z]+:)[^)]+"  # a target that is no URL
CODE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


def described(readme: str) -> str:
    return "".join(piece if CODE.match(piece) else _unlinked(piece) for piece in CODE.split(readme))


def _unlinked(text: str) -> str:
    without_pictures = re.sub(rf"!\[[^]]*\]\({HERE}\)\n*", "", text)
    return re.sub(rf"\[([^]]+)\]\({HERE}\)", r"\1", without_pictures)


if __name__ == "__main__":
    readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(long_description=described(readme), long_description_content_type="text/markdown")
