"""The parameters of a run without ROS, taken from the configuration of the graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from embodied_iqa.distortions.spec import DistortionSpec
from embodied_iqa.errors import UsageError
from embodied_iqa.graph.camera_parameters import CameraParameters
from embodied_iqa.graph.parameters import (
    ArmParameters,
    GateParameters,
    GraphParameters,
    SimParameters,
    TrialParameters,
    VlaParameters,
    VlmParameters,
)
from embodied_iqa.images.frame import View
from embodied_iqa.scenes.dimensions import STEP_NS
from embodied_iqa.trial.protocol import TrialPlan

__all__ = ["HeadlessSettings", "settings_of"]

_SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class HeadlessSettings:
    """Parameters of the parts, and the latencies that live come from machine and network.

    Attributes:
        sim: Rates of the world.
        camera: Size of the pictures.
        gate: The gate.
        vla: When the VLA decides again, and how it is loaded or reached.
        arm: The arm.
        trial: Limits of a run.
        gate_latency_s: From a picture's stamp until its verdict is at the arm (s).
        decision_latency_s: From a decision's begin until it is at the arm (s).
        vlm: How the VLM is loaded or reached.
    """

    sim: SimParameters
    camera: CameraParameters
    gate: GateParameters
    vla: VlaParameters
    arm: ArmParameters
    trial: TrialParameters
    gate_latency_s: float = 0.016
    decision_latency_s: float = 0.048
    vlm: VlmParameters = field(default_factory=VlmParameters)

    def __post_init__(self) -> None:
        if abs(self.tick_ns / _SECOND_NS - self.arm.controller.dt_s) > 1e-9:
            raise UsageError(
                "world and arm tick at different rates",
                expected=f"sim_node.state_rate_hz {1 / self.arm.controller.dt_s:g}",
                got=self.sim.state_rate_hz,
            )

    @property
    def views(self) -> tuple[View, ...]:
        """The cameras that the gate judges."""
        return self.gate.views

    @property
    def tick_ns(self) -> int:
        """Period of the arm's controller: whole steps of the physics."""
        return max(STEP_NS, round(_SECOND_NS / self.sim.state_rate_hz / STEP_NS) * STEP_NS)

    @property
    def picture_period_ns(self) -> int:
        """Time between two pictures."""
        return round(_SECOND_NS / self.sim.camera_rate_hz)

    @property
    def epoch_ns(self) -> int:
        """Runs start at multiples of this."""
        return round(self.sim.epoch_s * _SECOND_NS)

    @property
    def gate_latency_ns(self) -> int:
        """See `gate_latency_s`."""
        return round(self.gate_latency_s * _SECOND_NS)

    @property
    def decision_latency_ns(self) -> int:
        """See `decision_latency_s`."""
        return round(self.decision_latency_s * _SECOND_NS)

    def plan(self, task: str, scene_seed: int, distortions: tuple[DistortionSpec, ...]) -> TrialPlan:
        """Return the plan of one task, with the limits of the configuration."""
        trial = self.trial
        return TrialPlan(
            task=task,
            scene_seed=scene_seed,
            distortions=distortions,
            run_limit_ns=round(trial.run_limit_s * _SECOND_NS),
            no_motion_limit_ns=round(trial.no_motion_limit_s * _SECOND_NS),
            settle_ns=round(trial.settle_s * _SECOND_NS),
        )


def settings_of(graph: GraphParameters) -> HeadlessSettings:
    """Take the parameters of a run from those of the graph's nodes."""
    return HeadlessSettings(
        sim=graph.sim_node,
        camera=graph.camera_node,
        gate=graph.gate_node,
        vla=graph.vla_node,
        arm=graph.arm_node,
        trial=graph.trial_node,
        vlm=graph.vlm_node,
    )
