"""Whether the stamp of a live image can date a lease: set, newer than the last, and not of the future."""

from __future__ import annotations

from typing import Final

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.units import SECOND_NS

AHEAD_S: Final = 0.02
"""How far a stamp may be in the future, unless somebody sets another limit [s]."""


class RefusedImageError(InputError):
    """An image is not passed on.

    Attributes:
        reason: A word to count it by, such as ``stamp_zero``.
    """

    def __init__(self, reason: str, message: str, *, expected: str | None = None, got: object = None) -> None:
        super().__init__(message, expected=expected, got=got)
        self.reason = reason


def check_stamp(stamp_ns: int, last_ns: int, now_ns: int, ahead_s: float = AHEAD_S) -> None:
    """Check the stamp of a live image.

    Args:
        stamp_ns: The stamp, ROS time.
        last_ns: That of the last image that was passed on; 0 before the first.
        now_ns: ROS time.
        ahead_s: How far the stamp may be in the future [s].

    Raises:
        RefusedImageError: The image has no stamp (``stamp_zero``), is the last one again
            (``stamp_repeated``), older (``stamp_backwards``) or of the future (``stamp_ahead``).
    """
    if stamp_ns <= 0:
        raise RefusedImageError("stamp_zero", "an image has no stamp", got=stamp_ns)
    if stamp_ns <= last_ns:
        raise RefusedImageError(
            "stamp_repeated" if stamp_ns == last_ns else "stamp_backwards",
            "an image is not newer than the last",
            expected=f"above {last_ns}",
            got=stamp_ns,
        )
    ahead_ns = stamp_ns - now_ns
    if ahead_ns > ahead_s * SECOND_NS:
        raise RefusedImageError(
            "stamp_ahead",
            "a stamp is in the future",
            expected=f"at most {ahead_s:g} s",
            got=f"{ahead_ns / SECOND_NS:.3f} s",
        )


def is_power_of_ten(count: int) -> bool:
    """Return whether the first, tenth, hundredth ... of a kind is reported."""
    return str(count).rstrip("0") == "1"
