"""Camera that replays the images of a recording."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.data.recording.camera_models import INFO_TYPE, TF_TYPE, unknown_intrinsics
from embodied_iqa.data.recording.errors import OneImageError, RecordingReadError, WrongPoseError
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.data.recording.recorded import RecordedImage, RecordedMessage
from embodied_iqa.data.recording.robot_states import POSE_TYPE, check_type
from embodied_iqa.data.recording.transforms import TransformTree
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View, topic_of_view
from embodied_iqa.imaging.images.image_cdr import StampedImage, stamp_from_cdr
from embodied_iqa.imaging.images.message_geometry import (
    intrinsics_from_info,
    is_finite,
    is_uncalibrated,
    is_unknown_pose,
    matrix_from_pose,
)

_BASE_FRAME: Final = "base"
_TRANSFORM_TOPICS: Final = ("/tf_static", "/tf")
_DEFAULT_PERIOD_NS: Final = 33_333_333


@dataclass(frozen=True, slots=True)
class BagCameraOptions:
    """Replay options, and defaults for what the recording lacks.

    Attributes:
        topic: Image topic, or that of the raw images where only their compressed copy was recorded; empty for
            ``/camera/<view>/image_raw``. Intrinsics are read from ``camera_info``
            and the camera's pose from ``pose`` beside it.
        intrinsics: The pinhole model, where there is no ``camera_info``.
        T_base_camera: ``(4, 4)`` pose of the camera's optical frame in the base frame (m), where there is
            neither ``pose`` nor a chain of transforms on /tf and /tf_static.
        geometry_optional: Intrinsics and poses that the recording lacks are None in the frames; otherwise
            their lack is an error. Wrong ones are errors always, and intrinsics that are not finite are
            unknown.
        loop: Start again at the end; stamps keep increasing.
        clock_ns: Clock of the frames' stamps (ns) instead of the recorded stamps.
    """

    topic: str = ""
    intrinsics: Intrinsics | None = None
    T_base_camera: NDArray[np.float64] | None = None
    geometry_optional: bool = False
    loop: bool = False
    clock_ns: Callable[[], int] | None = None


class BagCamera:
    """Implements `images.Camera` with a recording, ours or of ``ros2 bag``.

    Args:
        path: The recording.
        view: The camera's view.
        options: See there.

    Attributes:
        faults: Why intrinsics that are recorded are not used.

    Raises:
        RecordingReadError: The recording cannot be used, has no such images, or lacks intrinsics or pose.
    """

    def __init__(self, path: Path, view: View, options: BagCameraOptions | None = None) -> None:
        self._view = view
        self.faults: tuple[str, ...] = ()
        self._options = options or BagCameraOptions()
        self._reader = TrialReader(path)
        try:
            named = self._options.topic or topic_of_view(view, self._reader.topics)
            self._topic = self._reader.camera_topic(named)
            self._images = self._reader.image_messages([self._topic])
            self._ahead: deque[RecordedImage | OneImageError] = deque()
            first = self._first_image()
            self._intrinsics: Intrinsics | None = self._options.intrinsics or self._recorded_intrinsics()
            self._poses = self._recorded_poses()
            self._transforms = self._recorded_transforms()
            if not self._options.geometry_optional:
                self._pose_at(first.image)
        except BaseException:
            self._reader.close()
            raise
        self._first_ns = self._last_ns = first.image.stamp_ns
        self._shown = 0
        self._shift_ns = 0

    @property
    def view(self) -> View:
        """The camera's view."""
        return self._view

    def read(self, deadline_s: float) -> Frame | None:  # noqa: ARG002 - the interface's argument; a recording never waits
        """Return the next image as a frame.

        Args:
            deadline_s: Not used: a recording never waits.

        Raises:
            EndOfFramesError: All images were shown.
            OneImageError: This image is damaged, of another size than its camera, or its pose is invalid; the
                next call reads the next image.
            RecordingReadError: The recording is damaged.
        """
        recorded = self._ahead.popleft() if self._ahead else self._following()
        if recorded is None:
            raise EndOfFramesError(f"all images on {self._topic} were shown")
        if isinstance(recorded, OneImageError):
            raise recorded
        image = recorded.image
        self._check_size(image)
        stamp_ns = image.stamp_ns + self._shift_ns
        self._last_ns = image.stamp_ns
        self._shown += 1
        T_base_camera = self._pose_at(image)
        if self._options.clock_ns is not None:
            stamp_ns = self._options.clock_ns()
        return Frame(self._view, stamp_ns, image.rgb, self._intrinsics, T_base_camera)

    def rewind(self) -> None:
        """Continue with the first image and its recorded stamp."""
        self._images = self._reader.image_messages([self._topic])
        self._ahead.clear()
        self._shown, self._shift_ns = 0, 0

    def close(self) -> None:
        """Close the recording; may be called twice."""
        self._reader.close()

    def _first_image(self) -> RecordedImage:
        """Return the first image that is whole; it and those before it are read again."""
        for message in self._images:
            recorded = self._decoded_image(message)
            self._ahead.append(recorded)
            if not isinstance(recorded, OneImageError):
                return recorded
        if self._ahead and isinstance(self._ahead[0], OneImageError):
            raise self._ahead[0]
        raise RecordingReadError(self._reader.path, f"topic {self._topic} holds no images")

    def _decoded_image(self, message: RecordedMessage) -> RecordedImage | OneImageError:
        try:
            return self._reader.image_of(message)
        except RecordingReadError as error:
            try:
                stamp_ns = stamp_from_cdr(message.cdr)
            except InputError:
                stamp_ns = message.log_time_ns
            return OneImageError.of(error, stamp_ns)

    def _following(self) -> RecordedImage | OneImageError | None:
        message = next(self._images, None)
        if message is not None:
            return self._decoded_image(message)
        if not self._options.loop:
            return None
        span_ns = self._last_ns - self._first_ns
        self._shift_ns += span_ns + (span_ns // (self._shown - 1) if self._shown > 1 else _DEFAULT_PERIOD_NS)
        self._shown = 0
        self._images = self._reader.image_messages([self._topic])
        message = next(self._images, None)
        return None if message is None else self._decoded_image(message)

    def _beside(self, name: str) -> str:
        return f"{self._topic.removesuffix('/compressed').rpartition('/')[0]}/{name}"

    def _decoded(self, kind: str, *topics: str) -> Iterator[Any]:
        present = [topic for topic in topics if topic in self._reader.topics]
        for topic in present:
            check_type(self._reader, topic, (kind,))
        if present:
            yield from (self._reader.decode(message) for message in self._reader.messages(present))

    def _recorded_intrinsics(self) -> Intrinsics | None:
        topic = self._beside("camera_info")
        info = next(self._decoded(INFO_TYPE, topic), None)
        if self._options.geometry_optional and (info is None or is_uncalibrated(info)):
            return None
        if info is None:
            raise RecordingReadError(
                self._reader.path,
                f"has no intrinsics of camera {self._view}",
                expected=f"sensor_msgs/msg/CameraInfo on {topic}",
                available=sorted(self._reader.topics),
            )
        if self._options.geometry_optional and not is_finite(info):
            self.faults = (unknown_intrinsics(self._view, topic, info),)
            return None
        try:
            return intrinsics_from_info(info)
        except InputError as error:
            raise RecordingReadError(
                self._reader.path, f"intrinsics of camera {self._view} on {topic}: {error}"
            ) from None

    def _recorded_poses(self) -> dict[int, NDArray[np.float64] | str]:
        """Return the camera's poses by stamp; they are small compared to the images."""
        return {
            _stamp_ns(pose): _matrix_or_fault(pose.pose)
            for pose in self._decoded(POSE_TYPE, self._beside("pose"))
            if not is_unknown_pose(pose.pose)
        }

    def _recorded_transforms(self) -> TransformTree:
        tree = TransformTree()
        if self._poses:
            return tree
        for message in self._decoded(TF_TYPE, *_TRANSFORM_TOPICS):
            for entry in message.transforms:
                parent, child = entry.header.frame_id, entry.child_frame_id
                transform = entry.transform
                pose = SimpleNamespace(position=transform.translation, orientation=transform.rotation)
                tree.add(parent, child, _stamp_ns(entry), _matrix_or_fault(pose))
        return tree

    def _pose_at(self, image: StampedImage) -> NDArray[np.float64] | None:
        T = self._recorded_pose(image)
        if T is None:
            T = self._options.T_base_camera
        if T is None and not self._options.geometry_optional:
            chain = f"transforms from {_BASE_FRAME} to {image.frame_id!r} on /tf and /tf_static"
            raise RecordingReadError(
                self._reader.path,
                f"does not say where camera {self._view} was at {image.stamp_ns} ns",
                expected=f"a pose of that stamp on {self._beside('pose')}, or {chain}",
            )
        return T

    def _recorded_pose(self, image: StampedImage) -> NDArray[np.float64] | None:
        T = self._poses.get(image.stamp_ns)
        if isinstance(T, str):
            topic = self._beside("pose")
            raise WrongPoseError(
                self._reader.path, f"pose at {image.stamp_ns} ns on {topic}: {T}", image.stamp_ns
            )
        if T is not None:
            return T
        try:
            return self._transforms.lookup(_BASE_FRAME, image.frame_id, image.stamp_ns)
        except InputError as error:
            asked = f"pose {_BASE_FRAME} -> {image.frame_id} at {image.stamp_ns} ns"
            raise WrongPoseError(self._reader.path, f"{asked}: {error}", image.stamp_ns) from None

    def _check_size(self, image: StampedImage) -> None:
        if self._intrinsics is None:
            return
        height, width, _ = image.rgb.shape
        if (width, height) != (self._intrinsics.width_px, self._intrinsics.height_px):
            size = f"{self._intrinsics.width_px} x {self._intrinsics.height_px} px"
            fault = f"topic {self._topic} has an image of another size than its camera"
            error = RecordingReadError(self._reader.path, fault, expected=size, got=f"{width} x {height} px")
            raise OneImageError.of(error, image.stamp_ns)


def _matrix_or_fault(pose: Any) -> NDArray[np.float64] | str:
    """Return a pose, or what is wrong with it: only an image that needs it cannot be shown."""
    try:
        return matrix_from_pose(pose)
    except InputError as error:
        return str(error)


def _stamp_ns(message: Any) -> int:
    return int(message.header.stamp.sec) * SECOND_NS + int(message.header.stamp.nanosec)
