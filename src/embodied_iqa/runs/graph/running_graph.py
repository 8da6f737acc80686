"""A graph that others started, with the parameters that its nodes have: whether a session may use it."""

from __future__ import annotations

from collections.abc import Mapping

from embodied_iqa.base.errors import UsageError
from embodied_iqa.runs.graph.session_plan import SessionPlan, refuse_shipped_calibration

RunningValues = Mapping[str, Mapping[str, object]]
"""Node name to parameter names and plain values."""

_KINDS = {(True, True): "a simulated arm", (True, False): "a real arm", (False, False): "no arm"}


def check_running(plan: SessionPlan, running: RunningValues) -> None:
    """Check that a running graph is the one that a session was planned for.

    The tasks and the cameras were checked for the robot of the plan, so that the graph must have the same.

    Raises:
        UsageError: It has another robot, another value of a parameter that was chosen, or lets a real arm
            move by the calibration of simulated cameras.
    """
    trial, gate = running["trial_node"], running["gate_node"]
    ours = plan.graph.trial_node
    kind = (trial.get("has_arm") is not False, trial.get("simulated") is True)
    if kind != (ours.has_arm, ours.simulated):
        raise UsageError(
            f"the running graph has {_KINDS.get(kind, 'no known arm')}, "
            f"and the parameters of this session are for {_KINDS[ours.has_arm, ours.simulated]}",
            expected="--config FILE, the one of the running graph",
        )
    values = plan.graph.values()
    for name in plan.chosen:
        node, _, parameter = name.partition(".")
        expected, got = values[node][parameter], running.get(node, {}).get(parameter)
        if got != expected:
            raise UsageError(f"the running graph has another {name}", expected=str(expected), got=got)
    if kind == (True, False):
        refuse_shipped_calibration(gate.get("judge.mode"), gate.get("calibration"))
