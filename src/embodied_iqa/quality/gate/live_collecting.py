"""Clean images from cameras that run: a few a second, in folders from which a gate is calibrated."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.config import check_ranges, ranged
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.lazy import INSTALL_DATA, Later
from embodied_iqa.imaging.images.codecs import silence_opencv, write_image
from embodied_iqa.imaging.images.frame import View

cv2: Any = Later("cv2", INSTALL_DATA)

_USER: Final = re.compile(r"(?<=:)//[^/]*@")
LOOK_S: Final = 0.1
"""Longest wait for an image."""


@dataclass(frozen=True, slots=True, eq=False)
class LiveImage:
    """An image as it came: camera, and ``(H, W, 3)`` uint8, red first."""

    view: View
    rgb: NDArray[np.uint8]


class LiveSource(Protocol):
    """Cameras that run."""

    @property
    def views(self) -> tuple[View, ...]:
        """The cameras."""
        ...

    def next(self, wait_s: float) -> LiveImage | None:
        """Return the next image of any camera; None where none came in this time.

        Raises:
            InputError: A camera has failed.
        """
        ...

    def why_silent(self, view: View) -> str:
        """Return why a camera may give no image; empty where that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class LivePlan:
    """How long, and how many images.

    Attributes:
        seconds: With --live: how long, from when every camera has given an image [s].
        period_s: Least time between two images of a camera: neighbours show the same [s].
        silence_s: Time without an image after which a camera counts as silent [s].
    """

    seconds: float = ranged(180.0, 1.0, 86400.0)
    period_s: float = ranged(0.2, 0.0, 60.0)
    silence_s: float = ranged(10.0, 0.1, 3600.0)

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, slots=True)
class Collected:
    """What was collected.

    Attributes:
        images: Number of each camera.
        ended: Why it ended before its time; empty where it did not.
    """

    images: Mapping[View, int]
    ended: str = ""


def without_password(device: str) -> str:
    """Return a device as it may be shown and stored: of a URL without user and password."""
    return _USER.sub("//", device)


def collect(
    source: LiveSource,
    folder: Path,
    plan: LivePlan,
    show: Callable[[float, Mapping[View, int]], None] = lambda _seconds, _images: None,
    clock: Clock = MONOTONIC,
) -> Collected:
    """Write images as ``<view>/000000.png`` until the time is over, a camera is silent, or Ctrl-C.

    Args:
        source: The cameras.
        folder: Where to.
        plan: How long.
        show: Called with the seconds since every camera gave an image, and the number of images.
        clock: Of the plan.

    Raises:
        InputError: A camera gives no image at all, or the disk is full.
        KeyboardInterrupt: Before every camera has given an image.
    """
    taking = _Taking(source, folder, plan, clock.now_s())
    try:
        while not (ended := taking.over(clock.now_s())):
            try:
                found = source.next(LOOK_S)
            except InputError as error:
                if not taking.is_begun:
                    raise
                return Collected(dict(taking.images), str(error))
            if found is not None:
                taking.take(found, clock.now_s())
            show(taking.seconds(clock.now_s()), taking.images)
    except KeyboardInterrupt:
        if not taking.is_begun:
            raise  # there is a camera without an image
        return Collected(dict(taking.images), "interrupted")
    return Collected(dict(taking.images), "" if ended == _DONE else ended)


_DONE: Final = "done"


class _Taking:
    """Where a collection stands."""

    def __init__(self, source: LiveSource, folder: Path, plan: LivePlan, now_s: float) -> None:
        self._source, self._folder, self._plan = source, folder, plan
        views = source.views
        self.images = dict.fromkeys(views, 0)
        self._seen_s = dict.fromkeys(views, now_s)
        self._due_s = dict.fromkeys(views, now_s)
        self._begun_s: float | None = None

    @property
    def is_begun(self) -> bool:
        """Whether every camera has given an image."""
        return self._begun_s is not None

    def seconds(self, now_s: float) -> float:
        """Return the time since then."""
        return 0.0 if self._begun_s is None else now_s - self._begun_s

    def take(self, frame: LiveImage, now_s: float) -> None:
        """Write an image, unless its camera gave one a moment ago."""
        view = frame.view
        self._seen_s[view] = now_s
        if now_s < self._due_s[view]:
            return
        self._due_s[view] = now_s + self._plan.period_s
        place = self._folder / view
        place.mkdir(exist_ok=True)
        write_image(place / f"{self.images[view]:06d}.png", frame.rgb)
        self.images[view] += 1
        if self._begun_s is None and all(self.images.values()):
            self._begun_s = now_s

    def over(self, now_s: float) -> str:
        """Return why it is over; empty where it is not.

        Raises:
            InputError: A camera gives no image at all.
        """
        if self._begun_s is not None and now_s - self._begun_s >= self._plan.seconds:
            return _DONE
        for view, seen_s in self._seen_s.items():
            if now_s - seen_s > self._plan.silence_s:
                why = f" ({why})" if (why := self._source.why_silent(view)) else ""
                silent = f"no image of the {view} camera for {self._plan.silence_s:g} s{why}"
                if not self.is_begun:
                    raise InputError(silent)
                return silent
        return ""


class OpenCvCameras:
    """Cameras, videos or URLs that OpenCV opens, in turn; used as a context manager.

    Args:
        devices: By camera: the number of a camera, a device such as ``/dev/video0``, or a URL.

    Raises:
        InputError: One cannot be opened.
    """

    def __init__(self, devices: Mapping[View, str]) -> None:
        silence_opencv()  # what it says of a camera that it cannot open
        self._closing = ExitStack()
        self._captures: list[tuple[View, str, Any]] = []
        for view, device in devices.items():
            capture = cv2.VideoCapture(int(device) if device.isdecimal() else device)
            self._closing.callback(capture.release)
            if not capture.isOpened():
                self._closing.close()
                raise InputError(f"cannot open the {view} camera", got=without_password(device))
            self._captures.append((view, device, capture))
        self._turn = 0

    @property
    def views(self) -> tuple[View, ...]:
        """The cameras."""
        return tuple(view for view, _, _ in self._captures)

    def next(self, wait_s: float) -> LiveImage | None:  # noqa: ARG002 - OpenCV has a limit of its own
        """Return an image of the camera whose turn it is.

        Raises:
            InputError: It gives none.
        """
        view, device, capture = self._captures[self._turn % len(self._captures)]
        self._turn += 1
        taken, image = capture.read()
        if not taken:
            raise InputError(f"the {view} camera {without_password(device)} gives no image")
        return LiveImage(view, np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB), np.uint8))

    def why_silent(self, view: View) -> str:  # noqa: ARG002 - one that gives none has failed
        """Return an empty text: nothing is known beyond that."""
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()
