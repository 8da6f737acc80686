"""Whether a policy may move a real arm."""

from __future__ import annotations

from typing import NoReturn

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import TOOL_2F140_M
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.models.subjects.actions.arms import ARMS
from embodied_iqa.models.subjects.catalogue import Backend
from embodied_iqa.models.subjects.reference import SubjectReference
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import VlaOptions
from embodied_iqa.world.protocols import SubjectInfo, close_subject


def check_real_arm(
    reference: SubjectReference, options: VlaOptions, model: ArmModel, tool_length_m: float
) -> None:
    """Refuse a VLA that must not move a real arm, before any node starts; a policy server is asked.

    vla_node checks again what it has loaded: only then is known what the user's own code declares.

    Args:
        reference: The policy.
        options: How it is reached.
        model: Model of the arm.
        tool_length_m: From its flange to the tool centre point (m).

    Raises:
        UsageError: The subject is for simulation only, or commands the joints of another arm.
        UserError: The policy server cannot be reached.
    """
    for part in reference.parts:
        check_real_arm(part, options, model, tool_length_m)
    if reference.simulation_only:
        refuse_real_arm(reference)
    if reference.backend is Backend.OPENPI:
        vla = make_vla(reference, options)
        close_subject(vla)
        check_moves(reference, vla.info, model, tool_length_m)


def check_moves(
    reference: SubjectReference, info: SubjectInfo, model: ArmModel, tool_length_m: float
) -> None:
    """Refuse a loaded VLA that must not move a real arm, see `check_real_arm`.

    A policy for the joints of a UR5 is asked with those of a UR5 whose tool is where ours is, and decoded
    with the same table. On another UR, or with another tool, these would be the joints of the wrong arm.

    Raises:
        UsageError: It must not.
    """
    if info.simulation_only:
        refuse_real_arm(reference)
    for joints_of in _arms_of(info):
        if joints_of not in {"", *ARMS}:
            raise UsageError(
                f"{reference} does not say which arm's joints it commands, if any",
                expected="joints_of in the metadata of its server (docs/policies.md)",
                got=joints_of,
            )
    check_joints(info, model, tool_length_m)


def check_joints(info: SubjectInfo, model: ArmModel, tool_length_m: float) -> None:
    """Refuse a loaded VLA that commands the joints of a UR5 on another arm or tool, real or simulated.

    Raises:
        UsageError: It must not move this arm.
    """
    fits = model is ArmModel.UR5 and tool_length_m == TOOL_2F140_M
    if ArmModel.UR5 in _arms_of(info) and not fits:
        raise UsageError(
            f"{info.name} commands the joints of a UR5 with a tool of {TOOL_2F140_M:g} m",
            expected="that arm and that tool (arm_node.model, arm_node.tool_length_m)",
            got=f"{model}, {tool_length_m:g} m",
        )


def _arms_of(info: SubjectInfo) -> tuple[str, ...]:
    """The arms whose joints a VLA and its parts command; empty words for those that command the tool."""
    return (info.joints_of, *(part.joints_of for part in info.parts))


def refuse_real_arm(reference: SubjectReference) -> NoReturn:
    """Raise the error of a simulation-only subject with a real arm."""
    raise UsageError(
        f"{reference} is for simulation only and must not move a real arm",
        expected="vla_node.subject: a policy for this arm (docs/policies.md)",
    )
