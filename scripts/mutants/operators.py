"""Mutants of a source file: one small change each, as a bug would look."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_SWAPPED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_NAMES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum",
    "floor": "ceil", "ceil": "floor", "sin": "cos", "cos": "sin",
}  # fmt: skip
_SPOKEN = {"debug", "info", "warning", "error", "exception", "warn", "print"}
"""Calls whose arguments are text for people."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the source bytes from ``start`` to ``end`` become ``after``."""

    file: str
    line: int
    last_line: int
    start: int
    end: int
    before: str
    after: str
    text: str

    @property
    def change(self) -> str:
        """The change in one line, with the expression around it."""
        return " ".join(f"{self.before} -> {self.after}".split())

    def applied_to(self, source: bytes) -> bytes:
        """Return the source with the change."""
        after = self.after.encode()
        return source[: self.start] + after + source[self.end :]


class _Finder:
    """Walks one file and collects its mutants."""

    def __init__(self, file: str, source: str) -> None:
        self.file, self.source = file, source.encode()
        self.lines = source.splitlines()
        self.offsets = [0]
        for line in source.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line.encode()))
        self.found: list[Mutant] = []
        self.statement: ast.stmt | None = None

    def _at(self, line: int | None, column: int | None) -> int:
        return self.offsets[(line or 1) - 1] + (column or 0)

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _segment(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self.source[start:end].decode()

    def add(self, node: ast.expr | ast.stmt, replacement: str) -> None:
        """Add a mutant that replaces ``node``."""
        start, end = self._span(node)
        first = self.statement.lineno if self.statement is not None else node.lineno
        self.found.append(
            Mutant(
                file=self.file,
                line=first,
                last_line=node.end_lineno or first,
                start=start,
                end=end,
                before=self.source[start:end].decode(),
                after=replacement,
                text=self.lines[node.lineno - 1].strip(),
            )
        )

    def _between(self, outer: ast.expr, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        """Swap the operator between two operands of ``outer``."""
        swap = _SWAPPED.get(type(operator))
        if swap is None:
            return
        start, end = self._span(outer)
        gap_start, gap_end = self._span(left)[1], self._span(right)[0]
        gap = self.source[gap_start:gap_end].decode().replace(swap[0], swap[1], 1)
        self.add(outer, self.source[start:gap_start].decode() + gap + self.source[gap_end:end].decode())

    def statement_mutants(self, node: ast.stmt) -> None:
        """Add the mutants of a statement as a whole."""
        match node:
            case ast.Expr(value=ast.Call(func=function)) if _name(function) not in _SPOKEN:
                self.add(node, "pass")
            case ast.Raise() | ast.Continue() | ast.Break() | ast.Return(value=None) | ast.AugAssign():
                self.add(node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                self.add(node, "pass")
            case ast.If(test=test) | ast.While(test=test) if not _negated_elsewhere(test):
                self.add(test, f"not ({self._segment(test)})")

    def expression_mutants(self, node: ast.expr) -> None:  # noqa: C901, PLR0912 - a case for each kind of node
        """Add the mutants of one expression."""
        match node:
            case ast.Compare(left=left, ops=operators, comparators=others):
                for first, operator, second in zip([left, *others], operators, others, strict=False):
                    self._between(node, first, second, operator)
            case ast.BinOp(left=left, op=operator, right=right):
                self._between(node, left, right, operator)
            case ast.BoolOp(op=operator, values=values):
                word = " and " if isinstance(operator, ast.And) else " or "
                for dropped in values:
                    rest = [f"({self._segment(value)})" for value in values if value is not dropped]
                    self.add(node, f"({word.join(rest)})")
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                self.add(node, f"({self._segment(operand)})")
            case ast.IfExp(test=test) if not _negated_elsewhere(test):
                self.add(test, f"not ({self._segment(test)})")
            case ast.Constant(value=bool(value)):
                self.add(node, str(not value))
            case ast.Constant(value=int(value)):
                self.add(node, str(value + 1))
            case ast.Constant(value=float(value)):
                self.add(node, repr(2.0 * value if value else 1.0))
            case ast.Name(id=name) if name in _NAMES:
                self.add(node, _NAMES[name])
            case ast.Attribute(value=value, attr=name) if name in _NAMES:
                self.add(node, f"{self._segment(value)}.{_NAMES[name]}")
            case ast.Call(func=function, keywords=keywords) if _name(function) == "replace":
                self._dropped_keywords(node, keywords)

    def _dropped_keywords(self, node: ast.Call, keywords: list[ast.keyword]) -> None:
        """Add a mutant of ``dataclasses.replace`` for each field that it leaves alone."""
        start, end = self._span(node)
        for keyword in keywords:
            if keyword.arg is None:
                continue
            first, last = self._span(keyword)
            rest = self.source[last:end].decode().lstrip(", ") or ")"
            self.add(node, self.source[start:first].decode() + rest)

    def walk(self, node: ast.AST) -> None:
        """Visit everything below ``node`` that runs; text for people and annotations stay as they are."""
        for child in _running_parts(node):
            outer = self.statement
            if isinstance(child, ast.stmt):
                self.statement = child
                self.statement_mutants(child)
            elif isinstance(child, ast.expr):
                self.expression_mutants(child)
            elif isinstance(child, ast.comprehension):
                for test in child.ifs:
                    self.add(test, "True")
            self.walk(child)
            self.statement = outer


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _negated_elsewhere(test: ast.expr) -> bool:
    """Tell whether the mutants of the test's own operator negate it."""
    match test:
        case ast.Constant() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
            return True
    return False


def _running_parts(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.Assert():
            return
        case ast.Call(func=function) if _name(function) in _SPOKEN:
            return
        case ast.AnnAssign(value=value):
            if value is not None:
                yield value
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.arguments():
            yield from (*node.defaults, *(default for default in node.kw_defaults if default is not None))
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from (node.args, *node.body)
            return
        case ast.ClassDef():
            yield from node.body
            return
    yield from ast.iter_child_nodes(node)


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Return the mutants of one source file, in the order of their places."""
    finder = _Finder(file, source)
    finder.walk(ast.parse(source))
    return sorted(set(finder.found), key=lambda mutant: (mutant.start, mutant.end, mutant.after))
