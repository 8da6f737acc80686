"""The frames of a motion that nobody decides on images for: of every camera the newest one that passed."""

from __future__ import annotations

from collections.abc import Iterable

from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View


class PassedFrames:
    """Newest lease of each camera by arrival; one thread may take leases while another reads.

    Whether a goal on these frames is executed is up to the arm, as of any goal: it needs a PASS on each, and
    moves only while the newest leases of all these cameras are valid.

    Args:
        views: The cameras; a lease of another one is ignored.
    """

    def __init__(self, views: Iterable[View]) -> None:
        self._newest: dict[View, GateLease | None] = dict.fromkeys(views)

    def take(self, lease: GateLease) -> None:
        """Take a lease of a frame; one of a decision permits no other motion."""
        if lease.decision is None and lease.view in self._newest:
            self._newest[lease.view] = lease

    def expect_new(self) -> None:
        """Forget the frames that passed: those of the next goal are judged from now on."""
        for view, lease in self._newest.items():
            if lease is not None and lease.verdict is Verdict.PASS:
                self._newest[view] = None

    @property
    def frames(self) -> tuple[tuple[View, int], ...]:
        """Cameras and stamps (ns), the newest first; none before every camera's newest frame has passed."""
        known = [lease for lease in self._newest.values() if lease is not None]
        passed = [lease for lease in known if lease.verdict is Verdict.PASS]
        if len(passed) < len(self._newest):
            return ()
        ordered = sorted(passed, key=lambda lease: lease.frame_stamp_ns, reverse=True)
        return tuple((lease.view, lease.frame_stamp_ns) for lease in ordered)

    @property
    def problem(self) -> str:
        """Which cameras lack a frame that passed, and why where the gate has said so; empty for none."""
        missing = [
            f"{view} ({lease.reason})" if lease is not None and lease.reason else str(view)
            for view, lease in self._newest.items()
            if lease is None or lease.verdict is not Verdict.PASS
        ]
        return f"the gate passes no image of {', '.join(missing)}" if missing else ""
