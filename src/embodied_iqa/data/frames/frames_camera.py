"""Camera that replays the images of a folder, a video or a data set; nothing is known of where it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.data.frames.cameras import cameras_of
from embodied_iqa.data.recording.errors import OneImageError
from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.stored_images import UnreadableImage


class FramesCamera:
    """Implements `images.Camera` with stored images of any origin.

    Args:
        path: The source.
        view: The camera; the only one of a source takes any name.
        topic: Its topic or key; empty for the one that names it.
        T_base_camera: ``(4, 4)`` pose of the optical frame in the base frame (m); None where it is unknown.
        loop: Start again at the end.
        clock_ns: ROS time of an image when it is read.

    Raises:
        InputError: The source cannot be read, or has no such camera or image.
    """

    def __init__(
        self,
        path: Path,
        view: View,
        topic: str,
        *,
        T_base_camera: NDArray[np.float64] | None,
        loop: bool,
        clock_ns: Callable[[], int],
    ) -> None:
        self._frames, self._view = open_frames(path), view
        cameras = cameras_of(self._frames, [view], {view: topic} if topic else None)
        self._topic = next(topic for topic, camera in cameras.items() if camera == view)
        self._T_base_camera, self._loop, self._clock_ns = T_base_camera, loop, clock_ns
        self._images = self._frames.images([self._topic])
        if not self._frames.count([self._topic]):
            raise InputError(f"{path} has no images of the {view} camera")

    @property
    def view(self) -> View:
        """The camera's view."""
        return self._view

    def read(self, deadline_s: float) -> Frame | None:  # noqa: ARG002 - stored images never wait
        """Return the next image as a frame.

        Args:
            deadline_s: Not used.

        Raises:
            EndOfFramesError: All images were shown.
            OneImageError: This image is damaged; the next call reads the next image.
            InputError: The source is damaged.
        """
        image = next(self._images, None)
        if image is None and self._loop:
            self.rewind()
            image = next(self._images, None)
        if image is None:
            raise EndOfFramesError(f"all images of the {self._view} camera in {self._frames.path} were shown")
        if isinstance(image, UnreadableImage):
            raise OneImageError(self._frames.path, f"{image.what}: {image.error}", self._clock_ns())
        try:
            rgb = image.rgb
        except InputError as error:
            raise OneImageError(self._frames.path, str(error), self._clock_ns()) from error
        return Frame(self._view, self._clock_ns(), rgb, None, self._T_base_camera)

    def rewind(self) -> None:
        """Continue with the first image."""
        self._images = self._frames.images([self._topic])

    def close(self) -> None:
        """Close the source; may be called twice."""
        self._images = iter(())
