"""What was seen of a camera in some seconds: stamps, arrivals, format and calibration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import MILLISECOND_NS, SECOND_NS
from embodied_iqa.imaging.images.frame import LensCalibration, View


@dataclass(frozen=True, eq=False)
class SeenCamera:
    """What a camera published, in the order of arrival.

    Attributes:
        view: The camera.
        source: Its topic, or its driver.
        stamps_ns: Stamp of each image, ROS time.
        arrivals_ns: When each arrived, ROS time; as many.
        lost: Images that were published between two that arrived; None where their driver was read.
        could_resend: Whether its publisher would send lost images again to a reliable subscription.
        encoding: Of the last image, such as bgr8; empty where none came.
        rgb: The last image, ``(H, W, 3)`` uint8; None where none came or none could be decoded.
        problem: Why the last image could not be decoded, or the camera not opened; empty where it could.
        lens: Its calibration; None where it is not calibrated.
        T_base_camera: ``(4, 4)``, pose of the last image (m); None where it is not known.
    """

    view: View
    source: str
    stamps_ns: tuple[int, ...] = ()
    arrivals_ns: tuple[int, ...] = ()
    lost: int | None = None
    could_resend: bool = False
    encoding: str = ""
    rgb: NDArray[np.uint8] | None = None
    problem: str = ""
    lens: LensCalibration | None = None
    T_base_camera: NDArray[np.float64] | None = None

    @cached_property
    def steps_s(self) -> NDArray[np.float64]:
        """Time from each stamp to the next; not above 0 where a clock stands still or goes back."""
        return np.array([(b - a) / SECOND_NS for a, b in pairwise(self.stamps_ns)], dtype=np.float64)

    @property
    def rate_hz(self) -> float:
        """Images per second, by their arrivals; 0 for fewer than two."""
        times = self.arrivals_ns
        span_ns = times[-1] - times[0] if times else 0
        return SECOND_NS * (len(times) - 1) / span_ns if span_ns > 0 else 0.0

    @property
    def text(self) -> str:
        """Encoding, size and rate in words, or what is wrong."""
        return self.problem or f"{self.encoding} {self.size_text} at {self.rate_hz:.1f} Hz"

    @property
    def lens_text(self) -> str:
        """Size, focal length and model of its calibration in words."""
        lens = self.lens
        if lens is None:
            return "not calibrated"
        return f"{lens.width_px}x{lens.height_px}, fx {lens.k[0]:.1f} px, {lens.model}"

    @property
    def ages_ms(self) -> NDArray[np.float64]:
        """Arrival minus stamp of each image; below 0 where the camera's clock is ahead."""
        arrivals, stamps = (np.array(row, dtype=np.int64) for row in (self.arrivals_ns, self.stamps_ns))
        return (arrivals - stamps) / MILLISECOND_NS

    @property
    def size_text(self) -> str:
        """Width and height; empty where no image could be decoded."""
        return "" if self.rgb is None else f"{self.rgb.shape[1]}x{self.rgb.shape[0]}"
