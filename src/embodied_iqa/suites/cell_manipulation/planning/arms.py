"""Arms of a run: the same episodes under distortions and gates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.quality.gate.judgement import ImageJudge
from embodied_iqa.quality.gate.repair import RepairOptions, judge_repaired
from embodied_iqa.suites.cell_manipulation.environment import Observation
from embodied_iqa.suites.cell_manipulation.planning.loop import Look
from embodied_iqa.suites.cell_manipulation.planning.planner_options import GateArm, PromptOptions
from embodied_iqa.suites.cell_manipulation.planning.seeing import see, with_front

_ATTEMPTS: Final = 3
_CLEAN: Final = "clean"
_REPAIR: Final = RepairOptions(enabled=True)


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm.

    Attributes:
        distortion: The distortion of all images; None for clean ones.
        gate: What happens to rejected images.
    """

    distortion: DistortionSpec | None = None
    gate: GateArm = GateArm.OFF

    @property
    def name(self) -> str:
        """Name of its folder, such as ``12-3`` or ``12-3+hold``."""
        base = _CLEAN if self.distortion is None else f"{self.distortion.id}-{self.distortion.level}"
        return base if self.gate is GateArm.OFF else f"{base}+{self.gate}"


class ArmCamera:
    """Delivers the states of one arm: distorts, judges, repairs, takes again.

    Every image of a state has noise of its own, also where a turn moved nothing and the state is the same.

    Args:
        arm: The arm.
        options: What the planner is shown.
        judge: Judges the front image; None only with the gate off.
    """

    def __init__(self, arm: Arm, options: PromptOptions, judge: ImageJudge | None) -> None:
        self._arm, self._options, self._judge = arm, options, judge
        self._distorter = FrameDistorter(arm.distortion)
        self._last: Observation | None = None
        self._taken = 0

    def __call__(self, observation: Observation) -> Look:
        """Return what the planner gets of a state."""
        reason = ""
        attempts = _ATTEMPTS if self._arm.gate is GateArm.RETAKE else 1
        if observation is not self._last:
            self._last, self._taken = observation, 0
        for attempt in range(attempts):
            sighting = see(observation, self._options, self._distorter, self._taken)
            self._taken += 1
            frame = sighting.front
            if self._judge is None or frame is None:
                return Look(sighting, attempt + 1)
            judgement = self._judge.judge(frame.view, frame.rgb)
            if self._arm.gate is GateArm.REPAIR:
                judgement = judge_repaired(self._judge, frame.view, frame.rgb, judgement, _REPAIR)
            if judgement.repaired is not None:
                sighting = with_front(sighting, observation, self._options, judgement.repaired)
            if judgement.verdict is Verdict.PASS:
                return Look(sighting, attempt + 1)
            reason = judgement.reason
        return Look(None, attempts, reason)


def arms_of(specs: Iterable[DistortionSpec], gates: Iterable[GateArm]) -> list[Arm]:
    """Return the clean arm and one for each distortion, each with every gate; nothing twice."""
    own = dict.fromkeys((GateArm.OFF, *gates))
    return [Arm(spec, gate) for spec in dict.fromkeys((None, *specs)) for gate in own]
