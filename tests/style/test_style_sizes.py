"""Files and functions stay small enough to read in one go: the numbers of CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from style_sources import ROOT, imports_of, sources, statements_of


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


def test_no_fragment() -> None:
    """A short file with a single importer belongs into that one; what is loaded by name has none."""
    fewest = _claimed("none under N lines")
    by_module = {source.module: source for source in sources("src")}
    importers = defaultdict(set)
    for source in by_module.values():
        for _, name in imports_of(source):
            for module in {name, name.rpartition(".")[0]} & by_module.keys():
                importers[module].add(source.name)
    fragments = [
        f"{source.name}: {source.lines} lines, for {' and '.join(importers[module])}"
        for module, source in by_module.items()
        if source.lines < fewest and source.path.name != "__init__.py" and len(importers[module]) == 1
    ]
    assert not fragments, "\n".join(fragments)


def test_no_long_function() -> None:
    most = _claimed("no function over N lines")
    long = {name: lines for name, lines in _functions("src", "scripts", "launch").items() if lines > most}
    assert not long, long


def test_functions_are_short() -> None:
    lines = sorted(_functions("src").values())
    for share, words in ((0.9, "nine in ten at most N"), (0.99, "ninety-nine in a hundred at most N")):
        assert lines[int(share * len(lines))] <= _claimed(words), words
