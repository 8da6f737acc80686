"""Emulated controllers: software versions and rates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from embodied_iqa.base.units import SECOND_NS


class Series(StrEnum):
    """A generation of UR controllers."""

    CB3 = "cb3"
    E = "e"


@dataclass(frozen=True, slots=True)
class Firmware:
    """Software of a controller.

    Attributes:
        version: Major, minor, bug fix and build number.
        rate_hz: Rate of the control loop and the RTDE output.
    """

    version: tuple[int, int, int, int]
    rate_hz: int

    @property
    def tick_ns(self) -> int:
        """Period of the control loop."""
        return SECOND_NS // self.rate_hz

    @property
    def version_text(self) -> str:
        """The version with dots."""
        return ".".join(str(number) for number in self.version)


FIRMWARE = {
    Series.CB3: Firmware((3, 15, 8, 106339), 125),
    Series.E: Firmware((5, 15, 0, 126346), 500),
}
"""The emulated software of each series."""
