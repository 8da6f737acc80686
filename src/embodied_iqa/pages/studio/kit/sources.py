"""The databases, runs and experiments that the studio shows, by the names of their addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.data.database.store import is_database

_RECORDING: Final = "trial.mcap"
_EXPERIMENT: Final = "experiment.json"
_BENCHMARK: Final = ("benchmark.json", "plan.json")
_MOST_ENTRIES: Final = 2_000
"""Entries of a folder that are looked at."""
_UNSAFE: Final = re.compile(r"[^\w.-]+", re.ASCII)


class NotFoundError(UserError):
    """The address names nothing that exists."""


class SourceKind(StrEnum):
    """What a folder holds."""

    DATABASE = "database"
    RUN = "run"
    EXPERIMENT = "experiment"
    BENCHMARK = "benchmark"


@dataclass(frozen=True, slots=True)
class Source:
    """A folder that the studio shows.

    Attributes:
        name: In addresses; unique.
        kind: What it holds.
        path: The folder.
    """

    name: str
    kind: SourceKind
    path: Path


class Sources:
    """The sources below the folders of the command line; new ones are found while the studio runs.

    Args:
        folders: Databases, runs, experiments, or folders that hold some.

    Raises:
        InputError: A folder does not exist.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise InputError(
                    f"{folder} is not a folder", expected="a database, a run, or a folder of them"
                )
        self._folders = tuple(folder.resolve() for folder in folders)
        self._known: dict[Path, Source] = {}

    def all(self) -> tuple[Source, ...]:
        """Return the sources by name; a source keeps its name as long as the studio runs."""
        found = dict.fromkeys(_sources_in(self._folders))
        for path, kind in found:
            if path not in self._known:
                self._known[path] = Source(self._free_name(path), kind, path)
        present = {path for path, _ in found}
        return tuple(sorted((s for p, s in self._known.items() if p in present), key=lambda s: s.name))

    def get(self, kind: SourceKind, name: str) -> Source:
        """Return a source.

        Raises:
            NotFoundError: There is none of this name.
        """
        for source in (*self._known.values(), *self.all()):
            if source.name == name and source.kind is kind and source.path.is_dir():
                return source
        names = [source.name for source in self.all() if source.kind is kind]
        raise NotFoundError(f"no such {kind}", got=name, available=names)

    def _free_name(self, path: Path) -> str:
        plain = _UNSAFE.sub("-", path.name).strip(".-") or "data"
        taken = {source.name for source in self._known.values()}
        number, name = 1, plain
        while name in taken:
            number += 1
            name = f"{plain}-{number}"
        return name


def kind_of(path: Path) -> SourceKind | None:
    """Return what a folder holds; None for nothing that the studio shows."""
    if is_database(path):
        return SourceKind.DATABASE
    if (path / _EXPERIMENT).is_file():
        return SourceKind.EXPERIMENT
    if all((path / name).is_file() for name in _BENCHMARK):
        return SourceKind.BENCHMARK
    if (path / _RECORDING).is_file() or any((child / _RECORDING).is_file() for child in _folders(path)):
        return SourceKind.RUN
    return None


def _sources_in(folders: Iterable[Path]) -> Iterator[tuple[Path, SourceKind]]:
    """Yield the sources at the folders, or directly below those that are none."""
    for folder in folders:
        kind = kind_of(folder)
        if kind is SourceKind.RUN and not (folder / _RECORDING).is_file() and not _is_session(folder):
            kind = None
        for path in [folder] if kind else _folders(folder):
            if found := kind or kind_of(path):
                yield path, found


def _is_session(folder: Path) -> bool:
    """Return whether recordings below a folder are tasks of one run, not runs of their own."""
    return (folder / "scores.json").is_file() or (folder / "config.yaml").is_file()


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(child for child in islice(path.iterdir(), _MOST_ENTRIES) if child.is_dir())
    except OSError:
        return []
