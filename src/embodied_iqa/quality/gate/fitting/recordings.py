"""References from several recordings of clean images, each of them a scene."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.data.database.sources.candidate import Candidate
from embodied_iqa.data.database.sources.recorded import RecordingSource, Sampling
from embodied_iqa.data.recording.opening import recording_files as files_of
from embodied_iqa.data.recording.recording_names import RECORDING_SUFFIXES, is_recording
from embodied_iqa.imaging.images.frame import View

FRAMES_EACH: Final = 5
"""Frames of a recording that the policy is asked about, spread evenly over those of the camera."""
_FOLDERS: Final = 2
"""Parent folders in the name of a recording: those of trials are all called trial.mcap."""


def recording_files(sources: Iterable[Path]) -> tuple[Path, ...]:
    """Return the recordings among files and below folders, each once.

    Raises:
        UsageError: Something else, or a folder without recordings.
    """
    found: dict[Path, None] = {}
    for source in sources:
        files = _below(source) if source.is_dir() else [source]
        if not files or any(not is_recording(file) or not file.exists() for file in files):
            expected = "recordings (.mcap, .db3) or folders of them"
            raise UsageError("no recording", expected=expected, got=source)
        found.update(dict.fromkeys(files))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class RecordingsSource:
    """Frames of several recordings; a `ReferenceSource`.

    Attributes:
        paths: Of trials, or of any recordings with a task file.
        view: The camera.
        tasks_file: See docs/tasks.md; None for recordings of trials, and for one task of all images.
        sampling: See `RecordingSource`.
        recordings: Those that can be used.
        chosen: Recording and number of each frame in it.
        left_out: Why the others are not.

    Raises:
        InputError: None can be used.
    """

    paths: tuple[Path, ...]
    view: View
    tasks_file: Path | None = None
    sampling: Sampling = field(default_factory=Sampling)
    recordings: tuple[RecordingSource, ...] = field(init=False)
    chosen: tuple[tuple[int, int], ...] = field(init=False)
    left_out: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        recordings: list[RecordingSource] = []
        chosen: list[tuple[int, int]] = []
        left_out: list[str] = []
        for path in self.paths:
            try:
                recording, places = self._opened(path)
            except InputError as error:
                left_out.append(str(error))
                continue
            chosen += [(len(recordings), place) for place in places]
            recordings.append(recording)
        if not recordings:
            raise InputError("no recording can be used", got=next(iter(left_out), None))
        object.__setattr__(self, "recordings", tuple(recordings))
        object.__setattr__(self, "chosen", tuple(chosen))
        object.__setattr__(self, "left_out", tuple(left_out))

    def _opened(self, path: Path) -> tuple[RecordingSource, list[int]]:
        recording = RecordingSource(path, self.tasks_file, self.sampling)
        own = [k for k, moment in enumerate(recording.moments) if moment.view == self.view]
        if not own:
            raise InputError(f"{recording.path} has no frame of the {self.view} camera with a task")
        places = np.unique(np.linspace(0, len(own) - 1, min(FRAMES_EACH, len(own))).round().astype(int))
        return recording, [own[place] for place in places]

    @property
    def count(self) -> int | None:
        """Number of frames."""
        return len(self.chosen)

    @property
    def description(self) -> str:
        """Number of the recordings, camera, and a hash of their names and sizes."""
        names = [f"{_name(one.path)} {_size(one.path)}" for one in self.recordings]
        digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
        return ", ".join([f"{len(names)} recordings ({digest}), view {self.view}", *self.sampling.words])

    @property
    def fingerprint(self) -> str:
        """Of the task file's entries; empty without one."""
        parts = [recording.fingerprint for recording in self.recordings]
        return hashlib.sha256("".join(parts).encode()).hexdigest()[:32] if any(parts) else ""

    def name_of(self, index: int) -> str:
        """Return what lists call a frame: recording and stamp."""
        number, place = self.chosen[index]
        return self.recordings[number].name_of(place)

    def read(self, index: int) -> Candidate:
        """Read a frame; its origin begins with the name of its recording."""
        number, place = self.chosen[index]
        found = self.recordings[number].read(place)
        stamp_and_hash = found.origin.rsplit(" ", 2)[1:]
        return replace(found, origin=" ".join([_name(self.recordings[number].path), *stamp_and_hash]))


def _below(folder: Path) -> list[Path]:
    """Return the recordings below a folder; the files of one that ``ros2 bag`` split are one, its folder."""
    found = sorted(file for suffix in RECORDING_SUFFIXES for file in folder.rglob(f"*{suffix}"))
    files = Counter(file.parent for file in found)
    split = {one for one, count in files.items() if count > 1 and (one / "metadata.yaml").is_file()}
    return list(dict.fromkeys(file.parent if file.parent in split else file for file in found))


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in files_of(path))


def _name(path: Path) -> str:
    return "/".join(path.resolve().parts[-1 - _FOLDERS :])
