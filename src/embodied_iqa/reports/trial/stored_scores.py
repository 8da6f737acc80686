"""From scores.json back to the scores that it was written from."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Union

from embodied_iqa.errors import InputError, UserError
from embodied_iqa.trial.scores import RunScores

__all__ = ["StoredScores", "load_scores"]

_RENAMED = {"pass": "passed"}
"""`pass` is no name in Python."""
_SPEC_ONLY_IN_FILE = {"name"}
"""A distortion's name stands in the file for people."""


@dataclass(frozen=True, slots=True)
class StoredScores:
    """What a scores.json holds.

    Attributes:
        runs: In the order of the file.
        versions: Name of a package to its version.
        remarks: What went wrong without ending the run.
    """

    runs: tuple[RunScores, ...]
    versions: Mapping[str, str]
    remarks: tuple[str, ...]


def load_scores(path: Path) -> StoredScores:
    """Read a scores.json.

    Raises:
        InputError: It is missing or broken, or its entries are not those of this version.
    """
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the scores {path}: {error}") from error
    if not isinstance(tree, dict) or not isinstance(tree.get("runs"), list):
        raise InputError(f"{path} holds no scores", expected="JSON with a list `runs`")
    try:
        runs = tuple(_parse(RunScores, _plain(entry), f"runs[{i}]") for i, entry in enumerate(tree["runs"]))
    except UserError as error:
        raise InputError(f"{path}: {error}") from error
    versions, remarks = tree.get("versions"), tree.get("remarks")
    return StoredScores(
        runs,
        {str(k): str(v) for k, v in versions.items()} if isinstance(versions, dict) else {},
        tuple(map(str, remarks)) if isinstance(remarks, list) else (),
    )


def _plain(entry: Any) -> Any:
    """Return an entry with the names of the dataclasses."""
    if not isinstance(entry, dict):
        return entry
    entry = dict(entry)
    if isinstance(entry.get("gate"), dict):
        entry["gate"] = {_RENAMED.get(key, key): value for key, value in entry["gate"].items()}
    if isinstance(entry.get("distortion"), dict):
        spec = entry["distortion"]
        entry["distortion"] = {key: value for key, value in spec.items() if key not in _SPEC_ONLY_IN_FILE}
    return entry


def _parse(kind: Any, value: Any, where: str) -> Any:
    """Return a value of plain data as its annotated type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in {Union, types.UnionType}:
        if value is None and type(None) in arguments:
            return None
        return _parse(next(item for item in arguments if item is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise InputError(f"{where} is wrong", expected="a list", got=value)
        return tuple(_parse(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if is_dataclass(kind):
        return _dataclass(kind, value, where)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise InputError(f"{where} is wrong", expected=getattr(kind, "__name__", str(kind)), got=value)
    return value


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    names = [item.name for item in fields(kind)]
    if not isinstance(value, dict) or set(value) != set(names):
        got = sorted(value) if isinstance(value, dict) else value
        raise InputError(f"{where} is wrong", expected=f"the keys {', '.join(names)}", got=got)
    hints = typing.get_type_hints(kind)
    return kind(**{name: _parse(hints[name], value[name], f"{where}.{name}") for name in names})
