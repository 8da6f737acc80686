"""What `embodied-iqa gate fit` found for one camera: a threshold, its promise, and what it holds for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import SYMPTOMS, shortened
from embodied_iqa.quality.gate.image_statistics import ImageStatistics, Statistic
from embodied_iqa.quality.gate.judgement import JudgeChoice, parse_judge
from embodied_iqa.quality.gate.second_stage import SecondStage


class LossKind(StrEnum):
    """The loss that a threshold bounds; both in [0, 1] per frame, as a mean over the tasks."""

    DECISION = "decision"
    """What the decision score lacks of 1, refusals included."""
    WRONG_MOTION = "wrong-motion"
    """The same where the policy acts; a refusal moves nothing and costs nothing."""


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """Folder of a trained network.

    Attributes:
        folder: With `network.onnx` and `card.json`, relative to the gate's file.
        card_sha256: Hash of the card; the card holds the hash of the network.
    """

    folder: str
    card_sha256: str


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks of the learned judge.

    Attributes:
        loss: Predicts the loss.
        wrong_motion: Predicts the probability of a wrong motion.
    """

    loss: NetworkFile
    wrong_motion: NetworkFile


@dataclass(frozen=True, slots=True)
class Expected:
    """What the scenes of the calibration look like to the judge; live images are compared with it.

    Attributes:
        prediction: Mean predicted value over all frames.
        deviation: Standard deviation of its means over the frames of single scenes.
        held: Share of frames that are held.
        held_deviation: Standard deviation of the shares of single scenes.
    """

    prediction: float
    deviation: float
    held: float
    held_deviation: float


@dataclass(frozen=True, slots=True)
class Ordinary:
    """What is predicted at most of an image whose statistics are all ordinary for its camera.

    Nothing in such an image says that it is distorted. What a judge predicts of it beyond this is about the
    scene, which stays as it is: a hold would have no end. The risk of these images counts in the promise.

    Attributes:
        value: Median predicted value of the clean frames of training.
        wrong_motion: Median probability of a wrong motion of these; None where it is not predicted.
    """

    value: float
    wrong_motion: float | None = None

    def limited(self, value: float, wrong_motion: float | None) -> tuple[float, float | None]:
        """Return a prediction of an ordinary image."""
        if wrong_motion is not None and self.wrong_motion is not None:
            wrong_motion = min(wrong_motion, self.wrong_motion)
        return min(value, self.value), wrong_motion


@dataclass(frozen=True, slots=True)
class FittedGate:
    """A judge's threshold for one camera at one size.

    Attributes:
        judge: ``learned`` or ``metric:NAME``.
        view: The camera.
        width_px: Of its images.
        height_px: Of its images.
        policy: Subject whose loss is bounded.
        loss: Which loss, see `LossKind`.
        threshold: Images with a higher predicted value are held.
        promise: What the threshold holds, and what not, in words.
        expected: Of the scenes of the calibration.
        seen: Lowest and highest value of each statistic in training, with a margin: what is outside is unlike
            everything that the judge learned from, and is rejected.
        networks: Of the learned judge; None for a metric.
        model: Of a judge that is a trained metric, the copy of its model; None for other judges.
        ordinary: Limits what is predicted of ordinary images; None: no limit.
        second: Judges decisions of the policy, where it reports whether it sees its target; else None.
        calibration: Risk, confidence, numbers of scenes and frames, risk and share of passed frames seen.
        check: Results on held-out scenes.
        unseen: Results on the same scenes for distortions that were left out of the fit, type by type; empty
            where they are not known, as in a file of an earlier version. Not part of the promise.
        advice: What would help a threshold that holds nothing, or many clean frames; else empty.
        provenance: Where the scenes come from, and by which versions and command it was fitted.
    """

    judge: str
    view: View
    width_px: int
    height_px: int
    policy: str
    loss: LossKind
    threshold: float
    promise: str
    expected: Expected
    seen: dict[Statistic, tuple[float, float]]
    networks: Networks | None = None
    model: NetworkFile | None = None
    ordinary: Ordinary | None = None
    second: SecondStage | None = None
    calibration: dict[str, float | None] = field(default_factory=dict)
    check: dict[str, float | None] = field(default_factory=dict)
    unseen: dict[str, float | None] = field(default_factory=dict)
    advice: str = ""
    provenance: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"the {self.judge} judge of the {self.view} camera"
        if parse_judge(self.judge) == JudgeChoice():
            raise InputError("statistics need no fit", expected="learned or metric:NAME", got=self.judge)
        if not math.isfinite(self.threshold):
            raise InputError(f"{where} has no threshold", expected="a finite number", got=self.threshold)
        missing = [statistic for statistic in Statistic if statistic not in self.seen]
        if missing or any(not low <= high for low, high in self.seen.values()):
            raise InputError(f"{where} has wrong ranges of statistics", got=sorted(missing) or self.seen)

    @property
    def choice(self) -> JudgeChoice:
        """The judge by name."""
        return parse_judge(self.judge)

    @property
    def camera(self) -> tuple[View, int, int]:
        """Camera, width and height."""
        return self.view, self.width_px, self.height_px

    @property
    def unseen_in_words(self) -> str:
        """The check on distortions that the fit has not seen, in one line."""
        found, head = self.unseen, "types that training has not seen"
        if not found:
            return f"{head}: unknown (too few types or scenes, or a fit of an earlier version)"
        risk = _with_interval(found, "risk", "{:.4f}")
        harmful, wrong = (
            _with_interval(found, name, "{:.0%}") for name in ("harmful_stopped", "wrong_motions_stopped")
        )
        return (
            f"{head}: risk {risk}; stopped: {harmful} of the harmful frames, {wrong} of the wrong motions. "
            "This is not part of the promise."
        )


def _with_interval(numbers: Mapping[str, float | None], name: str, form: str) -> str:
    """Return a number with its interval in words."""
    value, low, high = (numbers.get(f"{name}{end}") for end in ("", "_low", "_high"))
    if value is None:
        return "unknown"
    interval = "" if low is None or high is None else f" ({form.format(low)} to {form.format(high)})"
    return form.format(value) + interval


def unlike(seen: Mapping[Statistic, tuple[float, float]], statistics: ImageStatistics) -> str:
    """Return in words where an image is outside of what was seen in training; empty if nowhere."""
    words = []
    for statistic, (low, high) in seen.items():
        value, digits = statistics.value(statistic), SYMPTOMS[statistic].digits
        if not low <= value <= high:  # NaN too
            name = statistic.replace("_", " ")
            words.append(f"{name} {value:.{digits}f} is outside of {low:.{digits}f} to {high:.{digits}f}")
    return shortened(words)
