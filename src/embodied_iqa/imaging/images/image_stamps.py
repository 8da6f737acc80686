"""Live images that are refused: whether a stamp can date a lease, and a count of each reason."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
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
            expected="a later stamp",
            got=f"{stamp_ns}, {(last_ns - stamp_ns) / SECOND_NS:.3f} s before it",
        )
    ahead_ns = stamp_ns - now_ns
    if ahead_ns > ahead_s * SECOND_NS:
        raise RefusedImageError(
            "stamp_ahead",
            "a stamp is in the future",
            expected=f"at most {ahead_s:g} s",
            got=f"{ahead_ns / SECOND_NS:.3f} s",
        )


_MOST_KINDS: Final = 20
"""Of the words of one camera that are reported when they are new: a sender may choose them."""


class RefusalCounts:
    """Counts what is wrong with the images of a camera; reports the first, the tenth and so on of a reason.

    A reason in other words, apart from numbers, is reported, too: images of depth after damaged ones.

    Args:
        view: The camera's view.
        report: Receives lines for the user.
        reasons: Those that are 0 at the start; others are counted when they come.
    """

    def __init__(self, view: str, report: Callable[[str], object], reasons: tuple[str, ...] = ()) -> None:
        self._view, self._report = view, report
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(reasons, 0)
        self._kinds: set[tuple[str, str]] = set()

    def add(self, reason: str, words: object) -> None:
        """Count a reason; report it in words where its count is a power of ten, or the words are new."""
        kind = reason, re.sub(r"\d+", "0", str(words))
        with self._lock:
            count = self._counts[reason] = self._counts.get(reason, 0) + 1
            is_new = kind not in self._kinds and len(self._kinds) < _MOST_KINDS
            if is_new:
                self._kinds.add(kind)
        if is_new or str(count).rstrip("0") == "1":
            times = f" ({count} times)" if count > 1 else ""
            self._report(f"{self._view}: {reason}: {words}{times}")

    def counts(self) -> dict[str, int]:
        """Return the counts by reason."""
        with self._lock:
            return dict(self._counts)
