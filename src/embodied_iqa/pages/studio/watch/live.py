"""A recording that is being written: its runs so far. It is opened for reading only."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.recorded import RecordedMessage
from embodied_iqa.data.recording.repair.following import MessagePlace, RecordingFollower
from embodied_iqa.data.recording.trial_reading import METADATA, TrialStreams, is_trial_topic
from embodied_iqa.data.recording.trial_record import RunRecord, TrialRecord
from embodied_iqa.imaging.images.frame import View, view_of_topic
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE, image_from_cdr
from embodied_iqa.pages.studio.watch.track import (
    JOINTS,
    FramePlace,
    RunTrack,
    gripper_rows,
    gripper_state,
)

MOST_MESSAGES: Final = 400_000
"""Messages that are kept in memory, without images: more than an hour of a trial."""
_MOST_BYTES: Final = 64_000_000
"""Read in one call, so that a page of a long recording appears at once and catches up."""


@dataclass(frozen=True, slots=True)
class _Image:
    place: FramePlace
    message: MessagePlace


class LiveRecording:
    """The runs of a recording that a recorder is writing.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = RLock()
        self._start_over()

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        return self._follower.position

    @property
    def recorded_s(self) -> float:
        """Length of the runs so far [s]; each run has a clock of its own."""
        with self._lock:
            runs = [self.run(place) for place in range(self.run_count)]
        return sum(run.end_ns - run.start_ns for run in runs) / SECOND_NS

    @property
    def run_count(self) -> int:
        """Runs that have started."""
        return len(self._streams.starts)

    def update(self) -> bool:
        """Read what was appended since the last call, in part where it is much; return whether this is all.

        Raises:
            InputError: The recording cannot be read, or is too long to be followed.
        """
        with self._lock:
            if self._follower.has_shrunk:
                self._start_over()
            before = self._follower.position
            for message, place in self._follower.read(_MOST_BYTES):
                self._add(message, place)
            if self._messages > MOST_MESSAGES:
                raise InputError(f"{self.path} is too long to be followed; watch it when it has ended")
            return self._follower.position - before < _MOST_BYTES

    def trial(self) -> TrialRecord | None:
        """Return all runs so far; None before the first."""
        with self._lock:
            if not self._streams.starts:
                return None
            runs = [self.run(place) for place in range(self.run_count)]
            return self._streams.trial(runs, self._follower.metadata.get(METADATA, {}))

    def run(self, place: int) -> RunRecord:
        """Return a run by its place; one that has not ended ends with the newest image or verdict."""
        with self._lock:
            return self._streams.run(place, self._newest_ns)

    def track(self, run: RunRecord) -> RunTrack:
        """Return the images and the gripper of a run."""
        with self._lock:
            found = {view: self._of(view, run) for view in self._images}
            frames = {view: tuple(item.place for item in items) for view, items in found.items() if items}
            return RunTrack(frames, gripper_rows(self._gripper, run))

    def image(self, view: View, stamp_ns: int) -> NDArray[np.uint8]:
        """Return ``(H, W, 3)`` uint8 RGB of an image of a track.

        Raises:
            InputError: The recording has changed.
        """
        with self._lock:
            items = self._images[view]
            place = items[bisect_left(items, stamp_ns, key=_stamp_ns)].message
        return image_from_cdr(self._follower.cdr_at(place)).rgb

    def _start_over(self) -> None:
        self._follower = RecordingFollower(self.path)
        self._streams = TrialStreams()
        self._images: dict[View, list[_Image]] = {}
        self._gripper: list[tuple[int, float]] = []
        self._newest_ns = 0
        self._messages = 0

    def _of(self, view: View, run: RunRecord) -> list[_Image]:
        items = self._images[view]
        return items[
            bisect_left(items, run.start_ns, key=_stamp_ns) : bisect_right(items, run.end_ns, key=_stamp_ns)
        ]

    def _add(self, message: RecordedMessage, place: MessagePlace) -> None:
        self._messages += 1
        topic = message.topic
        view = view_of_topic(topic)
        if view is not None and message.type_name == IMAGE_TYPE:
            self._add_image(view, message, place)
        elif is_trial_topic(topic):
            self._streams.add(self.path, topic, self._follower.decode(message))
        elif topic == JOINTS and (state := gripper_state(self._follower.decode(message))) is not None:
            self._gripper.append(state)

    def _add_image(self, view: View, message: RecordedMessage, place: MessagePlace) -> None:
        stamp_ns = image_from_cdr(message.cdr).stamp_ns
        items = self._images.setdefault(view, [])
        at = bisect_right(items, stamp_ns, key=_stamp_ns)
        items.insert(at, _Image(FramePlace(stamp_ns, message.log_time_ns), place))
        self._newest_ns = max(self._newest_ns, stamp_ns)


def _stamp_ns(item: _Image) -> int:
    return item.place.stamp_ns
