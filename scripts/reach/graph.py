"""Which modules a test can import, read from the sources: also inside functions and by paths in texts."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from reach.texts import UNKNOWN, constants_of, texts_of, without_types

__all__ = ["PACKAGE", "Graph", "read_graph"]

PACKAGE = "embodied_iqa"
_ROOTS = ("src", "tests", "scripts", "benchmarks", "examples", "docker/policies")
"""Where modules lie; below some of these in packages, elsewhere under the names of their files."""
_PACKAGED = ("src", "scripts", "docker/policies")
_PATH = re.compile(rf"\b{PACKAGE}(?:\.\w+)+")
_BELOW = re.compile(rf"\b({PACKAGE}(?:\.\w+)*)\.{UNKNOWN}")
"""As in f"embodied_iqa.live.nodes.{name}": any module of that package."""
_FROM = re.compile(rf"\bfrom ({PACKAGE}[\w.]*) import ([\w, ]+)")
"""Programs that a test writes and starts."""
_FILE = re.compile(r"\b\w+\.py\b")
_EXECUTABLES = "resource/executables"
"""Has a file for each node, named as its module."""
_DATA = (".yaml", ".yml", ".toml", ".json")


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
        """Whether it is not part of the package: a test or what tests start."""
        return not self.path.startswith("src/")


class Graph:
    """Modules of a checkout and what each of them may import.

    Args:
        root: The checkout.
        modules: Every module by its name.
    """

    def __init__(self, root: Path, modules: dict[str, _Module]) -> None:
        self._modules = modules
        self._names = {module.path: name for name, module in modules.items()}
        self._files: dict[str, list[str]] = {}
        for name, module in modules.items():
            if "__" not in name and module.is_own:
                self._files.setdefault(PurePosixPath(module.path).name, []).append(name)
        executables = root / _EXECUTABLES
        nodes = {file.name for file in executables.iterdir()} if executables.is_dir() else set()
        self._nodes: dict[str, set[str]] = {}
        for name in modules:
            if name.rpartition(".")[2] in nodes:
                self._nodes.setdefault(name.rpartition(".")[2], set()).add(name)
        for name, module in modules.items():
            self._read(name, module)
        self._read_data(root)
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
        nodes = list(without_types(module.tree))
        known = constants_of(module.tree, name, is_package=module.path.endswith("/__init__.py"))
        texts = {id(node): text for node, text in texts_of(nodes, known)}
        module.words = {word for text in texts.values() for word in re.findall(r"[\w-]+", text)}
        module.identifiers = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        module.identifiers |= {node.name for node in nodes if isinstance(node, ast.alias)}
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                for dotted in _imported(name, module.path, node):
                    module.imports.update(self._resolve(dotted))
        if not self._read_lazy_names(name, module):
            self._read_texts(module, nodes, texts)
        module.imports.update(self._resolve(name))
        module.imports.discard(name)

    def _read_texts(self, module: _Module, nodes: Iterable[ast.AST], texts: Mapping[int, str]) -> None:
        """Read what texts name; those of a table by their key."""
        below = {match[1] for text in texts.values() if UNKNOWN in text for match in _BELOW.finditer(text)}
        in_tables: set[int] = set()
        of_tables: set[str] = set()
        for key, value in (entry for node in nodes if isinstance(node, ast.Dict) for entry in _entries(node)):
            for part in (part for part in ast.walk(value) if id(part) in texts):
                text = texts[id(part)]
                named = {*self._named(text, module), *self._named_below(text, below)}
                if named:
                    in_tables.add(id(part))
                    of_tables |= named
                    module.keyed.setdefault(key, set()).update(named)
        for text in (text for node, text in texts.items() if node not in in_tables):
            module.imports.update(self._named(text, module))
        for package in below:
            module.imports |= self._children(package) - of_tables
        if module.is_own:  # nodes are started by their names
            module.imports.update(*(self._nodes[word] for word in module.words & self._nodes.keys()))

    def _read_lazy_names(self, name: str, module: _Module) -> bool:
        """Read what the `__getattr__` of a module imports, from what it declares to type checkers."""
        own = module.tree.body
        guarded = [node for block in own if isinstance(block, ast.If) for node in block.body]
        functions = [node.name for node in (*own, *guarded) if isinstance(node, ast.FunctionDef)]
        if "__getattr__" not in functions:
            return False
        for node in (node for node in ast.walk(module.tree) if isinstance(node, ast.ImportFrom)):
            for alias, dotted in zip(node.names, _imported(name, module.path, node), strict=True):
                module.named.setdefault(alias.asname or alias.name, set()).update(self._resolve(dotted))
        return True

    def _named(self, text: str, module: _Module) -> Iterator[str]:
        if PACKAGE in text:
            for match in _PATH.finditer(text):
                yield from (found for found in self._resolve(match[0]) if found != PACKAGE)
            for package, names in _FROM.findall(text):
                for name in names.split(","):
                    yield from (n for n in self._resolve(f"{package}.{name.strip()}") if n != PACKAGE)
        for file in _FILE.findall(text) if ".py" in text else ():
            yield from self._files.get(file, ())
            beside = self._names.get(str(PurePosixPath(module.path).with_name(file)))
            yield from [beside] if beside else []

    def _named_below(self, text: str, packages: Iterable[str]) -> Iterator[str]:
        """The module that "listing:run" names in a table beside f"embodied_iqa.cli.{...}"."""
        first = re.match(r"\w+", text)
        names = [f"{package}.{first[0]}" for package in packages] if first else []
        yield from (name for name in names if name in self._modules)

    def _children(self, package: str) -> set[str]:
        return {name for name in self._modules if name.rpartition(".")[0] == package}

    def _read_data(self, root: Path) -> None:
        """Data of a package that names modules: whatever lies beside it may import them."""
        for file in sorted(file for file in (root / "src").rglob("*") if file.suffix in _DATA):
            text = file.read_text(encoding="utf-8")
            named = {name for match in _PATH.finditer(text) for name in self._resolve(match[0])} - {PACKAGE}
            folder = file.parent.relative_to(root).as_posix()
            for module in self._modules.values() if named else ():
                if str(PurePosixPath(module.path).parent) == folder:
                    module.imports |= named

    def knows(self, path: str) -> bool:
        """Whether a file is a module of the graph."""
        return path in self._names

    def tests_with(self, words: Iterable[str]) -> list[str]:
        """The test files that have one of these words in a text of theirs."""
        wanted = set(words)
        return [test for test in self.tests if wanted & self._modules[self._names[test]].words]

    def distances_of(self, test: str) -> dict[str, int]:
        """The files that a test file may import, as paths below the checkout, with the imports in between.

        The test itself is among them, at distance 0.
        """
        words: set[str] = set()
        names: set[str] = set()
        while True:
            distances = self._walk(self._names[test], words, names)
            own = [self._modules[name] for name in distances if self._modules[name].is_own]
            more_words = set().union(*(module.words for module in own))
            more_names = set().union(*(module.identifiers for module in own))
            if more_words <= words and more_names <= names:
                return {self._modules[name].path: distance for name, distance in distances.items()}
            words, names = more_words, more_names

    def _walk(self, start: str, words: set[str], names: set[str]) -> dict[str, int]:
        distances = {start: 0}
        front = [start]
        while front:
            beyond: list[str] = []
            for name in front:
                module = self._modules[name]
                chosen = [module.keyed[key] for key in module.keyed.keys() & words]
                chosen += [module.named[key] for key in module.named.keys() & names]
                found = {one for some in (module.imports, *chosen) for one in some if one not in distances}
                distances.update(dict.fromkeys(found, distances[name] + 1))
                beyond += found
            front = beyond
        return distances


def _entries(node: ast.Dict) -> Iterator[tuple[str, ast.expr]]:
    """The keys of a dictionary that are texts, with their values."""
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, value


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
        return Graph(root, dict(_modules(root)))
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
