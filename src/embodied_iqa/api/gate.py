"""The quality gate in the Python interface."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.robot.lease_watch import LeaseWatch, Moment
from embodied_iqa.arm.robot.leases import Permission
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import DAY_NS
from embodied_iqa.imaging.images.frame import View, parse_view
from embodied_iqa.models.subjects.alternative_names import policies_in
from embodied_iqa.quality.gate.calibration_file import (
    SHIPPED_CALIBRATION,
    GateFile,
    load_gate_file,
    shared_gate_file,
)
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality
from embodied_iqa.quality.gate.judgement import JudgeChoice, parse_judge
from embodied_iqa.quality.gate.judges import make_judge, unfitted, unfitted_in_words
from embodied_iqa.quality.gate.second_stage import GateDecision

Image = NDArray[np.uint8]
SIMULATED: Final = "simulated"
"""Names the calibration of the simulated cell."""
_SIMULATED_ONLY: Final = (
    "calibrated for the simulated cell, not for a camera of your own (embodied-iqa gate calibrate)"
)
_NONE_GIVEN: Final = "no calibration was given, such as Gate('mine.yaml')"
_NOT_OF_NOW: Final = "the stamp is not of now: expected nanoseconds, such as time.time_ns()"


class Gate:
    """The quality gate: judges the images of one robot's cameras in the order in which they were taken.

    It keeps the newest lease of each camera: `allows` says whether the robot may move. Threads may share it.

    Args:
        calibration: File of `embodied-iqa gate calibrate` or `gate fit`; with None every image is measured
            and rejected, since nothing is known of its camera. ``"simulated"`` is that of the simulated
            cell, for its images alone: the reason of each verdict says so, also of a PASS. It says likewise
            where a fitted judge has no fit for the camera and size, and statistics judge.
        options: Rules of the gate, such as the number of bad frames that give HOLD.
        judge: ``statistics``, ``learned`` or ``metric:NAME``; empty: that of the rules.
        policy: Subject that decides on the images, whose motions the judge's second stage for it judges
            as well; empty: images alone.

    Raises:
        UsageError: An unknown judge, a policy for which it has no second stage, or options that are none.
        InputError: The file cannot be read, is from another version, or has no fit of this judge.
    """

    def __init__(
        self,
        calibration: Path | str | None = None,
        options: GateOptions | None = None,
        judge: str = "",
        policy: str = "",
    ) -> None:
        options = GateOptions() if options is None else options
        if not isinstance(options, GateOptions):
            raise UsageError("wrong options", expected="GateOptions(lease=...)", got=type(options).__name__)
        if judge:
            options = replace(options, kind=parse_judge(judge))
        note = ""
        if calibration is None:
            file, note = GateFile(Path(), ()), _NONE_GIVEN
        elif calibration == SIMULATED:
            file, note = shared_gate_file(SHIPPED_CALIBRATION), _SIMULATED_ONLY
        else:
            file = load_gate_file(Path(calibration))
        _check_policy(policy, options.kind, file)
        self._note = note
        self._gatekeeper = Gatekeeper(make_judge(options.kind, file, policy), options)
        self._kind = options.kind
        self._unfitted = unfitted(options.kind, file, {one.view for one in file.cameras})
        self._views = [str(one) for one in dict.fromkeys(one.view for one in file.cameras)]
        self._motions = 0
        self._leases = LeaseWatch(options.lease)
        self._not_of_now: dict[View, bool] = {}
        self._lock = threading.Lock()

    def judge(self, image: Image, view: str | None = None, stamp_ns: int | None = None) -> ImageQuality:
        """Return verdict, reason and statistics of the next image of a camera, and keep its lease.

        `frame_verdict` is the verdict on this image alone; `verdict` includes the frames before it.

        Args:
            image: ``(H, W, 3)`` uint8 RGB.
            view: Name of the camera, as in the gate's file; None for the only one there.
            stamp_ns: Time at which the image was taken, in nanoseconds; None for now.

        Raises:
            UsageError: The file has several cameras and ``view`` names none.
        """
        name = self._named(view)
        return self.judge_views({name: image}, stamp_ns)[name]

    def judge_views(
        self, images: Mapping[str, Image], stamp_ns: int | None = None
    ) -> dict[str, ImageQuality]:
        """Return what `judge` does of images of several cameras that were taken at the same time.

        No thread sees the leases of some of them without those of the others.

        Args:
            images: By camera, see `judge`.
            stamp_ns: See `judge`.

        Raises:
            UsageError: The images have no names, or the stamp is not an integer.
        """
        if not isinstance(images, Mapping):
            expected = "a mapping from cameras to images, such as {'top': image}"
            raise UsageError("wrong images", expected=expected, got=type(images).__name__)
        if stamp_ns is not None and not isinstance(stamp_ns, int | np.integer):
            raise UsageError("a stamp is a whole number", expected="nanoseconds", got=stamp_ns)
        judged_ns = time.time_ns()
        taken_ns = judged_ns if stamp_ns is None else stamp_ns
        named = {name: (parse_view(name), image) for name, image in images.items()}
        now, found = Moment(taken_ns, taken_ns), {}
        with self._lock:
            leases = self._leases
            for name, (view, image) in named.items():
                quality, lease = self._gatekeeper.judge(view, taken_ns, image, taken_ns)
                notes = self._note, self._why_statistics(quality)
                found[name] = replace(quality, reason=_noted(quality.reason, *notes))
                if lease.verdict is not Verdict.PASS:
                    lease = replace(lease, reason=_noted(lease.reason, *notes))
                leases = leases.with_lease(lease, now)
            self._leases = leases
            is_off = abs(judged_ns - taken_ns) > DAY_NS
            self._not_of_now |= {view: is_off for view, _ in named.values()}
        return found

    def _why_statistics(self, quality: ImageQuality) -> str:
        """Return that statistics judged in place of the judge that was chosen; empty where it judged."""
        measured = quality.statistics
        if measured is None:
            return ""
        camera = f"{quality.view} {measured.width_px}x{measured.height_px}"
        return unfitted_in_words(self._kind, [camera]) if camera in self._unfitted else ""

    def judge_motion(self, seen: float | None, stamp_ns: int, view: str | None = None) -> GateLease | None:
        """Return the verdict of the second stage on a motion that the policy decided on.

        `judged` is the verdict and `reason` says why the motion does not pass; `verdict` is PASS in the modes
        that let everything pass. Move only if the image passed, too; `allows` looks at both.

        Args:
            seen: Probability in [0, 1] that the image shows the target, by the policy; None where it
                reports none.
            stamp_ns: Time stamp of the image, `stamp_ns` of its quality.
            view: Camera of the image, see `judge`.

        Returns:
            None where the judge has no second stage for this policy and camera, or the image did not pass or
            was not among the newest that were judged.
        """
        camera = parse_view(self._named(view))
        with self._lock:
            self._motions += 1
            decision = GateDecision(camera, stamp_ns, self._motions, seen)
            lease = self._gatekeeper.judge_decision(decision, stamp_ns)
            if lease is not None:
                self._leases = self._leases.with_lease(lease, Moment(stamp_ns, stamp_ns))
        return lease

    def lease(self, view: str | None = None) -> GateLease | None:
        """Return the lease of the newest image of a camera, see `judge`; None before its first image.

        `verdict` binds the robot until `expires_ns`, and `judged` is the verdict in any mode.
        """
        return self._leases.newest(parse_view(self._named(view)))

    def permission(self, now_ns: int | None = None, views: Iterable[str] | None = None) -> Permission:
        """Return whether the robot may move: `verdict`, `reason`, and `expires_ns`, the end of a PASS.

        PASS needs a lease of the newest image of every camera that has not run out. Where the judge has a
        second stage, the newest motion on that image has to pass, too.

        Args:
            now_ns: Time of the motion, by the clock of the stamps; None for now.
            views: Cameras that have to pass. Without any, those that were judged so far: name them where a
                camera may be missing from the start.

        Raises:
            UsageError: ``views`` is one text, or has a name that no camera can have.
        """
        if isinstance(views, str):
            raise UsageError("views is a list of names", got=views)
        at_ns = time.time_ns() if now_ns is None else now_ns
        wanted, leases = [parse_view(view) for view in views or ()], self._leases
        found = leases.permission(wanted or leases.views, Moment(at_ns, at_ns))
        if now_ns is not None or found.verdict is not Verdict.HOLD:
            return found
        is_off = any(self._not_of_now.get(view, False) for view in wanted or leases.views)
        return replace(found, reason=_noted(found.reason, _NOT_OF_NOW)) if is_off else found

    def allows(self, now_ns: int | None = None, views: Iterable[str] | None = None) -> bool:
        """Return whether the robot may move; `permission` says why not and until when."""
        return self.permission(now_ns, views).verdict is Verdict.PASS

    def _named(self, view: str | None) -> str:
        """Return a camera's name, or that of the only one; without any, all images are rejected alike."""
        if view is not None:
            return view
        if len(self._views) > 1:
            raise UsageError("the gate has several cameras", expected="a view", available=self._views)
        return self._views[0] if self._views else str(View.TOP)


def _noted(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _check_policy(policy: str, choice: JudgeChoice, file: GateFile) -> None:
    """Refuse a policy whose motions nobody would judge."""
    staged = [fit.policy for fit in file.fitted if fit.choice == choice and fit.second is not None]
    if policy and not set(policies_in(policy)) & set(staged):
        expected = "one whose motions are judged, or none to judge images alone"
        raise UsageError(
            f"the judge {choice} has no second stage for this policy",
            expected=expected,
            got=policy,
            available=list(dict.fromkeys(staged)),
        )
