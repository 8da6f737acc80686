"""A RealSense without hardware: librealsense's software device, fed with images by the caller.

Everything above USB is the real library: syncer, pipeline, alignment, recorder. For tests and benchmarks.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Intrinsics
from embodied_iqa.imaging.images.realsense.devices import load_library
from embodied_iqa.imaging.images.realsense.stamps import ClockDomain

__all__ = ["SoftwareRealSense"]

_KEPT: Final = 64
_DEPTH_UNIT_M: Final = 0.001


class SoftwareRealSense:
    """One colour and one depth sensor with the same lens at the same place.

    Args:
        serial: Serial number.
        intrinsics: Of both sensors.
        rate_hz: Nominal images per second; the caller may feed at any rate.
        distortion: Coefficients of the inverse Brown-Conrady lens model, as RealSense colour sensors use it.
    """

    def __init__(
        self,
        serial: str,
        intrinsics: Intrinsics,
        rate_hz: int = 30,
        distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0),
    ) -> None:
        self._library = library = load_library()
        self._intrinsics = intrinsics
        self._rate_hz = rate_hz
        self._distortion = list(distortion)
        self.device: Any = library.software_device()
        self.device.register_info(library.camera_info.serial_number, serial)
        self.device.register_info(library.camera_info.name, "Software RealSense")
        self._depth_sensor = self.device.add_sensor("Depth")
        self._colour_sensor = self.device.add_sensor("Color")
        self._depth_sensor.add_read_only_option(library.option.depth_units, _DEPTH_UNIT_M)
        self._depth_profile = self._stream(self._depth_sensor, library.stream.depth, 1)
        self._colour_profile = self._stream(self._colour_sensor, library.stream.color, 2)
        same_place = library.extrinsics()
        same_place.rotation = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        same_place.translation = [0.0, 0.0, 0.0]
        self._depth_profile.register_extrinsics_to(self._colour_profile, same_place)
        self._alive: deque[NDArray[Any]] = deque(maxlen=2 * _KEPT)  # the library reads them later

    def feed(
        self,
        rgb: NDArray[np.uint8],
        depth: NDArray[np.uint16] | None,
        number: int,
        device_ms: float,
        domain: ClockDomain = ClockDomain.HARDWARE,
    ) -> None:
        """Feed one image of each sensor.

        Args:
            rgb: ``(H, W, 3)`` uint8, red first.
            depth: ``(H, W)`` uint16 in mm, or None for a colour image only.
            number: The camera's count of images.
            device_ms: Their time by the clock of ``domain``.
            domain: That clock.
        """
        sensors = (
            (self._depth_sensor, self._depth_profile, depth),
            (self._colour_sensor, self._colour_profile, rgb),
        )
        for sensor, profile, pixels in sensors:
            if pixels is not None:
                frame = self._frame(profile, np.ascontiguousarray(pixels))
                frame.frame_number, frame.timestamp = number, device_ms
                frame.domain = getattr(self._library.timestamp_domain, domain.value)
                sensor.on_video_frame(frame)

    def _frame(self, profile: Any, pixels: NDArray[Any]) -> Any:
        self._alive.append(pixels)
        frame = self._library.software_video_frame()
        frame.pixels = pixels
        frame.bpp = pixels.itemsize * (pixels.shape[2] if pixels.ndim == 3 else 1)
        frame.stride = pixels.shape[1] * frame.bpp
        frame.profile = profile
        return frame

    def _stream(self, sensor: Any, kind: Any, uid: int) -> Any:
        library, lens = self._library, self._intrinsics
        colour = kind == library.stream.color
        stream = library.video_stream()
        stream.type, stream.index, stream.uid = kind, 0, uid
        stream.width, stream.height, stream.fps = lens.width_px, lens.height_px, self._rate_hz
        stream.bpp = 3 if colour else 2
        stream.fmt = library.format.rgb8 if colour else library.format.z16
        raw = library.intrinsics()
        raw.width, raw.height = lens.width_px, lens.height_px
        raw.fx, raw.fy, raw.ppx, raw.ppy = lens.fx_px, lens.fy_px, lens.cx_px, lens.cy_px
        raw.model = (
            library.distortion.inverse_brown_conrady
            if any(self._distortion) and colour
            else (library.distortion.none)
        )
        raw.coeffs = self._distortion if colour else [0.0] * 5
        stream.intrinsics = raw
        return sensor.add_video_stream(stream).as_video_stream_profile()
