"""The policy of a trial, loaded and compared with arm and cameras before it decides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import TOOL_2F140_M, Kinematics, tool_along_z
from embodied_iqa.models.subjects.actions.real_arm import check_joints, check_moves
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import Progress, silent
from embodied_iqa.runs.graph.camera_parameters import check_policy_cameras
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.world.protocols import SubjectInfo, Vla, close_subject


def load_policy(config: VlaParameters, progress: Progress = silent) -> Vla:
    """Return the policy, loaded and ready; one that cannot decide in this cell is closed again.

    Args:
        config: Which policy, and of which arm and cameras.
        progress: Takes lines that report how far loading is.

    Raises:
        UserError: It cannot be loaded or reached, or does not fit arm, cameras or horizon.
    """
    policy = make_vla(config.subject, config.options, progress)
    try:
        _check(config, policy.info)
    except UsageError:
        close_subject(policy)
        raise
    return policy


def _check(config: VlaParameters, info: SubjectInfo) -> None:
    if config.cameras:
        check_policy_cameras(config.subject, info.views, config.cameras.split(","))
    config.horizon.check_rate(info.rate_hz, info.name)
    config.horizon.check_policies(len(info.parts), info.name)
    if config.has_arm and not config.simulated:
        check_moves(config.subject, info, config.arm_model, config.tool_length_m)
    elif not config.shows_joints:
        check_joints(info, config.arm_model, config.tool_length_m)


def assumed_tool_pose(config: VlaParameters) -> NDArray[np.float64]:
    """Return ``T_base_tool`` ``(4, 4)`` (m) that a policy is shown without an arm."""
    return Kinematics(tool_along_z(TOOL_2F140_M)).forward(config.assumed_q_rad)
