"""The project's files as the style tests see them."""

from __future__ import annotations

import ast
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "embodied_iqa"


@dataclass(frozen=True, slots=True)
class Source:
    """One parsed Python file."""

    path: Path
    lines: int
    tree: ast.Module

    @property
    def name(self) -> str:
        """Path below the checkout, for messages."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def module(self) -> str:
        """Dotted module name of a file of the package, such as embodied_iqa.gate.verdict."""
        parts = self.path.relative_to(ROOT / "src").with_suffix("").parts
        return ".".join(part for part in parts if part != "__init__")


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Parse every Python file below the given folders of the checkout."""
    files = sorted(
        file
        for folder in folders
        for file in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in file.parts
    )
    found = []
    for file in files:
        text = file.read_text(encoding="utf-8")
        found.append(Source(file, text.count("\n"), ast.parse(text, str(file))))
    return tuple(found)


def imports_of(source: Source) -> list[tuple[int, str]]:
    """Line and dotted name of all that a file imports, also inside functions; relative ones resolved."""
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
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
