"""Mapping of camera clocks to ROS time, strictly increasing, never in the future."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS

DRIFT_PPM: Final = 200.0
"""Two quartz clocks differ by less: crystals of cameras and computers are good to 100 ppm each."""

_SET_BACK_NS: Final = SECOND_NS


class ClockDomain(StrEnum):
    """Clock of a stamp, named as in librealsense."""

    HARDWARE = "hardware_clock"
    """The camera's own clock, from an arbitrary zero."""
    GLOBAL = "global_time"
    """The camera's clock, converted by librealsense to the computer's."""
    HOST = "system_time"
    """The computer's clock at arrival: it hides the age of the image."""


def check_domains(colour: ClockDomain, depth: ClockDomain | None, *, allow_host_stamps: bool) -> None:
    """Check the clocks of an image.

    Raises:
        InputError: Colour and depth have different clocks, or stamps of the computer are not allowed.
    """
    if depth is not None and depth is not colour:
        raise InputError("colour and depth are stamped by different clocks", expected=colour, got=depth)
    if colour is ClockDomain.HOST and not allow_host_stamps:
        raise InputError(
            "the camera does not stamp its images, the computer does (no UVC metadata in the kernel)",
            expected="hardware_clock or global_time; or set allow_host_stamps",
            got=colour,
        )


class StampMapper:
    """Maps stamps of a camera's clock to ROS time by the least delay seen so far.

    An image cannot arrive before it was taken: ``arrival = device + offset + delay`` with ``delay >= 0``.
    The smallest difference of arrival and device stamp is therefore the best estimate of the offset; jitter
    and a slow reader only increase the others. The estimate is

        ``offset_k = min(arrival_k - device_k, offset_(k-1) + drift * (arrival_k - arrival_(k-1)))``

    which follows clocks that drift apart by up to 200 ppm. Since the offset cannot rise faster, a queue of
    old images keeps its old stamps, and a check for freshness sees that they are old. The remaining error
    is the smallest delay itself, a few milliseconds by which an image looks newer than it is.

    Stamps increase strictly and are never later than their arrival, except by the nanosecond that separates
    them.
    """

    def __init__(self) -> None:
        self._offset_ns: float | None = None
        self._device_ns = 0
        self._arrival_ns = 0
        self._stamp_ns: int | None = None

    def restart(self) -> None:
        """Estimate the offset again, as after a reconnect; stamps still increase."""
        self._offset_ns = None

    def to_ros_ns(self, device_ns: int, arrival_ns: int) -> int:
        """Return the ROS time of an image.

        Args:
            device_ns: The image's stamp by the camera's clock. One before the last indicates a new clock.
            arrival_ns: ROS time of its arrival. A time far before the last means that ROS time was set
                back, as when a simulation restarts: then stamps restart too.
        """
        if self._stamp_ns is not None and arrival_ns < self._stamp_ns - _SET_BACK_NS:
            self._stamp_ns = self._offset_ns = None
        difference_ns = arrival_ns - device_ns
        if self._offset_ns is None or device_ns < self._device_ns:
            self._offset_ns = difference_ns
        else:
            passed_ns = max(0, arrival_ns - self._arrival_ns)
            self._offset_ns = min(difference_ns, self._offset_ns + passed_ns * DRIFT_PPM * 1e-6)
        self._device_ns, self._arrival_ns = device_ns, arrival_ns
        stamp_ns = device_ns + int(self._offset_ns)
        if self._stamp_ns is not None:
            stamp_ns = max(stamp_ns, self._stamp_ns + 1)
        self._stamp_ns = stamp_ns
        return stamp_ns
