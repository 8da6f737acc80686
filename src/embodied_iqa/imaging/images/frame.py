"""Frames, views and the camera protocol."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol, Self, TypeGuard

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError, UsageError

VIEW_NAMES: Final = "a letter and up to 31 more letters, digits and single underscores"
_VIEW_NAME: Final = re.compile(r"(?!.*__)[A-Za-z][A-Za-z0-9_]{0,31}")
_IMAGE_TOPIC: Final = re.compile(r"(?P<namespace>(/\w+)*)/camera/(?P<view>[^/]+)/image_raw", re.ASCII)
_REALSENSE_STREAM: Final = "color"
_CALIBRATED: Final = "a calibrated camera"


class UnknownCameraError(InputError):
    """A calculation needs the pose or the intrinsics of a camera, which are not known."""


def is_view(name: object) -> TypeGuard[str]:
    """Return whether this is the name of a view."""
    return isinstance(name, str) and _VIEW_NAME.fullmatch(name) is not None


class View(str):
    """Name of a camera's viewpoint, a part of topics, parameters and file names.

    A simulated cell has `WRIST` (first person), `TOP` and `SIDE` (third person); a real one has the
    names that its user chooses: 1 to 32 ASCII letters, digits and single underscores, the first one a letter.

    Raises:
        ValueError: Another name; `parse_view` reports what a user typed.
    """

    __slots__ = ()

    WRIST: ClassVar[View]
    TOP: ClassVar[View]
    SIDE: ClassVar[View]

    def __new__(cls, name: str) -> Self:
        """Return the view with this name."""
        if not is_view(name):
            raise ValueError(f"not the name of a view: {name!r}, expected {VIEW_NAMES}")
        return super().__new__(cls, name)

    def __repr__(self) -> str:
        # stored fingerprints of task files hash this text, from the time when the views were an enumeration
        return f"<View.{self.upper()}: {str(self)!r}>"

    @property
    def first_person(self) -> bool:
        """Whether its name says that the camera is on a wrist: ``wrist``, ``left_wrist``."""
        return "wrist" in self.lower()


View.WRIST, View.TOP, View.SIDE = View("wrist"), View("top"), View("side")
_FIRST: Final = (View.WRIST, View.TOP, View.SIDE)


def parse_view(word: str, available: Collection[View] | None = None) -> View:
    """Return the view with this name.

    Args:
        word: The name.
        available: The views that there are; None for any.

    Raises:
        UsageError: Not a name, or no view that there is.
    """
    if available is not None and word not in available:
        raise UsageError("unknown camera view", got=word, available=available)
    if not is_view(word):
        raise UsageError("not the name of a camera view", expected=VIEW_NAMES, got=word)
    return View(word)


def ordered_views(views: Iterable[View]) -> tuple[View, ...]:
    """Return views once each: wrist, top and side first, then the others by name."""
    found = set(views)
    return (*(view for view in _FIRST if view in found), *sorted(found.difference(_FIRST)))


def view_of_topic(topic: str, *, in_any_namespace: bool = False) -> View | None:
    """Return the camera of a topic ``/camera/<view>/image_raw``, None for other topics.

    Args:
        topic: The name.
        in_any_namespace: ``/cell1/camera/<view>/image_raw`` counts too: `ros2 bag` records it so. ``color``
            in a namespace is a stream of realsense-ros, which names no camera.
    """
    match = _IMAGE_TOPIC.fullmatch(topic)
    if match is None or not is_view(match["view"]):
        return None
    if match["namespace"] and (not in_any_namespace or match["view"] == _REALSENSE_STREAM):
        return None
    return View(match["view"])


def topic_of_view(view: View, topics: Iterable[str]) -> str:
    """Return the topic of a camera's images among those of a recording.

    Args:
        view: The camera.
        topics: The names in the recording; ``image_raw/compressed`` counts as ``image_raw``.

    Returns:
        ``/camera/<view>/image_raw``, or where it is not there the one that ends so, in a namespace.

    Raises:
        InputError: Several namespaces have this camera.
    """
    usual, names = f"/camera/{view}/image_raw", {topic.removesuffix("/compressed") for topic in topics}
    found = sorted(name for name in names if view_of_topic(name, in_any_namespace=True) == view)
    if usual in found or not found:
        return usual
    if len(found) > 1:
        raise InputError(f"several cameras {view}", expected="one, or the name of a topic", got=found)
    return found[0]


@dataclass(frozen=True, slots=True)
class Intrinsics:
    """A pinhole camera without lens distortion, in pixels.

    A point ``(x, y, z)`` in the camera's optical frame (x right, y down, z forward, m) appears at
    ``u = fx x / z + cx``, ``v = fy y / z + cy``; pixel centres have integer coordinates.
    """

    width_px: int
    height_px: int
    fx_px: float
    fy_px: float
    cx_px: float
    cy_px: float


@dataclass(frozen=True, slots=True)
class LensCalibration:
    """Size, distortion and matrices of a camera; the fields of CameraInfo in its terms.

    Attributes:
        width_px: Width of the images.
        height_px: Height of the images.
        model: Distortion model, such as ``plumb_bob``.
        d: Coefficients of the model.
        k: Intrinsic matrix of the distorted image, 3x3 row by row [px].
        r: Rotation from the camera's frame to that of the rectified image, 3x3 row by row.
        p: Projection of the rectified image, 3x4 row by row [px].
    """

    width_px: int
    height_px: int
    model: str
    d: tuple[float, ...]
    k: tuple[float, ...]
    r: tuple[float, ...]
    p: tuple[float, ...]

    @property
    def pinhole(self) -> Intrinsics:
        """The camera without its distortion."""
        return Intrinsics(self.width_px, self.height_px, self.k[0], self.k[4], self.k[2], self.k[5])


def pinhole_lens(
    pinhole: Intrinsics, model: str = "plumb_bob", d: tuple[float, ...] = (0.0,) * 5
) -> LensCalibration:
    """Return the calibration of a single camera, whose rectified images would have the same pinhole."""
    fx, fy, cx, cy = pinhole.fx_px, pinhole.fy_px, pinhole.cx_px, pinhole.cy_px
    return LensCalibration(
        pinhole.width_px,
        pinhole.height_px,
        model,
        d,
        k=(fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0),
        r=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        p=(fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """An image with its stamp, intrinsics and camera pose.

    Attributes:
        view: The camera.
        stamp_ns: Time of the image, ROS time in nanoseconds.
        rgb: ``(H, W, 3)`` uint8 RGB, C-contiguous. Treat as read-only.
        intrinsics: The camera's pinhole model; None where it is not known.
        T_base_camera: ``(4, 4)`` float64, pose of the camera's optical frame in the base frame (m); None
            where it is not known.
        lens: The whole calibration, as camera_node publishes it; None where there is only the pinhole model.
    """

    view: View
    stamp_ns: int
    rgb: NDArray[np.uint8]
    intrinsics: Intrinsics | None
    T_base_camera: NDArray[np.float64] | None
    lens: LensCalibration | None = None

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the image."""
        height_px, width_px = self.rgb.shape[:2]
        return width_px, height_px

    def needed_intrinsics(self) -> Intrinsics:
        """Return the pinhole model for a calculation that cannot do without.

        Raises:
            UnknownCameraError: It is not known.
        """
        if self.intrinsics is None:
            raise UnknownCameraError(
                f"the intrinsics of the {self.view} camera are not known", expected=_CALIBRATED
            )
        return self.intrinsics

    def needed_pose(self) -> NDArray[np.float64]:
        """Return ``T_base_camera`` for a calculation that cannot do without.

        Raises:
            UnknownCameraError: It is not known.
        """
        if self.T_base_camera is None:
            raise UnknownCameraError(f"the pose of the {self.view} camera is not known", expected=_CALIBRATED)
        return self.T_base_camera


def image_frame(rgb: NDArray[np.uint8], view: View) -> Frame:
    """Return an image as a frame of a camera whose calibration is not known, with stamp 0."""
    return Frame(view, 0, rgb, None, None)


class Camera(Protocol):
    """A source of frames: simulated, files, a recording, a RealSense."""

    @property
    def view(self) -> View:
        """The camera's view."""
        ...

    def read(self, deadline_s: float) -> Frame | None:
        """Return the next frame, or None if none came within ``deadline_s`` seconds of wall time.

        Raises:
            InputError: The source is broken or at its end.
        """
        ...

    def close(self) -> None:
        """Release the device or file; calling it twice is fine."""
        ...
