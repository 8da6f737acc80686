"""The raw frames of all cameras at one moment of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.trial_reading import stamp_ns as stamp_of
from embodied_iqa.imaging.images.frame import Intrinsics, View, ordered_views, view_of_topic
from embodied_iqa.imaging.images.image_cdr import IMAGE_TYPE
from embodied_iqa.imaging.images.message_geometry import intrinsics_from_info, matrix_from_pose

T = TypeVar("T")

_NEAR_NS: Final = 100 * MILLISECOND_NS
"""Cameras without a common trigger differ by up to a period: the nearest frame within 0.1 s is shown."""
_EARLY_NS: Final = 200 * MILLISECOND_NS
_LATE_NS: Final = SECOND_NS
"""Messages are usually logged this close to their stamp; the whole recording is searched only after that."""


@dataclass(frozen=True, slots=True)
class Window:
    """A moment of a run, ROS time.

    Attributes:
        stamp_ns: The moment.
        start_ns: First stamp of the run; earlier messages belong to another run.
        end_ns: Last stamp of the run.
    """

    stamp_ns: int
    start_ns: int
    end_ns: int

    def distance_ns(self, stamp_ns: int) -> int | None:
        """Return the distance of a stamp from the moment; None if too far away or in another run."""
        distance = abs(stamp_ns - self.stamp_ns)
        inside = self.start_ns <= stamp_ns <= self.end_ns
        return distance if inside and distance <= _NEAR_NS else None


@dataclass(frozen=True, slots=True, eq=False)
class RecordedFrame:
    """A raw image with its camera model and pose, as far as recorded.

    Attributes:
        view: The camera.
        stamp_ns: Of the image.
        rgb: ``(H, W, 3)`` uint8, red first.
        intrinsics: None without camera info of a calibrated camera.
        T_base_camera: ``(4, 4)`` float64 (m), or None without a sound pose.
    """

    view: View
    stamp_ns: int
    rgb: NDArray[np.uint8]
    intrinsics: Intrinsics | None
    T_base_camera: NDArray[np.float64] | None


def frames_at(reader: TrialReader, window: Window) -> dict[View, RecordedFrame]:
    """Return the frames nearest to a moment, in the order of `ordered_views`; views without one are left out.

    Raises:
        RecordingReadError: The recording is damaged.
    """
    frames: dict[View, RecordedFrame] = {}
    for view in ordered_views(filter(None, map(view_of_topic, reader.topics))):
        image = _image(reader, f"/camera/{view}/image_raw", window)
        if image is None:
            continue
        taken_ns, rgb = image
        at = Window(taken_ns, window.start_ns, window.end_ns)
        info = _message(reader, f"/camera/{view}/camera_info", at)
        pose = _message(reader, f"/camera/{view}/pose", at)
        frames[view] = RecordedFrame(
            view,
            taken_ns,
            rgb,
            None if info is None else _sound(partial(intrinsics_from_info, info)),
            None if pose is None else _sound(partial(matrix_from_pose, pose.pose)),
        )
    return frames


def _image(reader: TrialReader, topic: str, window: Window) -> tuple[int, NDArray[np.uint8]] | None:
    if topic not in reader.topics or reader.topics[topic].type_name != IMAGE_TYPE:
        return None

    def stamped(first_ns: int, last_ns: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        for item in reader.images([topic], first_ns, last_ns):
            yield item.image.stamp_ns, item.image.rgb

    return _search(reader, window, stamped)


def _message(reader: TrialReader, topic: str, window: Window) -> Any | None:
    if topic not in reader.topics:
        return None

    def stamped(first_ns: int, last_ns: int) -> Iterator[tuple[int, Any]]:
        for message in reader.messages([topic], first_ns, last_ns):
            decoded = reader.decode(message)
            yield stamp_of(decoded), decoded

    found = _search(reader, window, stamped)
    return None if found is None else found[1]


def _search(
    reader: TrialReader, window: Window, stamped: Callable[[int, int], Iterator[tuple[int, T]]]
) -> tuple[int, T] | None:
    """Return the item nearest to the window's moment; search the likely log times first."""
    near = (max(0, window.stamp_ns - _EARLY_NS), window.stamp_ns + _LATE_NS)
    for first_ns, last_ns in (near, (reader.start_ns, reader.end_ns + 1)):
        nearest = _nearest(stamped(first_ns, last_ns), window)
        if nearest is not None:
            return nearest
    return None


def _nearest(stamped: Iterator[tuple[int, T]], window: Window) -> tuple[int, T] | None:
    best: tuple[int, T] | None = None
    best_ns = _NEAR_NS + 1
    for stamp_ns, item in stamped:
        distance = window.distance_ns(stamp_ns)
        if distance is not None and distance < best_ns:
            best, best_ns = (stamp_ns, item), distance
        if best_ns == 0:
            break
    return best


def _sound(read: Callable[[], T]) -> T | None:
    """Return what a message says; None where its numbers are not a valid pose or camera."""
    try:
        return read()
    except InputError:
        return None
