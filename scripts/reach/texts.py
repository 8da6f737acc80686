"""The texts of a module, also where they are put together from constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

__all__ = ["UNKNOWN", "constants_of", "texts_of", "value_of", "without_types"]

UNKNOWN = "\0"
"""Stands in a text for what is only known when the program runs."""
_OF_TEXT = (ast.Constant, ast.JoinedStr, ast.BinOp)
"""Nodes that may be a text; most nodes are of other kinds."""


def without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only type checkers see, and whether a name is read or set."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for name in node._fields:  # as `ast.iter_child_nodes`, which takes twice as long
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else (value,):
                if not isinstance(child, ast.AST) or isinstance(child, ast.expr_context):
                    continue
                if not (isinstance(child, ast.If) and _is_for_types(child.test)):
                    yield child
                    waiting.append(child)


def _is_for_types(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def constants_of(tree: ast.Module, name: str, *, is_package: bool) -> dict[str, str]:
    """The texts that a module gives a name at its top, and its own name and package.

    Args:
        tree: The module.
        name: Its name, with dots.
        is_package: Whether it is the `__init__` of a package.
    """
    known = {"__name__": name, "__package__": name if is_package else name.rpartition(".")[0]}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            text = value_of(node.value, known)
            if text is not None and isinstance(target, ast.Name):
                known[target.id] = text
    return known


def value_of(node: ast.AST, known: Mapping[str, str]) -> str | None:
    """The text of an expression, with `UNKNOWN` for parts of it; None where it is not text."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_part(part, known) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            text = _part(left, known) + _part(right, known)
            return None if not text.strip(UNKNOWN) else text
        case _:
            return None


def _part(node: ast.AST, known: Mapping[str, str]) -> str:
    if isinstance(node, ast.FormattedValue):
        node = node.value
    text = known.get(node.id) if isinstance(node, ast.Name) else value_of(node, known)
    return UNKNOWN if text is None else text


def texts_of(nodes: Sequence[ast.AST], known: Mapping[str, str]) -> Iterator[tuple[ast.AST, str]]:
    """The texts among nodes, with their values: outermost ones only, and no docstrings.

    Args:
        nodes: Each before those inside of it.
        known: Texts of names, see `constants_of`.
    """
    inside = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = value_of(node, known) if isinstance(node, _OF_TEXT) else None
        if text is None:
            continue
        if id(node) not in inside:
            yield node, text
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in node.values)
        elif isinstance(node, ast.BinOp):
            inside |= {id(node.left), id(node.right)}
