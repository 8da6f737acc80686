"""Fingerprint of a folder of weights: a hash of all files that answers depend on, computed once per file."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import write_json_whole
from embodied_iqa.models.subjects.user_folders import cache_folder

_KINDS: Final = frozenset({".json", ".jinja", ".txt", ".model", ".py", ".safetensors", ".tiktoken"})
_LARGE_BYTES: Final = 1_000_000
"""Hashes of files of at least this size are stored."""
_MOST_REMEMBERED: Final = 2000


def fingerprint_of(folder: Path) -> str:
    """Return a hash of a checkpoint's files: names and contents; 64 hexadecimal digits.

    Raises:
        InputError: A file cannot be read.
    """
    memory = _remembered()
    known = len(memory)
    whole = hashlib.sha256()
    try:
        for file in sorted(item for item in folder.iterdir() if item.is_file() and item.suffix in _KINDS):
            whole.update(f"{file.name}\0{_hash_of(file, memory)}\n".encode())
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from None
    if len(memory) != known:
        _remember(memory)
    return whole.hexdigest()


def _hash_of(file: Path, memory: dict[str, str]) -> str:
    state = file.stat()
    key = f"{file.resolve()} {state.st_size} {state.st_mtime_ns} {state.st_ino}"
    if key in memory:
        return memory[key]
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if state.st_size >= _LARGE_BYTES:
        memory[key] = digest
    return digest


def _store() -> Path:
    return cache_folder() / "fingerprints.json"


def _remembered() -> dict[str, str]:
    try:
        value = json.loads(_store().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(value, dict):
        return {}
    return {str(key): str(digest) for key, digest in value.items()}


def _remember(memory: dict[str, str]) -> None:
    """Store the newest hashes; if that fails, they are computed again next time."""
    with suppress(InputError):
        write_json_whole(_store(), dict(list(memory.items())[-_MOST_REMEMBERED:]))
