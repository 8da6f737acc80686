"""Recordings of runs, read once and kept while their files stay the same; one being written is followed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UserError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.repair.recover import readable_file
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.data.recording.trial_record import RunRecord, TrialRecord
from embodied_iqa.data.recording.write_lock import is_being_written
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import NotFoundError, Source
from embodied_iqa.pages.studio.watch.live import LiveRecording
from embodied_iqa.pages.studio.watch.track import FramePlace, RunTrack, image_topic, read_track
from embodied_iqa.runs.offline.stored_run import load_run, recordings_of
from embodied_iqa.runs.trial.scores import RunScores

Stamp: TypeAlias = tuple[tuple[str, int, int], ...]
_MOST_OPEN: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class WatchedTask:
    """One task of a run.

    Attributes:
        record: Of the trial; of one that is being recorded, the runs so far.
        recording: Its file.
        scores: Of each run of the record; None where they cannot be read.
        live: The file while it is being written; None for a whole one.
    """

    record: TrialRecord
    recording: Path
    scores: tuple[RunScores | None, ...]
    live: LiveRecording | None = None


class OpenRun:
    """The tasks of a run, and readers of their recordings.

    Args:
        folder: Of the run.
        writing: Its recordings that are being written; their tasks come last.

    Raises:
        InputError: It holds no recording with a run, and none is being written.
    """

    def __init__(self, folder: Path, writing: Sequence[Path] = ()) -> None:
        self.live = tuple(LiveRecording(file) for file in writing)
        self.remarks: tuple[str, ...]
        self._whole, self.remarks = _tasks(folder, writing)
        self._tracks: dict[tuple[int, int], RunTrack] = {}
        self._lock = Lock()

    @property
    def tasks(self) -> tuple[WatchedTask, ...]:
        """All tasks with a run."""
        live = ((item, item.trial()) for item in self.live)
        return self._whole + tuple(
            WatchedTask(record, item.path, (None,) * len(record.runs), item)
            for item, record in live
            if record is not None
        )

    def update(self) -> None:
        """Read what was appended to recordings that are being written.

        Raises:
            InputError: One cannot be read.
        """
        for item in self.live:
            item.update()

    def live_of(self, task: int) -> LiveRecording | None:
        """Return the recording of a task while it is being written; None for a whole one."""
        place = task - len(self._whole)
        return self.live[place] if 0 <= place < len(self.live) else None

    def run(self, task: int, run: int) -> RunRecord:
        """Return a run by its places.

        Raises:
            NotFoundError: There is none.
        """
        live = self.live_of(task)
        if live is not None and 0 <= run < live.run_count:
            return live.run(run)
        if live is not None or not (0 <= task < len(self._whole) and 0 <= run < len(self._runs(task))):
            raise NotFoundError("no such run", got=f"{task}/{run}")
        return self._runs(task)[run]

    def track(self, task: int, run: int) -> RunTrack:
        """Return the images and the gripper of a run; of a whole recording, read on first use.

        Raises:
            InputError: The recording is damaged.
        """
        record, key, live = self.run(task, run), (task, run), self.live_of(task)
        if live is not None:
            return live.track(record)
        with self._lock:
            if key not in self._tracks:
                with TrialReader(self._whole[task].recording) as reader:
                    self._tracks[key] = read_track(reader, record)
            return self._tracks[key]

    def image(self, task: int, run: int, view: View, number: int, *, distorted: bool) -> NDArray[np.uint8]:
        """Return ``(H, W, 3)`` uint8 RGB: a raw image, or the one that the subjects saw.

        Raises:
            NotFoundError: The run has no such image.
            InputError: The recording is damaged.
        """
        places = self.track(task, run).frames.get(view, ())
        if not 0 <= number < len(places):
            raise NotFoundError("no such image", got=number)
        rgb = self._raw(task, view, places[number])
        return self.run(task, run).distorter.apply(rgb, view, places[number].stamp_ns) if distorted else rgb

    def _runs(self, task: int) -> Sequence[RunRecord]:
        return self._whole[task].record.runs

    def _raw(self, task: int, view: View, place: FramePlace) -> NDArray[np.uint8]:
        if (live := self.live_of(task)) is not None:
            return live.image(view, place.stamp_ns)
        with TrialReader(self._whole[task].recording) as reader:
            for item in reader.images([image_topic(view)], place.log_time_ns, place.log_time_ns + 1):
                if item.image.stamp_ns == place.stamp_ns:
                    return item.image.rgb
        raise InputError(f"{self._whole[task].recording} changed while it was read")


class OpenRuns:
    """The runs of a studio that were looked at last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Stamp, OpenRun]] = OrderedDict()
        self._lock = Lock()

    def of(self, source: Source) -> OpenRun:
        """Return a run as its whole files are now; `OpenRun.update` reads on in those being written.

        Raises:
            InputError: It cannot be read, such as a recording that was cut short.
        """
        with self._lock:
            # first: a recording that ends in between is taken for one being written, not for a damaged one
            writing = [file for file in recordings_of(source.path) if is_being_written(file)]
            stamp = _stamp(source.path, writing)
            known = self._known.get(source.name)
            if known is None or known[0] != stamp:
                known = self._known[source.name] = stamp, OpenRun(source.path, writing)
            self._known.move_to_end(source.name)
            while len(self._known) > _MOST_OPEN:
                self._known.popitem(last=False)
            return known[1]


def open_runs(studio: Studio) -> OpenRuns:
    """Return the runs that the pages of a studio share."""
    return studio.part(OpenRuns)


def _tasks(folder: Path, writing: Sequence[Path]) -> tuple[tuple[WatchedTask, ...], tuple[str, ...]]:
    """Return the whole tasks, and remarks; scores that cannot be read or computed are left out."""
    whole = [file for file in recordings_of(folder) if file not in writing]
    if not whole:
        return (), ()
    try:
        tasks, context = load_run(folder, skip=writing)
    except UserError as error:
        found, remarks = _without_scores(whole)
        if not found and not writing:
            raise
        return found, (f"without scores: {error}", *remarks)
    return tuple(WatchedTask(task.record, task.recording, task.scores) for task in tasks), context.remarks


def _without_scores(files: Sequence[Path]) -> tuple[tuple[WatchedTask, ...], tuple[str, ...]]:
    """Return the tasks that can be read, and why others cannot."""
    tasks, remarks = [], []
    for file in files:
        try:
            readable = readable_file(file)
            record = read_trial(readable)
        except InputError as error:
            remarks.append(str(error))
        else:
            tasks.append(WatchedTask(record, readable, (None,) * len(record.runs)))
    return tuple(tasks), tuple(remarks)


def _stamp(folder: Path, writing: Sequence[Path]) -> Stamp:
    """Return what changes with the whole files, and with which ones are being written."""
    whole = [file for file in recordings_of(folder) if file not in writing]
    stats = ((str(file), file.stat()) for file in [*whole, folder / "scores.json"] if file.is_file())
    found = tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
    return found + tuple((str(file), -1, 0) for file in writing)
