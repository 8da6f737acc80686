"""Files and functions stay small enough to read in one go."""

from __future__ import annotations

import ast

from style_sources import sources

MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 60


def test_no_long_file() -> None:
    long = [f"{source.name}: {source.lines} lines" for source in sources("src", "scripts", "launch")
            if source.lines > MOST_LINES_OF_A_FILE]  # fmt: skip
    assert not long, "\n".join(long)


def test_no_long_function() -> None:
    long = []
    for source in sources("src", "scripts", "launch"):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES_OF_A_FUNCTION:
                    long.append(f"{source.name}:{node.lineno} {node.name}: {lines} lines")
    assert not long, "\n".join(long)
