"""Automatic exposure and white balance, with their lag, as a step function of metered light.

The controls react to the scene before any distortion, as a camera does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS

FULL_SCALE_S: Final = 0.0224
"""Exposure time at which a white surface of the cell fills the pixels at gain 1 [s].

500 lux on the table (EN 12464-1, workshops), F/2.0, 3 um pixels, about 10,000 electrons per lux second, and a
full well of 6,310 electrons.
"""
_TARGET: Final = 0.214
"""Mean linear luminance that the exposure aims at: mid-grey, 128 of 255 after the sRGB curve."""
_PREFERRED_S: Final = 0.0156
"""Default exposure of the D455's colour camera: 156 x 100 us (librealsense, RS2_OPTION_EXPOSURE)."""
_LONGEST_S: Final = 0.033
"""Longest exposure that keeps 30 frames per second."""
_SHORTEST_S: Final = 1e-4
_PREFERRED_GAIN: Final = 4.0
"""Default gain: 64, where 16 is 1 (librealsense, RS2_OPTION_GAIN)."""
_LARGEST_GAIN: Final = 8.0
_SCALE_LIMITS: Final = (_SHORTEST_S / FULL_SCALE_S, _LONGEST_S * _LARGEST_GAIN / FULL_SCALE_S)
_EXPOSURE_LAG_S: Final = 0.15
"""Settings reach the images after 60 to 120 ms (RealSense support), plus the filter of the control."""
_BALANCE_LAG_S: Final = 0.5
_BALANCE_STRENGTH: Final = 0.3
"""Share of the grey-world correction that is applied."""
_BALANCE_LIMIT: Final = 0.25
_LUMA: Final = np.array([0.2126, 0.7152, 0.0722])
"""Relative luminance of linear sRGB (IEC 61966-2-1)."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """Settings of one image.

    Attributes:
        time_s: Exposure time [s].
        gain: Analogue gain, 1 or more.
        red: Correction of the red channel by the white balance, relative to green.
        blue: Correction of the blue channel.
    """

    time_s: float
    gain: float
    red: float = 1.0
    blue: float = 1.0

    @property
    def scale(self) -> float:
        """Brightness relative to the rendered image."""
        return self.gain * self.time_s / FULL_SCALE_S


@dataclass(frozen=True, slots=True)
class ExposureState:
    """State of the controls.

    Attributes:
        stamp_ns: Time of the last measurement.
        log_scale: Logarithm of the brightness relative to the rendered image.
        log_red: Logarithm of the correction of the red channel.
        log_blue: Logarithm of the correction of the blue channel.
    """

    stamp_ns: int
    log_scale: float
    log_red: float
    log_blue: float


def settled(mean_rgb: NDArray[np.float64], stamp_ns: int) -> ExposureState:
    """Return the state of controls that have seen this light for long.

    Args:
        mean_rgb: ``(3,)`` mean linear sRGB of the rendered image, in [0, 1].
        stamp_ns: Time of the image.
    """
    red, green, blue = (max(float(value), 1e-4) for value in mean_rgb)
    scale = _TARGET / max(float(mean_rgb @ _LUMA), 1e-4)
    low, high = _SCALE_LIMITS
    return ExposureState(
        stamp_ns,
        math.log(min(max(scale, low), high)),
        _limited(_BALANCE_STRENGTH * math.log(green / red)),
        _limited(_BALANCE_STRENGTH * math.log(green / blue)),
    )


def step(state: ExposureState, mean_rgb: NDArray[np.float64], stamp_ns: int) -> ExposureState:
    """Move the controls towards the measured light; arguments as in `settled`."""
    aim, elapsed_s = settled(mean_rgb, stamp_ns), (stamp_ns - state.stamp_ns) / SECOND_NS
    fast, slow = (1.0 - math.exp(-elapsed_s / lag) for lag in (_EXPOSURE_LAG_S, _BALANCE_LAG_S))
    return replace(
        aim,
        log_scale=state.log_scale + fast * (aim.log_scale - state.log_scale),
        log_red=state.log_red + slow * (aim.log_red - state.log_red),
        log_blue=state.log_blue + slow * (aim.log_blue - state.log_blue),
    )


def exposure_of(state: ExposureState) -> Exposure:
    """Share the brightness between exposure time and gain: first time, then gain, then longer times."""
    needed_s = FULL_SCALE_S * math.exp(state.log_scale)
    time_s = min(needed_s, _PREFERRED_S)
    gain = min(max(needed_s / time_s, 1.0), _PREFERRED_GAIN)
    time_s = min(max(time_s, needed_s / gain), _LONGEST_S)
    gain = min(max(needed_s / time_s, 1.0), _LARGEST_GAIN)
    return Exposure(time_s, gain, math.exp(state.log_red), math.exp(state.log_blue))


def _limited(log_gain: float) -> float:
    return min(max(log_gain, -_BALANCE_LIMIT), _BALANCE_LIMIT)
