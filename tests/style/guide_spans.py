"""Words in code marks of the guides, outside of code blocks, and the commands that a page names."""

from __future__ import annotations

import re
from functools import cache

from style_sources import ROOT, project_files

_CODE_BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


@cache
def guides() -> dict[str, str]:
    """Return the text of each page for users and contributors."""
    folders = {"docs", "examples", "README.md", "CONTRIBUTING.md"}
    pages = [file for file in project_files() if file.suffix == ".md"]
    return {
        name: file.read_text(encoding="utf-8")
        for file in pages
        if (name := file.relative_to(ROOT).as_posix()).partition("/")[0] in folders
    }


@cache
def spans() -> dict[str, frozenset[str]]:
    """Return the words in code marks, each with the pages that have it."""
    found: dict[str, set[str]] = {}
    for page, text in guides().items():
        for span in re.findall(r"`([^`]+)`", _CODE_BLOCK.sub("", text)):
            found.setdefault(re.sub(r"\s+", " ", span), set()).add(page)
    return {span: frozenset(pages) for span, pages in found.items()}
