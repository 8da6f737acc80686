"""Images and gripper of one run: what the player needs besides its record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import stamp_ns
from embodied_iqa.data.recording.trial_record import RunRecord
from embodied_iqa.imaging.images.frame import View, ordered_views, view_of_topic
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE

Array = NDArray[np.float64]
JOINTS: Final = "/arm/joint_states"
_LATE_NS: Final = SECOND_NS
"""A message is logged at most this long after its stamp."""
_GRIPPER: Final = "gripper"


@dataclass(frozen=True, slots=True)
class FramePlace:
    """An image in a recording: its stamp, and the time at which it was logged."""

    stamp_ns: int
    log_time_ns: int


@dataclass(frozen=True, slots=True, eq=False)
class RunTrack:
    """What the player needs of one run besides its record.

    Attributes:
        frames: Images of each camera, by stamp.
        gripper: ``(N, 2)`` rows of seconds since the start and state, 0 open to 1 closed.
    """

    frames: dict[View, tuple[FramePlace, ...]]
    gripper: Array


def read_track(reader: TrialReader, run: RunRecord) -> RunTrack:
    """Read the track of a run from a whole recording.

    Raises:
        InputError: The recording is damaged.
    """
    views = ordered_views(filter(None, map(view_of_topic, reader.topics)))
    frames = {view: _frames(reader, view, run) for view in views}
    found = {view: places for view, places in frames.items() if places}
    return RunTrack(found, gripper_rows(_states(reader, run), run))


def image_topic(view: View) -> str:
    """Return the topic of a camera's raw images."""
    return f"/camera/{view}/image_raw"


def gripper_state(joints: Any) -> tuple[int, float] | None:
    """Return stamp [ns] and state of the gripper in a message with joint states; None without a gripper."""
    names = list(joints.name)
    return (stamp_ns(joints), float(joints.position[names.index(_GRIPPER)])) if _GRIPPER in names else None


def gripper_rows(states: Iterable[tuple[int, float]], run: RunRecord) -> Array:
    """Return the rows of `RunTrack.gripper` from stamps [ns] and states."""
    rows = [((at - run.start_ns) / SECOND_NS, v) for at, v in states if run.start_ns <= at <= run.end_ns]
    return np.array(rows, np.float64).reshape(-1, 2)


def _frames(reader: TrialReader, view: View, run: RunRecord) -> tuple[FramePlace, ...]:
    topic = image_topic(view)
    if topic not in reader.topics or reader.topics[topic].type_name != IMAGE_TYPE:
        return ()
    found = [
        FramePlace(item.image.stamp_ns, item.log_time_ns)
        for item in reader.images([topic], run.start_ns, run.end_ns + _LATE_NS)
        if run.start_ns <= item.image.stamp_ns <= run.end_ns
    ]
    return tuple(sorted(found, key=lambda place: place.stamp_ns))


def _states(reader: TrialReader, run: RunRecord) -> Iterator[tuple[int, float]]:
    if JOINTS not in reader.topics:
        return
    for message in reader.messages([JOINTS], run.start_ns, run.end_ns + _LATE_NS):
        if (state := gripper_state(reader.decode(message))) is not None:
            yield state
