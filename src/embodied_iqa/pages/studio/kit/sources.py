"""The databases, runs, experiments and images that the studio shows, by the names of their addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.data.database.database_folder import is_database
from embodied_iqa.data.frames.video_frames import is_video
from embodied_iqa.data.lerobot.info import is_lerobot
from embodied_iqa.data.recording.recording_names import RECORDING_SUFFIXES, is_recording
from embodied_iqa.imaging.images.image_files import IMAGE_SUFFIXES

_RECORDING: Final = "trial.mcap"
_EXPERIMENT: Final = "experiment.json"
_BENCHMARK: Final = ("benchmark.json", "plan.json")
_MOST_ENTRIES: Final = 2_000
"""Entries of a folder that are looked at."""
_BAG: Final = "metadata.yaml"
"""In a folder of ``ros2 bag``."""
_UNSAFE: Final = re.compile(r"[^\w.-]+", re.ASCII)


class NotFoundError(UserError):
    """The address names nothing that exists."""


class SourceKind(StrEnum):
    """What a folder or file holds."""

    DATABASE = "database"
    RUN = "run"
    EXPERIMENT = "experiment"
    BENCHMARK = "benchmark"
    IMAGES = "images"
    """A recording of somebody, a data set, a video, a folder of images."""


@dataclass(frozen=True, slots=True)
class Source:
    """A folder, or a file of images, that the studio shows.

    Attributes:
        name: In addresses; unique.
        kind: What it holds.
        path: The folder or file.
    """

    name: str
    kind: SourceKind
    path: Path


class Sources:
    """The sources below the folders of the command line; new ones are found while the studio runs.

    Args:
        folders: Databases, runs, experiments, stored images, or folders that hold some.

    Raises:
        InputError: A folder does not exist, or a file is neither a recording nor a video.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if (fault := fault_of(folder)) is not None:
                raise fault
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
            if source.name == name and source.kind is kind and source.path.exists():
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


def fault_of(folder: Path) -> InputError | None:
    """Return why a folder or file cannot be shown; None where it can."""
    if folder.is_dir() or (folder.is_file() and _holds_images(folder)):
        return None
    expected = "a database, a run, a recording, a data set, a video, or a folder of them"
    return InputError(f"{folder} is not a folder", expected=expected)


def shows(folder: Path) -> bool:
    """Return whether anything is in a folder, or directly below it, that the studio shows."""
    return any(True for _ in _sources_in((folder.resolve(),)))


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
        if kind is not None:
            yield folder, kind
        elif _is_whole(folder):
            yield folder, SourceKind.IMAGES
        else:
            yield from _sources_below(folder)


def _sources_below(folder: Path) -> Iterator[tuple[Path, SourceKind]]:
    """Yield the sources directly below a folder, and the folder itself where images are directly in it."""
    entries = _entries(folder)
    if _has_images(entries):
        yield folder, SourceKind.IMAGES
    for path in entries:
        if kind := kind_of(path) if path.is_dir() else None:
            yield path, kind
        elif _holds_images(path):
            yield path, SourceKind.IMAGES


def _is_whole(path: Path) -> bool:
    """Return whether this is one recording, data set or video, not a folder that may hold others."""
    return path.is_file() or is_lerobot(path) or (path / _BAG).is_file()


def _holds_images(path: Path) -> bool:
    """Return whether stored images are here, by names alone: what is damaged is listed with its reason."""
    try:
        if path.is_file():
            return path.name.endswith(RECORDING_SUFFIXES) or is_video(path)
        return _is_whole(path) or is_recording(path) or _has_images(_entries(path))
    except OSError:
        return False


def _has_images(entries: Iterable[Path]) -> bool:
    return any(entry.suffix.lower() in IMAGE_SUFFIXES and entry.is_file() for entry in entries)


def _is_session(folder: Path) -> bool:
    """Return whether recordings below a folder are tasks of one run, not runs of their own."""
    return (folder / "scores.json").is_file() or (folder / "config.yaml").is_file()


def _folders(path: Path) -> list[Path]:
    return [child for child in _entries(path) if child.is_dir()]


def _entries(path: Path) -> list[Path]:
    try:
        return sorted(islice(path.iterdir(), _MOST_ENTRIES))
    except OSError:
        return []
