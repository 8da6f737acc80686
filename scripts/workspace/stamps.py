"""Stamps: a step is done when the hash of its inputs equals the one written after its last success."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Stamp", "hash_inputs"]


def hash_inputs(root: Path, paths: Iterable[Path], *, extra: Iterable[str] = ()) -> str:
    """Hash files by name and content, and words beside them.

    Args:
        root: Names are taken relative to it, so that a moved working copy keeps its hashes.
        paths: Files, or folders that are walked; a missing one counts as empty.
        extra: Further words that the step depends on, such as the Python version.

    Returns:
        A hexadecimal SHA-256 digest.
    """
    digest = hashlib.sha256()
    for word in extra:
        digest.update(f"word {word}\0".encode())
    for path in paths:
        files = sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"file {file.relative_to(root).as_posix()}\0".encode())
                digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Stamp:
    """One step's stamp file."""

    folder: Path
    name: str

    @property
    def file(self) -> Path:
        """Written after success only."""
        return self.folder / self.name

    def is_current(self, digest: str) -> bool:
        """Whether the step succeeded with exactly these inputs."""
        try:
            return self.file.read_text(encoding="ascii").strip() == digest
        except (OSError, UnicodeDecodeError):
            return False

    def begin(self) -> None:
        """Take the old stamp away: until the step succeeds it counts as not done."""
        self.file.unlink(missing_ok=True)

    def succeed(self, digest: str) -> None:
        """Record success, whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.folder / f"{self.name}.new"
        fresh.write_text(digest + "\n", encoding="ascii")
        fresh.replace(self.file)
