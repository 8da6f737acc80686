"""What every camera saw at one instant, out of a recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.images.frame import Intrinsics, View
from embodied_iqa.images.image_cdr import IMAGE_TYPE
from embodied_iqa.images.message_geometry import intrinsics_from_info, matrix_from_pose
from embodied_iqa.recording.reader import TrialReader
from embodied_iqa.trial.reading import stamp_ns as stamp_of

__all__ = ["Shot", "Window", "recorded_views", "shots_at"]

_ItemT = TypeVar("_ItemT")

_NEAR_NS: Final = 100_000_000
"""Cameras that are not triggered together differ by a period: the nearest picture within 0.1 s is shown."""
_EARLY_NS: Final = 200_000_000
_LATE_NS: Final = 1_000_000_000
"""A message is logged about when it is stamped: looked for here first, and only then in the whole run."""


@dataclass(frozen=True, slots=True)
class Window:
    """An instant and the run that it lies in, ROS time.

    Attributes:
        stamp_ns: What is looked for.
        start_ns: First stamp of the run; nothing from before is taken.
        end_ns: Last stamp of the run; nothing from after is taken.
    """

    stamp_ns: int
    start_ns: int
    end_ns: int

    def distance_ns(self, stamp_ns: int) -> int | None:
        """Return how far a stamp is from the instant, or None where it is too far or of another run."""
        distance = abs(stamp_ns - self.stamp_ns)
        inside = self.start_ns <= stamp_ns <= self.end_ns
        return distance if inside and distance <= _NEAR_NS else None


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A raw picture and, where they were recorded, the camera's model and place.

    Attributes:
        view: The camera.
        stamp_ns: The picture's own stamp.
        rgb: ``(H, W, 3)`` uint8, red first.
        intrinsics: None where no camera info was recorded.
        T_base_camera: ``(4, 4)`` float64 (m), or None where no pose was recorded.
    """

    view: View
    stamp_ns: int
    rgb: NDArray[np.uint8]
    intrinsics: Intrinsics | None
    T_base_camera: NDArray[np.float64] | None


def recorded_views(reader: TrialReader) -> tuple[View, ...]:
    """Return the views whose raw pictures are in the recording, in the order of `View`."""
    return tuple(
        view
        for view in View
        if (info := reader.topics.get(f"/camera/{view}/image_raw")) is not None
        and info.type_name == IMAGE_TYPE
        and info.messages
    )


def shots_at(reader: TrialReader, window: Window) -> dict[View, Shot]:
    """Return what the cameras saw; a view without a picture near the instant is left out.

    Raises:
        RecordingReadError: The recording is damaged.
    """
    shots: dict[View, Shot] = {}
    for view in recorded_views(reader):
        picture = _picture(reader, view, window)
        if picture is None:
            continue
        taken_ns, rgb = picture
        at = Window(taken_ns, window.start_ns, window.end_ns)
        info = _decoded(reader, f"/camera/{view}/camera_info", at)
        pose = _decoded(reader, f"/camera/{view}/pose", at)
        shots[view] = Shot(
            view,
            taken_ns,
            rgb,
            None if info is None else intrinsics_from_info(info),
            None if pose is None else _place(pose),
        )
    return shots


def _picture(reader: TrialReader, view: View, window: Window) -> tuple[int, NDArray[np.uint8]] | None:
    topic = f"/camera/{view}/image_raw"
    for first_ns, last_ns in _log_times(reader, window):
        found = (
            (item.picture.stamp_ns, item.picture.rgb) for item in reader.pictures([topic], first_ns, last_ns)
        )
        nearest = _nearest(found, window)
        if nearest is not None:
            return nearest
    return None


def _decoded(reader: TrialReader, topic: str, window: Window) -> Any | None:
    if topic not in reader.topics:
        return None
    for first_ns, last_ns in _log_times(reader, window):
        messages = (reader.decode(message) for message in reader.messages([topic], first_ns, last_ns))
        nearest = _nearest(((stamp_of(message), message) for message in messages), window)
        if nearest is not None:
            return nearest[1]
    return None


def _log_times(reader: TrialReader, window: Window) -> tuple[tuple[int, int], ...]:
    """Return the ranges of log times in which to look, the likely one first."""
    near = (max(0, window.stamp_ns - _EARLY_NS), window.stamp_ns + _LATE_NS)
    return near, (reader.start_ns, reader.end_ns + 1)


def _nearest(found: Iterator[tuple[int, _ItemT]], window: Window) -> tuple[int, _ItemT] | None:
    best: tuple[int, _ItemT] | None = None
    best_ns = _NEAR_NS + 1
    for stamp_ns, item in found:
        distance = window.distance_ns(stamp_ns)
        if distance is not None and distance < best_ns:
            best, best_ns = (stamp_ns, item), distance
        if best_ns == 0:
            break
    return best


def _place(pose: Any) -> NDArray[np.float64] | None:
    """Return the camera's pose, or None where the quaternion is all zero: a place that was never set."""
    try:
        return matrix_from_pose(pose.pose)
    except ValueError:
        return None
