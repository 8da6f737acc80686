"""Plays stored images in the runs of a trial, and shows one of them in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from embodied_iqa.imaging.images.file_camera import EndOfFramesError
from embodied_iqa.imaging.images.frame import Camera, Frame, View


class StoredCamera(Camera, Protocol):
    """A camera whose images are stored."""

    def rewind(self) -> None:
        """Continue with the first image."""
        ...


class RunPlayback:
    """Implements `images.Camera`: plays all images in each run, and repeats the first one before it.

    A graph needs images to become ready, and every run of a trial shows the same images. After the last
    image, that one is repeated until the run ends.

    Args:
        camera: The camera; closed with this one.
        clock_ns: ROS time in ns, the stamp of repeated images.

    Attributes:
        repeated: How many images were repetitions.
    """

    def __init__(self, camera: StoredCamera, clock_ns: Callable[[], int]) -> None:
        self._camera = camera
        self._clock_ns = clock_ns
        self._shown: Frame | None = None
        self._playing = False
        self.repeated = 0

    @property
    def view(self) -> View:
        """The camera's view."""
        return self._camera.view

    def play(self) -> None:
        """Begin a run: play from the first image."""
        self._camera.rewind()
        self._playing = True

    def rewind(self) -> None:
        """End a run: repeat the first image."""
        self._camera.rewind()
        self._shown, self._playing = None, False

    def read(self, deadline_s: float) -> Frame | None:
        """Return the next image of a run, or a repeated one with a new stamp.

        Raises:
            InputError: The camera has no image, or fails.
        """
        if self._playing or self._shown is None:
            try:
                self._shown = self._camera.read(deadline_s)
            except EndOfFramesError:
                if self._shown is None:
                    raise
                self._playing = False
            else:
                return self._shown
        self.repeated += 1
        return None if self._shown is None else replace(self._shown, stamp_ns=self._clock_ns())

    def close(self) -> None:
        """Close the camera."""
        self._camera.close()
