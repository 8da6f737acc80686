"""The project's files as the style tests see them."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "embodied_iqa"


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file."""

    path: Path
    text: str

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self.text.count("\n")

    @property
    def tree(self) -> ast.Module:
        """The parsed file; each file is parsed once for all tests."""
        return _tree(self.path)

    @property
    def name(self) -> str:
        """Path below the checkout, for messages."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def module(self) -> str:
        """Dotted module name of a file of the package, such as embodied_iqa.arm.verdict."""
        parts = self.path.relative_to(ROOT / "src").with_suffix("").parts
        return ".".join(part for part in parts if part != "__init__")


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Every Python file below the given folders of the checkout."""
    return tuple(
        _source(file)
        for file in sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))
        if "__pycache__" not in file.parts
    )


@cache
def _source(file: Path) -> Source:
    return Source(file, file.read_text(encoding="utf-8"))


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(_source(file).text, str(file))


@cache
def statements_of(file: Path) -> tuple[ast.stmt, ...]:
    """Every statement of a file, also inside functions and classes."""
    found: list[ast.stmt] = []
    blocks: list[ast.AST] = [_tree(file)]
    while blocks:
        for child in _children(blocks.pop()):
            if isinstance(child, ast.stmt):
                found.append(child)
            blocks.append(child)
    return tuple(found)


def _children(block: ast.AST) -> Iterator[ast.AST]:
    """Statements, handlers and cases directly in a block; expressions hold none of them."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        yield from getattr(block, name, ())


@cache
def _imports(file: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return tuple(node for node in statements_of(file) if isinstance(node, ast.Import | ast.ImportFrom))


def imports_of(source: Source) -> list[tuple[int, str]]:
    """Line and dotted name of all that a file imports, also inside functions; relative ones resolved."""
    found = []
    for node in _imports(source.path):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        else:
            base = node.module or ""
            if node.level:
                package = source.module.split(".")
                depth = node.level - (source.path.name == "__init__.py")
                base = ".".join([*package[: len(package) - depth], *filter(None, [base])])
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
    return found


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that git tracks, or would with `git add`: what a user gets."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        skipped = {".venv", ".build", "build", "install", "log", "runs", "__pycache__"}
        return tuple(
            file
            for file in ROOT.rglob("*")
            if file.is_file() and not skipped & set(file.relative_to(ROOT).parts)
        )
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    return tuple(file for name in listed.split("\0") if name and (file := ROOT / name).is_file())
