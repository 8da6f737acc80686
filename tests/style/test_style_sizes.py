"""Files and functions stay small enough to read in one go: the numbers of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re

from style_sources import ROOT, sources, statements_of


def _claimed(words: str) -> int:
    """Return the number that CONTRIBUTING.md states before or after some words."""
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    found = re.search(words.replace("N", r"(\d+)"), text)
    assert found is not None, f"CONTRIBUTING.md does not state: {words}"
    return int(found[1])


def _functions(*folders: str) -> dict[str, int]:
    return {
        f"{source.name}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for source in sources(*folders)
        for node in statements_of(source.path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_no_long_file() -> None:
    most = _claimed("no file over N lines")
    long = [
        f"{source.name}: {source.lines}"
        for source in sources("src", "scripts", "launch")
        if source.lines > most
    ]
    assert not long, "\n".join(long)


def test_no_long_function() -> None:
    most = _claimed("no function over N lines")
    long = {name: lines for name, lines in _functions("src", "scripts", "launch").items() if lines > most}
    assert not long, long


def test_functions_are_short() -> None:
    lines = sorted(_functions("src").values())
    for share, words in ((0.9, "nine in ten at most N"), (0.99, "ninety-nine in a hundred at most N")):
        assert lines[int(share * len(lines))] <= _claimed(words), words
