"""Recordings of runs, read once and kept while their files stay the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.errors import InputError, UserError
from embodied_iqa.images.frame import View
from embodied_iqa.images.image_cdr import IMAGE_TYPE
from embodied_iqa.recording.reader import TrialReader
from embodied_iqa.recording.repair.recover import readable_file
from embodied_iqa.reports.trial.stored_run import load_run, recordings_of
from embodied_iqa.studio.kit.context import Studio
from embodied_iqa.studio.kit.sources import NotFoundError, Source
from embodied_iqa.trial.reading import read_trial, stamp_ns
from embodied_iqa.trial.record import RunRecord, TrialRecord
from embodied_iqa.trial.scores import RunScores
from embodied_iqa.units import SECOND_NS

Array = NDArray[np.float64]
Stamp: TypeAlias = tuple[tuple[str, int, int], ...]
_MOST_OPEN: Final = 8
_LATE_NS: Final = SECOND_NS
"""A message is logged at most this long after its stamp."""
_JOINTS: Final = "/arm/joint_states"
_GRIPPER: Final = "gripper"


@dataclass(frozen=True, slots=True)
class FramePlace:
    """A picture in a recording: its stamp, and the time at which it was logged."""

    stamp_ns: int
    log_time_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class WatchedTask:
    """One task of a run.

    Attributes:
        record: Of the trial.
        recording: Its file.
        scores: Of each run of the record; None where they cannot be read.
    """

    record: TrialRecord
    recording: Path
    scores: tuple[RunScores | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RunTrack:
    """What the player needs of one run besides its record.

    Attributes:
        frames: Pictures of each camera, by stamp.
        gripper: ``(N, 2)`` rows of seconds since the start and state, 0 open to 1 closed.
    """

    frames: dict[View, tuple[FramePlace, ...]]
    gripper: Array


class OpenRun:
    """The tasks of a run, and readers of their recordings.

    Args:
        folder: Of the run.

    Raises:
        InputError: It holds no recording with a run.
    """

    def __init__(self, folder: Path) -> None:
        self.remarks: tuple[str, ...]
        self.tasks, self.remarks = _tasks(folder)
        self._tracks: dict[tuple[int, int], RunTrack] = {}
        self._lock = Lock()

    def run(self, task: int, run: int) -> RunRecord:
        """Return a run by its places.

        Raises:
            NotFoundError: There is none.
        """
        if not (0 <= task < len(self.tasks) and 0 <= run < len(self.tasks[task].record.runs)):
            raise NotFoundError("no such run", got=f"{task}/{run}")
        return self.tasks[task].record.runs[run]

    def track(self, task: int, run: int) -> RunTrack:
        """Return the pictures and the gripper of a run; read on first use.

        Raises:
            InputError: The recording is damaged.
        """
        record, key = self.run(task, run), (task, run)
        with self._lock:
            if key not in self._tracks:
                with TrialReader(self.tasks[task].recording) as reader:
                    frames = {view: _frames(reader, view, record) for view in View}
                    found = {view: places for view, places in frames.items() if places}
                    self._tracks[key] = RunTrack(found, _gripper(reader, record))
            return self._tracks[key]

    def picture(self, task: int, run: int, view: View, number: int, *, distorted: bool) -> NDArray[np.uint8]:
        """Return ``(H, W, 3)`` uint8 RGB: a raw picture, or the one that the subjects saw.

        Raises:
            NotFoundError: The run has no such picture.
            InputError: The recording is damaged.
        """
        places = self.track(task, run).frames.get(view, ())
        if not 0 <= number < len(places):
            raise NotFoundError("no such picture", got=number)
        place, topic = places[number], _topic(view)
        with TrialReader(self.tasks[task].recording) as reader:
            for item in reader.pictures([topic], place.log_time_ns, place.log_time_ns + 1):
                if item.picture.stamp_ns == place.stamp_ns:
                    rgb = item.picture.rgb
                    record = self.run(task, run)
                    return record.distorter.apply(rgb, view, place.stamp_ns) if distorted else rgb
        raise InputError(f"{self.tasks[task].recording} changed while it was read")


class OpenRuns:
    """The runs of a studio that were looked at last."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[Stamp, OpenRun]] = OrderedDict()
        self._lock = Lock()

    def of(self, source: Source) -> OpenRun:
        """Return a run as its files are now.

        Raises:
            InputError: It cannot be read, such as a recording that is still being written.
        """
        stamp = _stamp(source.path)
        with self._lock:
            known = self._known.get(source.name)
            if known is None or known[0] != stamp:
                known = self._known[source.name] = stamp, OpenRun(source.path)
            self._known.move_to_end(source.name)
            while len(self._known) > _MOST_OPEN:
                self._known.popitem(last=False)
            return known[1]


def open_runs(studio: Studio) -> OpenRuns:
    """Return the runs that the pages of a studio share."""
    return studio.part(OpenRuns)


def _tasks(folder: Path) -> tuple[tuple[WatchedTask, ...], tuple[str, ...]]:
    """Return the tasks and remarks; scores that cannot be read or computed are left out and remarked on."""
    try:
        tasks, context = load_run(folder)
    except UserError as error:
        readable = [readable_file(file) for file in recordings_of(folder)]
        records = [(read_trial(file), file) for file in readable]
        nothing = [WatchedTask(record, file, (None,) * len(record.runs)) for record, file in records]
        return tuple(nothing), (f"without scores: {error}",)
    return tuple(WatchedTask(task.record, task.recording, task.scores) for task in tasks), context.remarks


def _stamp(folder: Path) -> Stamp:
    files = [*recordings_of(folder), folder / "scores.json"]
    stats = ((str(file), file.stat()) for file in files if file.is_file())
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def _topic(view: View) -> str:
    return f"/camera/{view}/image_raw"


def _frames(reader: TrialReader, view: View, run: RunRecord) -> tuple[FramePlace, ...]:
    topic = _topic(view)
    if topic not in reader.topics or reader.topics[topic].type_name != IMAGE_TYPE:
        return ()
    found = [
        FramePlace(item.picture.stamp_ns, item.log_time_ns)
        for item in reader.pictures([topic], run.start_ns, run.end_ns + _LATE_NS)
        if run.start_ns <= item.picture.stamp_ns <= run.end_ns
    ]
    return tuple(sorted(found, key=lambda place: place.stamp_ns))


def _gripper(reader: TrialReader, run: RunRecord) -> Array:
    rows = []
    for stamp, state in _states(reader, run):
        if _GRIPPER in state.name:
            at = list(state.name).index(_GRIPPER)
            rows.append(((stamp - run.start_ns) / SECOND_NS, float(state.position[at])))
    return np.array(rows, np.float64).reshape(-1, 2)


def _states(reader: TrialReader, run: RunRecord) -> Iterator[tuple[int, Any]]:
    if _JOINTS not in reader.topics:
        return
    for message in reader.messages([_JOINTS], run.start_ns, run.end_ns + _LATE_NS):
        state = reader.decode(message)
        if run.start_ns <= (stamp := stamp_ns(state)) <= run.end_ns:
            yield stamp, state
