"""Watches whether live images still look to the judge like the scenes of its calibration."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.alternative_names import policies_in
from embodied_iqa.quality.gate.fitted import Expected, FittedGate
from embodied_iqa.quality.gate.judge import ImageQuality
from embodied_iqa.quality.gate.judgement import JudgeChoice

_WINDOW: Final = 900
"""Newest images that count: one minute at 15 Hz."""
_FEWEST: Final = 150
"""With fewer images nothing is reported."""
_DEVIATIONS: Final = 3.0
"""Between scenes, above the mean of the calibration."""
_UNLIKE: Final = 0.02
"""Share of images that may be unlike every image of the calibration."""


@dataclass(slots=True)
class _Recent:
    """Of the newest images of a camera: predicted value, NaN for a rejected one, and whether it passed."""

    value: deque[float] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    passed: deque[bool] = field(default_factory=lambda: deque(maxlen=_WINDOW))


class DriftWatch:
    """Compares shares of holds and predictions with the calibration; one for all cameras.

    Args:
        expected: Of the cameras with a fitted judge.
        stranger: Why the judge was not fitted to the policy at hand, in words; empty if it was.
    """

    def __init__(self, expected: Mapping[View, Expected], stranger: str = "") -> None:
        self._expected = expected
        self._stranger = stranger
        self._recent = {view: _Recent() for view in expected}

    @classmethod
    def of(cls, fitted: Iterable[FittedGate], choice: JudgeChoice, policy: str = "") -> Self:
        """Return the watch of a judge; it watches nothing for one that was not fitted.

        Args:
            fitted: Content of the gate's file.
            choice: The judge.
            policy: Subject that decides on the images; empty where it is not known.
        """
        chosen = [gate for gate in fitted if gate.choice == choice]
        others = sorted({gate.policy for gate in chosen if policy and gate.policy not in policies_in(policy)})
        stranger = f"it is for {', '.join(others)}, and the policy is {policy}" if others else ""
        return cls({gate.view: gate.expected for gate in chosen}, stranger)

    def add(self, quality: ImageQuality) -> None:
        """Count a judged image."""
        recent = self._recent.get(quality.view)
        if recent is not None:
            judgement = quality.judgement
            if judgement is not None and judgement.received is not None:  # as it came, before a repair
                judgement = judgement.received
            prediction = None if judgement is None else judgement.prediction
            recent.value.append(np.nan if prediction is None else prediction.value)
            recent.passed.append(quality.frame_verdict is Verdict.PASS and judgement is quality.judgement)

    def values(self) -> dict[str, float]:
        """Return mean prediction and share of holds of each camera, rounded."""
        found = {}
        for view, recent in self._recent.items():
            known = [value for value in recent.value if not np.isnan(value)]
            if known:
                found[f"{view} mean prediction"] = round(float(np.mean(known)), 4)
                found[f"{view} held"] = round(1 - sum(recent.passed) / len(recent.passed), 4)
        return found

    def warning(self) -> str:
        """Return why the promise of the calibration no longer holds; empty while it may."""
        words = [
            word
            for view, recent in self._recent.items()
            if len(recent.value) >= _FEWEST
            for word in _warnings(view, recent, self._expected[view])
        ]
        return "; ".join([self._stranger, *words] if self._stranger else words)


def _warnings(view: View, recent: _Recent, expected: Expected) -> list[str]:
    values = np.array(recent.value)
    unlike, held = float(np.isnan(values).mean()), 1 - sum(recent.passed) / len(recent.passed)
    words = []
    if unlike > _UNLIKE:
        words.append(f"{unlike:.0%} of the images of the {view} camera are unlike the calibration")
    known, limit = values[~np.isnan(values)], expected.prediction + _DEVIATIONS * expected.deviation
    if len(known) and known.mean() > limit:
        words.append(
            f"images of the {view} camera are predicted worse than those of the calibration: "
            f"{known.mean():.3f} on average, above {limit:.3f}"
        )
    if held > (limit := min(1.0, expected.held + _DEVIATIONS * expected.held_deviation)):
        words.append(f"{held:.0%} of the images of the {view} camera are held, above {limit:.0%}")
    return words
