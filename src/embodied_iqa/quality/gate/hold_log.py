"""Lines of the log about the holds of a camera: one when a hold begins, one when it ends."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.images.frame import View

_APART_NS: Final = SECOND_NS
"""Shortest time from the line of a hold to that of the next one."""


class HoldLog:
    """Holds of one camera. A camera that stops and starts fills no log: it gets one pair of lines a second.

    A hold that begins too soon after the line of another one gets its line if it lasts until that is due.

    Args:
        view: The camera.
        begun_ns: Now, on any clock that never goes back; that of all times here.
        began: Receives the line of a hold that begins.
        ended: Receives the line of one that ends.
    """

    def __init__(
        self, view: View, begun_ns: int, began: Callable[[str], object], ended: Callable[[str], object]
    ) -> None:
        self._view, self._began, self._ended = view, began, ended
        self._seen_ns = begun_ns
        self._since_ns: int | None = None
        self._said_ns: float = -math.inf
        self._is_said = False
        self._left_out = 0

    def judged(
        self, now_ns: int, verdict: Verdict, reason: str, mode: GateMode, pause_ns: float = math.inf
    ) -> None:
        """Note a judged image.

        Args:
            now_ns: Now.
            verdict: On the image; the mode does not count.
            reason: Of the verdict.
            mode: Of the gate; only in ON does the robot stop.
            pause_ns: Longer ones without an image are a hold; by default none is.
        """
        pause = now_ns - self._seen_ns > pause_ns and self._since_ns is None
        if pause:
            self._since_ns = self._seen_ns
        self._seen_ns = now_ns
        if verdict is Verdict.PASS:
            self._passed(now_ns, pause=pause)
            return
        if self._since_ns is None:
            self._since_ns = now_ns
        if not self._is_said and self._is_due(now_ns):
            self._is_said, self._said_ns = True, now_ns
            what = "a hold begins" if mode is GateMode.ON else f"a hold would begin (mode {mode})"
            self._began(f"{self._view}: {what}, {verdict.name}: {reason}{self._others()}")

    def silent(self, now_ns: int) -> None:
        """Note that no image comes, which the camera has reported: the hold began with its last image."""
        if self._since_ns is None:
            self._since_ns = self._seen_ns
        if not self._is_said:
            self._is_said, self._said_ns = True, now_ns

    def _passed(self, now_ns: int, *, pause: bool) -> None:
        if self._since_ns is None:
            return
        took_s = (now_ns - self._since_ns) / SECOND_NS
        if self._is_said:
            self._ended(f"{self._view}: the hold ends after {took_s:.2f} s")
        elif pause and self._is_due(now_ns):
            self._said_ns = now_ns
            self._ended(
                f"{self._view}: a hold of {took_s:.2f} s ends, in which no image was judged{self._others()}"
            )
        else:
            self._left_out += 1
        self._since_ns, self._is_said = None, False

    def _is_due(self, now_ns: int) -> bool:
        return now_ns - self._said_ns >= _APART_NS

    def _others(self) -> str:
        """Return how many holds got no line since the last one that did, in words."""
        count, self._left_out = self._left_out, 0
        return f" ({count} shorter {'hold' if count == 1 else 'holds'} before it)" if count else ""
