"""Every model of the family: inverse, Jacobian, singularities and collisions follow its geometry."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import (
    HOME_Q_RAD,
    UR5,
    ChoiceOptions,
    CollisionModel,
    Kinematics,
    Reach,
    World,
    choose,
    home_q_rad,
    rotation_to_rotvec,
    tool_along_z,
)
from embodied_iqa.base.kinematics.geometry import UrGeometry
from embodied_iqa.base.kinematics.models import UR_MODELS

TAU = 2 * np.pi
TOOL = tool_along_z(0.2)
every_model = pytest.mark.parametrize("geometry", UR_MODELS.values(), ids=lambda geometry: geometry.name)


def _difference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs((a - b + np.pi) % TAU - np.pi)


def _random_q(count: int) -> np.ndarray:
    return np.random.default_rng(23).uniform(-TAU, TAU, (count, 6))


@every_model
def test_inverse_contains_the_configuration_and_maps_back(geometry: UrGeometry) -> None:
    arm, q = Kinematics(TOOL, geometry), _random_q(10_000)
    T = arm.forward(q)
    result = arm.inverse_batch(T)
    assert (result.status == Reach.OK).all()
    distance = np.where(result.valid, _difference(result.q_rad, q[:, None]).max(axis=2), np.inf)
    assert distance.min(axis=1).max() < 1e-8
    back, expected = arm.forward(result.q_rad[result.valid]), np.repeat(T, result.valid.sum(axis=1), axis=0)
    assert np.abs(back[:, :3, 3] - expected[:, :3, 3]).max() < 1e-9
    turn = np.swapaxes(back[:, :3, :3], 1, 2) @ expected[:, :3, :3]
    assert np.linalg.norm(rotation_to_rotvec(turn), axis=1).max() < 1e-9


@every_model
def test_inverse_finds_what_the_peer_finds(geometry: UrGeometry) -> None:
    peer = pytest.importorskip("ur_analytic_ik", reason="publishes no wheel for Python 3.12")
    theirs_of = getattr(peer, geometry.name.lower()).inverse_kinematics
    arm = Kinematics(geometry=geometry)
    for T in arm.forward(_random_q(300)):
        mine, theirs = arm.inverse(T).q_rad, np.array(theirs_of(T)).reshape(-1, 6)
        assert len(mine) == len(theirs)
        assert _difference(mine[:, None], theirs[None]).max(axis=2).min(axis=0).max() < 1e-6


@every_model
def test_jacobian_is_the_derivative_of_forward(geometry: UrGeometry) -> None:
    arm, q, step = Kinematics(TOOL, geometry), _random_q(50), 1e-6
    J, R = arm.jacobian(q), arm.forward(q)[:, :3, :3]
    for joint in range(6):
        ahead, behind = q.copy(), q.copy()
        ahead[:, joint] += step
        behind[:, joint] -= step
        A, B = arm.forward(ahead), arm.forward(behind)
        np.testing.assert_allclose(J[:, :3, joint], (A - B)[:, :3, 3] / (2 * step), atol=1e-8)
        spin = (A - B)[:, :3, :3] @ np.swapaxes(R, 1, 2) / (2 * step)
        angular = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        np.testing.assert_allclose(J[:, 3:, joint], angular, atol=1e-8)


@every_model
def test_determinant_factors_into_the_singularities(geometry: UrGeometry) -> None:
    arm, q = Kinematics(geometry=geometry), _random_q(500)
    for row, expected in zip(q, np.abs(np.linalg.det(arm.jacobian(q))), strict=True):
        margins = arm.singularity_margins(row)
        product = np.sin(margins.elbow_rad) * np.sin(margins.wrist_rad) * margins.shoulder_m
        assert abs(geometry.a2_m * geometry.a3_m) * product == pytest.approx(expected, abs=1e-12)


@every_model
def test_home_scales_with_the_reach_and_is_free(geometry: UrGeometry) -> None:
    arm, home = Kinematics(TOOL, geometry), home_q_rad(geometry)
    scale = (geometry.a2_m + geometry.a3_m) / (UR5.a2_m + UR5.a3_m)
    expected = Kinematics(TOOL).forward(HOME_Q_RAD)
    expected[:3, 3] *= scale
    np.testing.assert_allclose(arm.forward(home), expected, atol=1e-9)
    assert CollisionModel(arm).nearest(home).clearance_m > 0.03
    assert arm.singularity_margins(home).within(0.05, 0.2) is None


def test_home_of_the_ur5_is_kept() -> None:
    assert tuple(home_q_rad(UR5)) == HOME_Q_RAD


@every_model
def test_bad_postures_are_named_after_the_models_own_lengths(geometry: UrGeometry) -> None:
    arm, home = Kinematics(TOOL, geometry), home_q_rad(geometry)
    model = CollisionModel(arm)
    folded = home.copy()
    folded[2] = 3.0
    assert model.nearest(folded).clearance_m < 0.0
    low = arm.forward(home)
    low[2, 3] = -0.01
    assert "table" in choose(arm, low, home, ChoiceOptions(obstruction=model)).reason
    stretched = np.array([0.0, -0.4, 0.0, -1.2, -1.57, 0.0])
    reach_m = -float(arm.link_frames(stretched)[6, 0, 3])
    for wall_x_m, is_free in ((-reach_m - 0.3, True), (-reach_m + 0.05, False)):
        walled = CollisionModel(arm, World(table_z_m=None, wall_x_m=wall_x_m))
        assert (walled(stretched) is None) == is_free


@every_model
def test_capsules_reach_as_far_as_the_links(geometry: UrGeometry) -> None:
    """The upper arm leads from the shoulder's axis to the elbow's, the forearm on to that of wrist 1."""
    q = np.array([0.4, -1.0, 0.8, -0.6, -1.4, 0.2])
    arm = Kinematics(TOOL, geometry)
    frames, ends = arm.link_frames(q), CollisionModel(arm)._shape[1]
    upper, forearm = (ends[part] @ frames[part_frame][:3, :3].T for part, part_frame in ((2, 2), (4, 3)))
    for ends_m, before, after in ((upper, 1, 2), (forearm, 2, 3)):
        along = frames[after][:3, 3] - frames[before][:3, 3]
        np.testing.assert_allclose(ends_m[1] - ends_m[0], along, atol=1e-12)


def test_arm_without_collision_geometry_is_refused() -> None:
    unknown = UrGeometry("UR99", 0.1, -0.4, -0.4, 0.1, 0.1, 0.1)
    with pytest.raises(UsageError, match=r"collision geometry of this arm; got 'UR99'; available: UR3, UR5"):
        CollisionModel(Kinematics(TOOL, unknown))
