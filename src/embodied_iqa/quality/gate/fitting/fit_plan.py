"""Plan of a fit: camera, policy, judge and promise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.fitted import LossKind
from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind
from embodied_iqa.quality.gate.risk_control import Promise

_RECIPE: Final = "embodied-nr"


@dataclass(frozen=True, slots=True)
class FitPlan:
    """What a fit shall find.

    Attributes:
        view: The camera.
        policy: Name of the VLA in the database.
        promise: Risk, and with which confidence.
        judge: Learned, or a metric.
        loss: The loss that is bounded.
        features: Subject whose features the networks see beside the statistics; empty for none.
        seed: Of the split and of the networks.
        workers: Processes that measure images.
        command: By which the fit was started; empty from Python.
    """

    view: View
    policy: str
    promise: Promise
    judge: JudgeChoice = field(default_factory=lambda: JudgeChoice(JudgeKind.LEARNED))
    loss: LossKind = LossKind.DECISION
    features: str = ""
    seed: int = 0
    workers: int = 1
    command: str = ""

    @property
    def recipe(self) -> str:
        """Name of the recipe of the networks."""
        return f"{_RECIPE}:{self.features}" if self.features else _RECIPE
