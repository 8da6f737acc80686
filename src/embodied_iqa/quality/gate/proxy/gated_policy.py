"""A policy behind the gate: an observation in, an answer or the reason of a hold out; no sockets, no ROS."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import GateMode, Verdict
from embodied_iqa.base.clock import MONOTONIC, Clock
from embodied_iqa.base.errors import InputError, UsageError, first_line
from embodied_iqa.base.units import MILLISECOND_NS
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.gatekeeper import Gatekeeper
from embodied_iqa.quality.gate.judge import GateOptions, ImageQuality
from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind
from embodied_iqa.quality.gate.proxy.hold_answers import (
    HeldError,
    HoldKind,
    HoldOptions,
    Released,
    held_answer,
    shape_of,
    texts_of,
)
from embodied_iqa.quality.gate.proxy.observed_images import (
    ProxyCamera,
    image_of,
    one_value,
    unjudged,
    values_of,
)
from embodied_iqa.quality.gate.second_stage import Prediction

GATE: Final = "gate"
"""Key of the gate's part of an answer and of the metadata."""

Policy: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """What is judged, and what happens on a hold.

    Attributes:
        cameras: The images of an observation.
        ignored: Keys of arrays that look like images and may pass without a judgement.
        hold: The answer to an observation that does not pass.
        always: Ask the policy about every observation; its answer is released on PASS alone all the same.
    """

    cameras: tuple[ProxyCamera, ...]
    ignored: frozenset[str] = frozenset()
    hold: HoldOptions = field(default_factory=HoldOptions)
    always: bool = False

    def __post_init__(self) -> None:
        if not self.cameras:
            raise UsageError("no image is judged", expected="--view KEY=VIEW")
        for what in ("key", "view"):
            names = [getattr(camera, what) for camera in self.cameras]
            if len(set(names)) < len(names):
                raise UsageError(f"two cameras have one {what}", got=", ".join(map(str, names)))

        if both := self.ignored & {camera.key for camera in self.cameras}:
            raise UsageError("an image is judged or ignored", got=", ".join(sorted(both)))

    @property
    def known(self) -> frozenset[str]:
        """Keys of images that do not surprise."""
        return self.ignored | {camera.key for camera in self.cameras}


def observation_rules(
    mode: GateMode = GateMode.ON, kind: JudgeChoice | None = None, recover_frames: int = 1
) -> GateOptions:
    """Return the rules of the gate for observations: each counts, however far apart they are.

    Args:
        mode: on, or shadow: reports and holds nothing.
        kind: The judge; None for the one of statistics.
        recover_frames: Good observations in a row that end a hold.
    """
    return _ObservationRules(
        mode=mode,
        kind=kind or JudgeChoice(JudgeKind.STATISTICS),
        trip_frames=1,
        window_frames=1,
        recover_frames=recover_frames,
    )


class _ObservationRules(GateOptions):
    """A client that pauses has not seen good images meanwhile: a hold stays."""

    __slots__ = ()

    @property
    def reset_gap_ns(self) -> float:
        """No gap resets a history."""
        return inf


@dataclass(frozen=True, slots=True)
class Judged:
    """Verdict on one image, or on the observation as such.

    Attributes:
        view: The camera; None for the observation.
        binding: PASS in mode shadow.
        verdict: In any mode.
        reason: Empty for PASS.
        image: ``(H, W, 3)`` uint8 RGB, as it was judged; None where there is none.
        quality: Statistics and prediction; None where the image was not judged.
    """

    view: View | None
    binding: Verdict
    verdict: Verdict
    reason: str = ""
    image: NDArray[np.uint8] | None = None
    quality: ImageQuality | None = None

    @property
    def prediction(self) -> Prediction | None:
        """Of the judge; None for one that predicts nothing."""
        return self.quality.prediction if self.quality is not None else None

    @property
    def words(self) -> str:
        """The reason with the name of the view."""
        return f"{self.view}: {self.reason}" if self.view else self.reason


@dataclass(frozen=True, slots=True)
class Answered:
    """An observation that was judged and answered, for those who look on.

    Attributes:
        judged: The verdicts.
        report: The gate's part of the answer.
        took_ms: From the observation to its answer, the time of the policy included [ms].
        client: Whose observation it is.
        failure: Why there is no answer, other than a hold; else empty.
    """

    judged: tuple[Judged, ...]
    report: Mapping[str, Any]
    took_ms: float
    client: str = ""
    failure: str = ""

    @property
    def stopped(self) -> tuple[str, ...]:
        """Cameras whose image does not pass, also in shadow; the observation as such counts as one."""
        return tuple(str(one.view or "observation") for one in self.judged if one.verdict is not Verdict.PASS)


Witness: TypeAlias = Callable[[Answered], None]
"""Gets every observation, in the thread that answers it: it returns at once and raises nothing."""


def unwatched(_answered: Answered) -> None:
    """Look away."""


class GatedPolicy:
    """Judges the observations of one client, in turn; not for several threads at once.

    Args:
        gate: The gate, of this client alone. In its mode shadow nothing is held.
        options: What is judged, and what happens on a hold.
        policy: Answers an observation.
        clock: Stamps the observations: clients send no stamps.
        witness: Looks on.
        client: Name of the client, for those who look on.
    """

    def __init__(
        self,
        gate: Gatekeeper,
        options: ProxyOptions,
        policy: Policy,
        clock: Clock = MONOTONIC,
        witness: Witness = unwatched,
        *,
        client: str = "",
    ) -> None:
        self._gate = gate
        self._options = options
        self._policy = policy
        self._clock = clock
        self._witness = witness
        self._client = client
        self._stamp_ns = 0
        self._shape: tuple[int, int] | None = None
        self._last: Released | None = None
        self._fits = False

    def respond(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """Return the policy's answer, or that of a hold, with the gate's part at `GATE`.

        Raises:
            HeldError: The gate holds, and no action is released.
            WireError: Of the policy.
        """
        began_ns = self._clock.now_ns()
        self._stamp_ns = max(began_ns, self._stamp_ns + 1)
        values, judged = self._judge(observation)
        report = self._report(judged, judging_ms=self._since_ms(began_ns))
        failure = ""
        try:
            return {**self._answer(observation, values, judged), GATE: report}
        except HeldError as error:
            report["answer"] = str(HoldKind.ERROR)
            error.report = report
            failure = first_line(error) if _passes(judged) else ""
            raise
        except BaseException as error:
            report["answer"] = None  # of the policy, which failed
            failure = first_line(error)
            raise
        finally:
            took_ms = self._since_ms(began_ns)
            self._witness(Answered(tuple(judged), report, took_ms, self._client, failure))

    def _since_ms(self, began_ns: int) -> float:
        return (self._clock.now_ns() - began_ns) / MILLISECOND_NS

    def _answer(
        self, observation: Mapping[str, Any], values: Mapping[str, list[Any]], judged: Sequence[Judged]
    ) -> dict[str, Any]:
        released, answer = _passes(judged), dict[str, Any]()
        if released or self._options.always:
            answer = self._policy(observation)
            self._shape = shape_of(answer) or self._shape
        if released:
            self._require_fit(values)
            self._last = Released(answer, self._stamp_ns, texts_of(values))
            return answer
        try:
            return held_answer(self._options.hold, values, self._shape, self._last, self._clock.now_ns())
        except InputError as error:
            raise HeldError(f"the gate holds: {_reason(judged)}; {first_line(error)}") from None

    def _require_fit(self, values: Mapping[str, list[Any]]) -> None:
        """Check once, with the first actions, that a hold could be answered: at a hold it is too late.

        Raises:
            HeldError: It could not, as the options do not fit observation and actions.
        """
        hold = self._options.hold
        if self._fits or self._shape is None or hold.kind not in {HoldKind.REPEAT, HoldKind.ZERO}:
            return
        try:
            held_answer(hold, values, self._shape, None, self._clock.now_ns())
        except InputError as error:
            raise HeldError(f"--on-hold {hold.kind} could not answer a hold: {first_line(error)}") from None
        self._fits = True

    def _judge(self, observation: Mapping[str, Any]) -> tuple[dict[str, list[Any]], list[Judged]]:
        try:
            values = values_of(observation)
        except (InputError, RecursionError) as error:
            return {}, [self._refused(None, first_line(error))]
        judged = [self._judge_camera(values, camera) for camera in self._options.cameras]
        stranger = unjudged(values, self._options.known)
        if stranger is not None:
            judged.append(self._refused(None, _why_stranger(stranger, values)))
        return values, judged

    def _judge_camera(self, values: Mapping[str, list[Any]], camera: ProxyCamera) -> Judged:
        image, problem = None, ""
        try:
            image = image_of(one_value(values, camera.key), camera)
        except InputError as error:
            problem = first_line(error)
        try:
            quality, lease = self._gate.judge(camera.view, self._stamp_ns, image, self._stamp_ns)
        except Exception as error:  # noqa: BLE001 - whatever fails in the gate must not release an action
            return self._refused(camera.view, f"the gate failed: {first_line(error)}")
        if image is None:
            return self._refused(camera.view, problem)
        return Judged(camera.view, lease.verdict, lease.judged, lease.reason, image, quality)

    def _refused(self, view: View | None, reason: str) -> Judged:
        return Judged(view, self._gate.options.obeyed(Verdict.REJECT), Verdict.REJECT, reason)

    def _report(self, judged: Sequence[Judged], *, judging_ms: float) -> dict[str, Any]:
        """Return the gate's part of an answer: plain values, as clients slice every array by rows."""
        learned = self._gate.options.kind.kind is JudgeKind.LEARNED
        losses = [one.prediction.value for one in judged if one.prediction is not None and learned]
        return {
            "verdict": max(one.verdict for one in judged).name,
            "reason": _reason(judged),
            "expected_loss": max(losses, default=None),
            "mode": str(GateMode(self._gate.options.mode)),
            "answer": "policy" if _passes(judged) else str(self._options.hold.kind),
            "judging_ms": judging_ms,
            "views": {str(one.view): _view_report(one) for one in judged if one.view is not None},
        }


def _passes(judged: Sequence[Judged]) -> bool:
    return all(one.binding is Verdict.PASS for one in judged)


def _reason(judged: Sequence[Judged]) -> str:
    return "; ".join(one.words for one in judged if one.verdict is not Verdict.PASS)


def _view_report(judged: Judged) -> dict[str, Any]:
    return {
        "verdict": judged.verdict.name,
        "reason": judged.reason,
        "value": None if judged.prediction is None else judged.prediction.value,
        "threshold": None if judged.prediction is None else judged.prediction.threshold,
    }


def _why_stranger(key: str, values: Mapping[str, list[Any]]) -> str:
    """Return why a value that nobody judges holds the query: it is an image, or could be one by its size."""
    texts = [value for value in values.get(key, ()) if isinstance(value, str)]
    if texts:
        size = max(map(len, texts))
        return f"{key} has no --view and no --ignore; its text of {size} characters could be an image"
    return f"the image {key} has no --view and no --ignore"
