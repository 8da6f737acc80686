"""What a judge says of one image, and the interface of all judges."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.bounds import Fault
from embodied_iqa.quality.gate.image_statistics import ImageStatistics
from embodied_iqa.quality.gate.repairs import Repair
from embodied_iqa.quality.gate.second_stage import Prediction, SecondStage

_METRIC: Final = "metric:"


class JudgeKind(StrEnum):
    """What a verdict depends on."""

    STATISTICS = "statistics"
    """Whether the statistics of an image are unusual."""
    LEARNED = "learned"
    """What the policy is expected to lose; cameras without a fitted network are judged by statistics."""
    METRIC = "metric"
    """A quality metric without reference; cameras without a fitted threshold are judged by statistics."""


@dataclass(frozen=True, slots=True)
class JudgeChoice:
    """A judge by name.

    Attributes:
        kind: What its verdicts depend on.
        metric: Name of the metric of `JudgeKind.METRIC`; else empty.
    """

    kind: JudgeKind = JudgeKind.STATISTICS
    metric: str = ""

    def __str__(self) -> str:
        return f"{_METRIC}{self.metric}" if self.kind is JudgeKind.METRIC else str(self.kind)


def parse_judge(text: str) -> JudgeChoice:
    """Return the judge of a name: ``statistics``, ``learned`` or ``metric:NAME``.

    Raises:
        UsageError: Another name.
    """
    if text in {JudgeKind.STATISTICS, JudgeKind.LEARNED}:
        return JudgeChoice(JudgeKind(text))
    metric = text.removeprefix(_METRIC).strip()
    if not text.startswith(_METRIC) or not metric:
        raise UsageError("unknown judge", expected="statistics, learned or metric:NAME", got=text)
    return JudgeChoice(JudgeKind.METRIC, metric)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of one image, without the images before it.

    Attributes:
        verdict: Of this image alone.
        reason: What is wrong with it; empty for PASS, unless it was repaired.
        statistics: None where it cannot be measured.
        prediction: None where the judge predicts nothing.
        at_once: A HOLD closes the gate without waiting for further bad images: what is promised of a
            threshold holds for every single image.
        faults: Statistics outside of their ordinary range, for an image that does not pass.
        repairs: Repairs after which it passes, in their order; empty for the image as received.
        repaired: ``(H, W, 3)`` uint8, the repaired image, which everything above is about; else None.
        received: Judgement of the image as received, if it was repaired; else None.
        second: Judges what the policy decides on this image; None without a second stage.
        by_limit: It passes only because nothing in it is unusual, see `fitted.Ordinary`.
    """

    verdict: Verdict
    reason: str
    statistics: ImageStatistics | None = None
    prediction: Prediction | None = None
    at_once: bool = False
    faults: tuple[Fault, ...] = ()
    repairs: tuple[Repair, ...] = ()
    repaired: NDArray[np.uint8] | None = field(default=None, compare=False, repr=False)
    received: Judgement | None = None
    second: SecondStage | None = field(default=None, repr=False)
    by_limit: bool = False


class ImageJudge(Protocol):
    """Judges images one by one. Stateless: the same image gives the same judgement, live and offline."""

    def judge(self, view: View, rgb: NDArray[np.uint8] | None) -> Judgement:
        """Judge an image; one that is missing or cannot be measured is rejected.

        Args:
            view: The camera.
            rgb: ``(H, W, 3)`` uint8, red first; None where there is none.
        """
        ...
