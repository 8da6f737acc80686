"""Plan of a fit: camera, policy, judge and promise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from embodied_iqa.base.config import ranged
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.subject_options import Acts
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
        loss: What is bounded: with or without refusals, which move nothing.
        features: Networks also see the features of this subject, such as the policy itself, where it has
            any.
        seed: Of the split and the networks.
        workers: Processes that measure images.
        command: By which the fit was started; empty from Python.
        acts: When the policy acts. `fit_gate` takes it from the database.
    """

    view: View
    policy: str
    promise: Promise
    judge: JudgeChoice = field(default_factory=lambda: JudgeChoice(JudgeKind.LEARNED))
    loss: LossKind = LossKind.DECISION
    features: str = ""
    seed: int = ranged(0, 0, math.inf)
    workers: int = 1
    command: str = ""
    acts: Acts = Acts.WHEN_SEEN

    @property
    def policy_name(self) -> str:
        """What the gate calls the policy: one that never refuses is another one."""
        return self.acts.policy_of(self.policy)

    @property
    def recipe(self) -> str:
        """Name of the recipe of the networks."""
        return f"{_RECIPE}:{self.features}" if self.features else _RECIPE
