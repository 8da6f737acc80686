"""A camera of your own: a moving grey bar. Use: --camera python --camera-path own_camera:make --robot none"""

from collections.abc import Callable

import numpy as np

from embodied_iqa import Camera, Frame, Intrinsics, View

WIDTH_PX, HEIGHT_PX = 640, 480


class BarCamera:
    """One frame per call; a camera that has to wait returns None when ``deadline_s`` has passed."""

    def __init__(self, view: View, clock_ns: Callable[[], int]) -> None:
        self.view = view
        self._clock_ns = clock_ns
        self._count = 0

    def read(self, deadline_s: float) -> Frame | None:
        rgb = np.full((HEIGHT_PX, WIDTH_PX, 3), 40, np.uint8)
        left = 8 * self._count % WIDTH_PX
        rgb[:, left : left + 64] = 200
        self._count += 1
        intrinsics = Intrinsics(WIDTH_PX, HEIGHT_PX, 600.0, 600.0, WIDTH_PX / 2, HEIGHT_PX / 2)
        return Frame(self.view, self._clock_ns(), rgb, intrinsics, np.eye(4))

    def close(self) -> None:
        """Nothing to release."""


def make(view: View, clock_ns: Callable[[], int]) -> Camera:
    return BarCamera(view, clock_ns)
