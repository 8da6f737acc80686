"""Camera poses: what is refused and why, and the wrist camera's pose through the arm's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.hand_eye import IDENTITY, PoseHistory, checked_pose, fixed_pose, wrist_pose
from embodied_iqa.world.scenes.dimensions import T_flange_tool
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World

MS = 1_000_000


def pose_of(turn: tuple[float, float, float], position: tuple[float, float, float]) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    pose[:3, 3] = position
    return pose


GOOD = pose_of((0.4, 2.0, -0.3), (-0.8, 0.1, 0.6))


def changed(row: int, column: int, value: float) -> tuple[float, ...]:
    pose = GOOD.copy()
    pose[row, column] = value
    return tuple(pose.ravel())


def test_a_good_pose_is_accepted_and_made_orthonormal() -> None:
    rounded = tuple(np.round(GOOD, 4).ravel())
    pose = checked_pose(rounded, View.TOP, on_flange=False)
    assert np.allclose(pose, GOOD, atol=2e-4)
    assert np.allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3), atol=1e-14)


@pytest.mark.parametrize(
    ("numbers", "view", "said"),
    [
        (tuple(GOOD.ravel()[:12]), View.TOP, "T_base_camera of the top camera is not a pose.*16 finite"),
        (changed(0, 0, np.nan), View.TOP, "16 finite"),
        (changed(3, 0, 0.1), View.SIDE, "side camera is not a pose.*0 0 0 1"),
        (changed(1, 1, 1.3), View.TOP, "no valid rotation.*off by"),
        (tuple((GOOD @ np.diag([1, 1, -1, 1])).ravel()), View.TOP, "reflection"),
        (changed(0, 3, -800.0), View.TOP, "implausible.*0.05 to 3.0 m from the base.*800"),
        (
            tuple(GOOD.ravel()),
            View.WRIST,
            "T_flange_camera of the wrist camera.*0.01 to 0.5 m from the flange",
        ),
        (IDENTITY, View.TOP, "is the calibration in metres"),
        (IDENTITY, View.WRIST, "is the calibration in metres"),
    ],
)
def test_a_wrong_pose_is_refused_in_one_line(numbers: tuple[float, ...], view: View, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refusal:
        checked_pose(numbers, view, on_flange=view == View.WRIST)
    assert "\n" not in str(refusal.value)


def test_the_wrist_camera_of_the_simulated_cell_is_found_through_the_tool() -> None:
    """The renderer's own camera pose is the reference."""
    scene = make_scene(2)
    world = World(scene)
    with SceneRenderer(scene, 64, 64) as renderer:
        home = renderer.frame(View.WRIST, world.snapshot()).T_base_camera
        T_base_flange = world.T_base_tool @ np.linalg.inv(T_flange_tool)
        T_flange_camera = checked_pose(
            tuple((np.linalg.inv(T_base_flange) @ home).ravel()), View.WRIST, on_flange=True
        )
        history = PoseHistory()
        at = wrist_pose(T_flange_camera, T_flange_tool, history, 50 * MS)
        assert at(0) is None
        world.set_arm_target(world.q_rad + np.array([0.3, 0.2, -0.3, 0.1, 0.2, -0.4]))
        world.advance(1_000 * MS)
        history.add(1_000 * MS, world.T_base_tool)
        drawn = renderer.frame(View.WRIST, world.snapshot()).T_base_camera
    assert np.abs(home - drawn).max() > 0.1
    assert np.allclose(at(1_030 * MS), drawn, atol=1e-9)
    assert fixed_pose(GOOD)(5) is GOOD
