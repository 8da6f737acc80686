"""Which modules a test can import, read from the sources: also inside functions and by paths in texts."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeGuard

__all__ = ["PACKAGE", "Graph", "read_graph"]

PACKAGE = "embodied_iqa"
_ROOTS = ("src", "tests", "scripts", "benchmarks", "examples", "docker/policies")
"""Where modules lie; below some of these in packages, elsewhere under the names of their files."""
_PACKAGED = ("src", "scripts", "docker/policies")
_PATH = re.compile(rf"\b{PACKAGE}(?:\.\w+)+")
_BELOW = re.compile(rf"\b({PACKAGE}(?:\.\w+)*)\.$")
"""A text that ends with a dot, as in f"embodied_iqa.nodes.{name}": any module of that package."""
_FROM = re.compile(rf"\bfrom ({PACKAGE}[\w.]*) import ([\w, ]+)")
"""Programs that a test writes and starts."""
_FILE = re.compile(r"\b\w+\.py\b")
_NODES = f"{PACKAGE}.nodes"


class _Text(ast.Constant):
    """A constant whose value is a text; only a type."""

    value: str


@dataclass(slots=True)
class _Module:
    path: str
    """Below the checkout."""
    tree: ast.Module
    imports: set[str] = field(default_factory=set)
    keyed: dict[str, set[str]] = field(default_factory=dict)
    """Imports by a table: only where a test names the key, as in {"gate": "embodied_iqa.cli.gate"}."""
    named: dict[str, set[str]] = field(default_factory=dict)
    """Imports of a package's `__getattr__`: only where a test uses the name."""
    words: set[str] = field(default_factory=set)
    """Words of the file's texts, without docstrings."""
    identifiers: set[str] = field(default_factory=set)

    @property
    def is_own(self) -> bool:
        """Whether it is no part of the package: a test or what tests start."""
        return not self.path.startswith("src/")


class Graph:
    """Modules of a checkout and what each of them may import.

    Args:
        modules: Every module by its name.
    """

    def __init__(self, modules: dict[str, _Module]) -> None:
        self._modules = modules
        self._names = {module.path: name for name, module in modules.items()}
        self._files: dict[str, list[str]] = {}
        for name, module in modules.items():
            if "__" not in name and module.is_own:
                self._files.setdefault(PurePosixPath(module.path).name, []).append(name)
        for name, module in modules.items():
            self._read(name, module)
        self.tests = sorted(
            module.path
            for module in modules.values()
            if module.path.startswith("tests/") and PurePosixPath(module.path).name.startswith("test_")
        )

    def _resolve(self, dotted: str) -> Iterator[str]:
        """The modules that importing a dotted name runs: its longest known part and the packages above."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            name = ".".join(parts[:length])
            if name in self._modules:
                yield name

    def _read(self, name: str, module: _Module) -> None:
        nodes = list(_without_types(module.tree))
        in_tables = set()
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for dotted in _imported(name, module.path, node):
                    module.imports.update(self._resolve(dotted))
            elif isinstance(node, ast.Dict):
                for key, text in _table(node):
                    in_tables.add(id(text))
                    module.keyed.setdefault(key, set()).update(self._named(text.value))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [node for node in nodes if _is_text(node) and id(node) not in docstrings]
        module.words = {word for text in texts for word in re.findall(r"[\w-]+", text.value)}
        module.identifiers = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        module.identifiers |= {node.name for node in nodes if isinstance(node, ast.alias)}
        if not self._read_lazy_names(name, module):
            for text in (text for text in texts if id(text) not in in_tables):
                module.imports.update(self._named(text.value))
            if module.is_own:  # nodes are started by their names
                started = {f"{_NODES}.{word}" for word in module.words}
                module.imports |= started & self._modules.keys()
        module.imports.update(self._resolve(name))
        module.imports.discard(name)

    def _read_lazy_names(self, name: str, module: _Module) -> bool:
        """Read what the `__getattr__` of a module imports, from what it declares to type checkers."""
        functions = [node.name for node in module.tree.body if isinstance(node, ast.FunctionDef)]
        if "__getattr__" not in functions:
            return False
        for node in (node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)):
            for alias, dotted in zip(node.names, _imported(name, module.path, node), strict=True):
                module.named.setdefault(alias.asname or alias.name, set()).update(self._resolve(dotted))
        return True

    def _named(self, text: str) -> Iterator[str]:
        for match in _PATH.finditer(text):
            yield from (found for found in self._resolve(match[0]) if found != PACKAGE)
        for package, names in _FROM.findall(text):
            for name in names.split(","):
                yield from (n for n in self._resolve(f"{package}.{name.strip()}") if n != PACKAGE)
        for file in _FILE.findall(text):
            yield from self._files.get(file, ())
        below = _BELOW.search(text)
        if below is not None:
            prefix = f"{below[1]}."
            yield from (n for n in self._modules if n.startswith(prefix) and "." not in n[len(prefix) :])

    def knows(self, path: str) -> bool:
        """Whether a file is a module of the graph."""
        return path in self._names

    def files_of(self, test: str) -> set[str]:
        """The files that a test file may import, itself among them, as paths below the checkout."""
        reached = self._closure({self._names[test]})
        while True:
            modules = [self._modules[name] for name in reached]
            own = [module for module in modules if module.is_own]
            words = set().union(*(module.words for module in own))
            names = set().union(*(module.identifiers for module in own))
            chosen: set[str] = set()
            for module in modules:
                chosen.update(*(module.keyed[key] for key in module.keyed.keys() & words))
                chosen.update(*(module.named[key] for key in module.named.keys() & names))
            if chosen <= reached:
                return {module.path for module in modules}
            reached = self._closure(reached | chosen)

    def _closure(self, names: set[str]) -> set[str]:
        waiting = list(names)
        reached = set(names)
        while waiting:
            found = self._modules[waiting.pop()].imports - reached
            waiting += found
            reached |= found
        return reached


def _is_text(node: ast.AST) -> TypeGuard[_Text]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _table(node: ast.Dict) -> Iterator[tuple[str, _Text]]:
    """The keys of a dictionary, each with the module paths of its value."""
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None and _is_text(key):
            yield from (
                (key.value, text) for text in ast.walk(value) if _is_text(text) and _PATH.search(text.value)
            )


def _without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only type checkers see."""
    waiting = [tree]
    while waiting:
        for child in ast.iter_child_nodes(waiting.pop()):
            if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
                yield child
                waiting.append(child)


def _imported(name: str, path: str, node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        package = name.split(".")
        depth = node.level - path.endswith("/__init__.py")
        base = ".".join([*package[: len(package) - depth], *filter(None, [base])])
    return [f"{base}.{alias.name}" for alias in node.names]


def read_graph(root: Path) -> Graph:
    """Parse every module of a checkout; a file that cannot be parsed raises SyntaxError."""
    collects = gc.isenabled()
    gc.disable()  # millions of nodes that stay: looking for garbage among them takes twice as long as parsing
    try:
        return Graph(dict(_modules(root)))
    finally:
        if collects:
            gc.enable()


def _modules(root: Path) -> Iterator[tuple[str, _Module]]:
    seen: set[str] = set()
    for folder in _ROOTS:
        for file in sorted((root / folder).rglob("*.py")):
            if "__pycache__" in file.parts:
                continue
            path = file.relative_to(root).as_posix()
            parts = file.relative_to(root / folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts
            name = ".".join(parts) if folder in _PACKAGED else file.stem
            name = path if name in seen else name  # conftest.py of several folders
            seen.add(name)
            yield name, _Module(path, ast.parse(file.read_text(encoding="utf-8"), path))
