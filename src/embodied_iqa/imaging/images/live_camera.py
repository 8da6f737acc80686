"""Cameras that set the pace, and what they deliver: a colour image, and depth if the camera has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import Frame, View


class CameraLostError(InputError):
    """A camera has sent nothing for too long. It is read on: its next image ends that."""


@dataclass(frozen=True, slots=True, eq=False)
class RgbdFrame:
    """A colour frame with the depth of each of its pixels.

    Attributes:
        frame: The colour image.
        depth: ``(H, W)`` uint16, for each pixel of the colour image the distance along the optical axis in
            units of ``depth_unit_m``; 0 where nothing was measured. None if depth is not streamed.
        sensor_depth: The image of the depth sensor, bit for bit, through its own lens; or None.
        depth_unit_m: Length of one step of ``depth`` (m).
    """

    frame: Frame
    depth: NDArray[np.uint16] | None = None
    sensor_depth: NDArray[np.uint16] | None = None
    depth_unit_m: float = 0.0

    def depth_m(self) -> NDArray[np.float32] | None:
        """Return ``(H, W)`` float32 in m, NaN where nothing was measured."""
        if self.depth is None:
            return None
        metres = self.depth.astype(np.float32) * np.float32(self.depth_unit_m)
        metres[self.depth == 0] = np.nan
        return metres


class LiveCamera(Protocol):
    """A camera that sets the pace: a thread of its own waits for each image. Used from one thread at a time.

    A `Camera` is asked for its next image at a given rate instead.
    """

    @property
    def view(self) -> View:
        """The camera's view."""
        ...

    @property
    def remark(self) -> str:
        """What the user should know of the open camera, such as its mode and its lens."""
        ...

    def counts(self) -> Mapping[str, int]:
        """Return what went wrong since it was opened, by name, such as lost images; for /diagnostics."""
        ...

    def read_rgbd(self, deadline_s: float) -> RgbdFrame | None:
        """Return the next image, or None if none came within ``deadline_s`` seconds of wall time.

        Raises:
            EndOfFramesError: It is a recording, and all of it was shown.
            CameraLostError: It has sent nothing for too long, so far.
            UserError: The camera has failed for good.
        """
        ...

    def close(self) -> None:
        """Release the device or file; calling it twice is fine."""
        ...
