"""Kinematics of UR arms: forward, inverse, Jacobian, singularities, collisions, rigid transforms.

Importing this package does not import numba: the compiled kernels are loaded at the first computation.
"""

from __future__ import annotations

from embodied_iqa.base.kinematics.arm import Kinematics
from embodied_iqa.base.kinematics.choice import ChoiceOptions, choose, home_q_rad, nearest_turns
from embodied_iqa.base.kinematics.collision import CollisionModel, World
from embodied_iqa.base.kinematics.geometry import HOME_Q_RAD, TOOL_2F140_M, UR5, tool_along_z
from embodied_iqa.base.kinematics.inverse import InverseBatch, Reach
from embodied_iqa.base.kinematics.se3 import (
    T_BASE_LINK_BASE,
    chain_increments,
    increments_between,
    invert,
    pose_to_transform,
    rotation_to_rotvec,
    rotations_along,
    rotvec_to_rotation,
    transform_to_pose,
)
from embodied_iqa.base.kinematics.singularity import Singularity

__all__ = [
    "HOME_Q_RAD",
    "TOOL_2F140_M",
    "T_BASE_LINK_BASE",
    "UR5",
    "ChoiceOptions",
    "CollisionModel",
    "InverseBatch",
    "Kinematics",
    "Reach",
    "Singularity",
    "World",
    "chain_increments",
    "choose",
    "home_q_rad",
    "increments_between",
    "invert",
    "nearest_turns",
    "pose_to_transform",
    "rotation_to_rotvec",
    "rotations_along",
    "rotvec_to_rotation",
    "tool_along_z",
    "transform_to_pose",
]
