"""Options of a headless trial: the parameters of the graph's nodes, and constant latencies."""

from __future__ import annotations

from dataclasses import dataclass

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions.spec import DistortionSpec
from embodied_iqa.runs.graph.lease_parameters import check_leases
from embodied_iqa.runs.graph.parameters import GraphParameters, check_rates
from embodied_iqa.runs.trial.protocol import TrialPlan
from embodied_iqa.world.scenes.dimensions import STEP_NS


@dataclass(frozen=True, slots=True)
class HeadlessOptions:
    """Options of a headless trial.

    Attributes:
        nodes: Parameters of the nodes whose parts it runs.
        gate_latency_s: From an image's stamp until its verdict is at the arm (s).
        decision_latency_s: From the start of a decision until it is at the arm (s).
    """

    nodes: GraphParameters
    gate_latency_s: float = 0.016
    decision_latency_s: float = 0.048

    def __post_init__(self) -> None:
        check_rates(self.nodes.sim_node, self.nodes.arm_node)
        check_leases(self.nodes)
        ttl_s = self.nodes.gate_node.judge.lease.ttl_s
        if not 0.0 <= self.gate_latency_s < ttl_s:
            raise UsageError(
                "wrong gate_latency_s: no lease would reach the arm before its end",
                expected=f"0 to less than lease.ttl_s, {ttl_s:g} s",
                got=self.gate_latency_s,
            )

    @property
    def tick_ns(self) -> int:
        """Period of the arm's controller: whole steps of the physics."""
        return max(STEP_NS, round(SECOND_NS / self.nodes.sim_node.state_rate_hz / STEP_NS) * STEP_NS)

    @property
    def image_period_ns(self) -> int:
        """Time between two images."""
        return round(SECOND_NS / self.nodes.sim_node.camera_rate_hz)

    @property
    def epoch_ns(self) -> int:
        """Runs start at multiples of this."""
        return round(self.nodes.sim_node.epoch_s * SECOND_NS)

    @property
    def gate_latency_ns(self) -> int:
        """See `gate_latency_s`."""
        return round(self.gate_latency_s * SECOND_NS)

    @property
    def decision_latency_ns(self) -> int:
        """See `decision_latency_s`."""
        return round(self.decision_latency_s * SECOND_NS)

    def plan(self, task: str, scene_seed: int, distortions: tuple[DistortionSpec, ...]) -> TrialPlan:
        """Return the plan of one task, with the limits of the configuration."""
        trial = self.nodes.trial_node
        return TrialPlan(
            task=task,
            scene_seed=scene_seed,
            distortions=distortions,
            run_limit_ns=round(trial.run_limit_s * SECOND_NS),
            no_motion_limit_ns=round(trial.no_motion_limit_s * SECOND_NS),
            settle_ns=round(trial.settle_s * SECOND_NS),
            hold_limit_ns=round(trial.hold_limit_s * SECOND_NS),
        )
