"""Whether the leases of a camera last until its next one, from stamps and ages of its images."""

from __future__ import annotations

import math
from collections import deque
from statistics import median
from typing import Final

from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View

_WINDOW: Final = 15
"""Newest periods that count."""
_FEWEST: Final = 5
"""With fewer periods nothing is known."""
_PERIODS: Final = 3
"""Periods that a lease should last: it then survives a lost image, and the way from the image to the arm."""
_FEWEST_PERIODS: Final = 2
"""Where the longest lease does not last so many, no lease fits the camera."""
_STEP_S: Final = 0.05
_JITTER: Final = 0.1
"""Of a step, which does not count when rounding up."""


class CameraPace:
    """Period of one camera: the median of its newest periods, so that single late images do not count.

    Args:
        view: The camera.
        lease: Times of its leases.
        setting: Name of the duration of a lease, as the user sets it.
    """

    def __init__(self, view: View, lease: LeaseOptions, setting: str) -> None:
        self._view, self._lease, self._setting = view, lease, setting
        self._last_ns: int | None = None
        self._periods_ns: deque[int] = deque(maxlen=_WINDOW)
        self._ages_ns: deque[int] = deque(maxlen=_WINDOW)

    def add(self, stamp_ns: int, age_ns: int = 0) -> None:
        """Note the stamp of the next image, ROS time, and the time from it to the lease."""
        self._ages_ns.append(max(age_ns, 0))
        if self._last_ns is not None:
            self._periods_ns.append(stamp_ns - self._last_ns)
        self._last_ns = stamp_ns

    @property
    def period_ns(self) -> float | None:
        """The period; None where too few images have come."""
        return median(self._periods_ns) if len(self._periods_ns) >= _FEWEST else None

    def warning(self) -> str:
        """Return that leases end before the next one, and what helps; empty where they last, or unknown."""
        period_ns = self.period_ns
        if period_ns is None or period_ns + median(self._ages_ns) <= self._lease.ttl_ns:
            return ""
        age_s = median(self._ages_ns) / SECOND_NS
        rate_hz, longest_s = SECOND_NS / period_ns, self._lease.longest_s
        rate = f"{rate_hz:.1f}" if rate_hz >= 1.0 else f"{rate_hz:.2g}"
        old = f", its images are {age_s:.2f} s old when judged," if age_s > _STEP_S else ""
        found = f"{self._view} arrives at {rate} Hz{old} and its leases last {self._lease.ttl_s:g} s"
        if longest_s < _FEWEST_PERIODS * period_ns / SECOND_NS:
            least = f"expected at least {_FEWEST_PERIODS / longest_s:.3g} Hz"
            return f"{found}: too slow for a lease, which lasts at most {longest_s:g} s; {least}"
        if age_s + period_ns / SECOND_NS > longest_s:
            return f"{found}: too old for a lease, which lasts at most {longest_s:g} s, or a clock is wrong"
        return f"{found}: set {self._setting} to {min(_lasting_s(period_ns, age_s), longest_s):g}"


def _lasting_s(period_ns: float, age_s: float) -> float:
    """Return how long a lease should last (s): some periods and the way of the image, rounded up."""
    steps = math.ceil((_PERIODS * period_ns / SECOND_NS + age_s) / _STEP_S - _JITTER)
    return max(steps, 1) * _STEP_S
