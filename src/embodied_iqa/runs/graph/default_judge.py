"""The judge of a simulated trial whose user sets none: the learned one, where its promise applies."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.models.subjects.alternative_names import policies_in
from embodied_iqa.quality.gate.calibration_file import SHIPPED_CALIBRATION, shared_gate_file
from embodied_iqa.quality.gate.fitted import FittedGate
from embodied_iqa.quality.gate.judgement import JudgeChoice, JudgeKind
from embodied_iqa.runs.graph.camera_parameters import CameraParameters
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.world.simulation.camera import DEFAULT_MODEL


def with_default_judge(graph: GraphParameters) -> GraphParameters:
    """Return parameters that set no judge with that of `default_judge`."""
    kind, note = default_judge(graph)
    gate = graph.gate_node
    return replace(graph, gate_node=replace(gate, judge=replace(gate.judge, kind=kind), judge_note=note))


def default_judge(graph: GraphParameters) -> tuple[JudgeChoice, str]:
    """Return the judge of parameters that set none.

    A real arm and a calibration of the user's own have the statistics. The images of a simulated trial are
    judged by the learned judge that is shipped, if it was fitted to the policy, its camera and the size of
    the images; else by statistics.

    Args:
        graph: Complete but for the judge.

    Returns:
        The judge, and in one line why a simulated trial is judged by statistics; else an empty text.
    """
    statistics, gate, camera = JudgeChoice(), graph.gate_node, graph.camera_node
    if not graph.arm_node.robot.is_simulated or gate.calibration != SHIPPED_CALIBRATION:
        return statistics, ""
    vla, fits = graph.vla_node, _shipped_fits()
    policy = vla.options.policy_name(vla.subject)
    is_seen = camera.model is DEFAULT_MODEL and camera.arm_model is ArmModel.UR5
    if is_seen and any(_is_for(fit, policy, camera) for fit in fits):
        return JudgeChoice(JudgeKind.LEARNED), ""
    views = ", ".join(camera.views)
    arm = "" if camera.arm_model is ArmModel.UR5 else f", a {camera.arm_model}, not a ur5"
    return statistics, (
        f"the gate judges by statistics: the learned judge is for {' or '.join(map(_words, fits))}, "
        f"camera model {DEFAULT_MODEL}; this trial has {policy}, {views} at "
        f"{camera.width_px}x{camera.height_px}, {camera.model}{arm}"
    )


def _is_for(fit: FittedGate, policy: str, camera: CameraParameters) -> bool:
    view, *size = fit.camera
    return (
        fit.policy in policies_in(policy)
        and view in camera.views
        and size == [camera.width_px, camera.height_px]
    )


def _words(fit: FittedGate) -> str:
    return f"{fit.policy}, {fit.view} at {fit.width_px}x{fit.height_px}"


@lru_cache(maxsize=1)
def _shipped_fits() -> tuple[FittedGate, ...]:
    learned = JudgeChoice(JudgeKind.LEARNED)
    return tuple(fit for fit in shared_gate_file(SHIPPED_CALIBRATION).fitted if fit.choice == learned)
