import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import HOME_Q_RAD, Kinematics, choose
from embodied_iqa.world.scenes.dimensions import STEP_NS, T_flange_tool
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.scenes.snapshot import object_position_m, qpos_size
from embodied_iqa.world.simulation.cell_model import build_model
from embodied_iqa.world.simulation.contact_watch import ContactWatch
from embodied_iqa.world.simulation.engine import mujoco
from embodied_iqa.world.simulation.world import World

Array = NDArray[np.float64]
SECOND_NS = 1_000_000_000
UR5_TABLE = (  # d (m), a (m), alpha (rad) as Universal Robots publishes them
    (0.089159, 0.0, np.pi / 2),
    (0.0, -0.425, 0.0),
    (0.0, -0.39225, 0.0),
    (0.10915, 0.0, np.pi / 2),
    (0.09465, 0.0, -np.pi / 2),
    (0.0823, 0.0, 0.0),
)


def forward(q_rad: ArrayLike):
    pose = np.eye(4)
    for angle, (d, a, alpha) in zip(q_rad, UR5_TABLE, strict=True):
        c, s, ca, sa = np.cos(angle), np.sin(angle), np.cos(alpha), np.sin(alpha)
        pose = pose @ np.array(
            [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
        )
    return pose @ T_flange_tool


def reach(world: World, T_base_tool: Array, speed_radps: float = 0.6):
    """Drive the joints straight to a pose."""
    choice = choose(Kinematics(np.asarray(T_flange_tool)), T_base_tool, world.q_rad)
    start, goal = world.q_rad, choice.q_rad
    steps = int(np.ceil(np.abs(goal - start).max() / speed_radps / 0.008))
    for part in np.linspace(0, 1, steps + 1)[1:]:
        world.set_arm_target(start + part * (goal - start))
        world.advance(8_000_000)


def test_the_model_is_the_denavit_hartenberg_table():
    model = build_model(make_scene(0))
    data = mujoco.MjData(model)
    for q_rad in np.random.default_rng(1).uniform(-2 * np.pi, 2 * np.pi, (300, 6)):
        data.qpos[:6] = q_rad
        mujoco.mj_kinematics(model, data)
        expected = forward(q_rad)
        assert np.abs(data.site("tool").xpos - expected[:3, 3]).max() < 1e-9
        assert np.abs(data.site("tool").xmat.reshape(3, 3) - expected[:3, :3]).max() < 1e-9


def test_home_is_above_the_table_pointing_down():
    pose = World(make_scene(0)).T_base_tool
    assert np.allclose(pose[:3, 3], (-0.40, 0.0, 0.35), atol=1e-6)
    assert np.allclose(pose[:3, 2], (0, 0, -1), atol=1e-6)
    assert np.allclose(pose, forward(HOME_Q_RAD), atol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_objects_rest_on_the_table_from_the_start(seed: int):
    scene = make_scene(seed)
    world = World(scene)
    start = world.snapshot()
    world.advance(SECOND_NS)
    for index, item in enumerate(scene.objects):
        before = object_position_m(scene, start, index)
        assert np.abs(object_position_m(scene, world.snapshot(), index) - before).max() < 1e-4
        assert before[2] == pytest.approx(item.shape.height_m / 2, abs=1e-3)
    assert world.contact_violation is None


def test_the_same_commands_give_the_same_state_however_time_is_cut():
    scene = make_scene(3)
    one, other = World(scene), World(make_scene(3))
    target = np.array(HOME_Q_RAD) + 0.2
    for world, slices in ((one, [SECOND_NS]), (other, [STEP_NS * 7] * 60 + [STEP_NS * 80])):
        world.set_arm_target(target)
        world.set_gripper_target(0.6)
        for duration_ns in slices:
            world.advance(duration_ns)
    assert one.time_ns == other.time_ns == SECOND_NS
    assert np.array_equal(one.snapshot().qpos, other.snapshot().qpos)


def test_reset_brings_back_the_first_state():
    world = World(make_scene(4))
    start = world.snapshot()
    world.set_arm_target(np.array(HOME_Q_RAD) - 0.3)
    world.advance(SECOND_NS)
    assert not np.allclose(world.snapshot().qpos, start.qpos, atol=1e-2)
    world.reset()
    assert world.time_ns == 0
    assert np.array_equal(world.snapshot().qpos, start.qpos)
    world.reset(make_scene(5))
    assert world.snapshot().qpos.shape == (qpos_size(make_scene(5)),)


def test_a_snapshot_does_not_change_with_the_world():
    world = World(make_scene(1))
    snapshot = world.snapshot()
    kept = snapshot.qpos.copy()
    world.set_gripper_target(1.0)
    world.advance(SECOND_NS // 2)
    assert np.array_equal(snapshot.qpos, kept)


def test_the_servos_follow_a_moving_target_closely():
    world = World(make_scene(0))
    start, lag_rad = world.q_rad, []
    directions = np.array([1, 1, -1, 1, 1, 1])
    for tick in range(376):
        target = start + 0.25 * (1 - np.cos(2 * np.pi * tick * 0.008 / 3)) * directions
        lag_rad.append(float(np.abs(world.q_rad - target).max()))
        world.set_arm_target(target)
        world.advance(8_000_000)
    assert max(lag_rad) < 0.004
    assert np.median(lag_rad) < 0.0015


def test_the_arm_stops_where_a_stream_of_targets_ends():
    world = World(make_scene(0))
    start = world.q_rad
    for tick in range(1, 51):
        world.set_arm_target(start + 0.004 * tick)
        world.advance(8_000_000)
    world.advance(SECOND_NS)
    assert np.abs(world.q_rad - (start + 0.2)).max() < 1e-3


def test_the_gripper_opens_and_closes_over_its_stroke():
    world = World(make_scene(0))
    assert world.gripper == pytest.approx(0.0, abs=0.01)
    for target in (1.0, 0.3, 0.0):
        world.set_gripper_target(target)
        assert world.gripper_moving
        world.advance(2 * SECOND_NS)
        assert world.gripper == pytest.approx(target, abs=0.02)
        assert not world.gripper_moving


def test_pressing_on_the_table_is_a_violation():
    world = World(make_scene(2))
    pose = world.T_base_tool
    pose[:3, 3] = (-0.30, 0.0, -0.03)
    reach(world, pose)
    first = world.contact_violation
    assert first is not None
    assert "table" in first
    world.advance(SECOND_NS // 10)
    assert world.contact_violation == first
    world.reset()
    assert world.contact_violation is None


def test_pressing_on_the_wall_is_a_violation():
    world = World(make_scene(2))
    pose = np.array([[0.0, 0, -1, -0.98], [1, 0, 0, 0], [0, -1, 0, 0.2], [0, 0, 0, 1]])
    reach(world, pose)
    assert world.contact_violation is not None
    assert "wall" in world.contact_violation


def test_the_gripper_moves_at_the_commanded_speed_and_stops_on_demand():
    world = World(make_scene(0))
    world.set_gripper_target(1.0, speed_per_s=0.5)
    world.advance(SECOND_NS)
    assert world.gripper == pytest.approx(0.5, abs=0.03)
    world.stop_gripper()
    halted = world.gripper
    world.advance(SECOND_NS)
    assert world.gripper == pytest.approx(halted, abs=0.01)
    assert not world.gripper_moving


def test_a_cleared_violation_comes_back_while_the_push_lasts():
    world = World(make_scene(2))
    pose = world.T_base_tool
    pose[:3, 3] = (-0.30, 0.0, -0.03)
    reach(world, pose)
    world.clear_contact_violation()
    assert world.contact_violation is None
    world.advance(SECOND_NS // 5)
    assert world.contact_violation is not None


def test_free_motion_is_not_a_violation():
    world = World(make_scene(2))
    pose = world.T_base_tool
    pose[:3, 3] = (-0.55, 0.2, 0.25)
    reach(world, pose)
    assert world.contact_violation is None


def test_the_contact_filter_lets_a_spike_pass_and_stops_a_push():
    spike, push = (ContactWatch(("table",), 50.0, 0.002) for _ in range(2))
    spike.update(np.array([0.0, 0.0, 200.0]), 2_000_000)
    for tick in range(100):
        spike.update(np.zeros(3), 4_000_000 + tick)
        push.update(np.array([0.0, 60.0, 0.0]), tick)
    assert spike.violation is None
    assert push.violation is not None


def test_bad_commands_are_refused():
    world = World(make_scene(0))
    with pytest.raises(UsageError, match="six"):
        world.set_arm_target(np.zeros(5))
    with pytest.raises(UsageError, match="finite"):
        world.set_arm_target(np.full(6, np.nan))
    with pytest.raises(UsageError, match="gripper"):
        world.set_gripper_target(1.5)
    with pytest.raises(UsageError, match="whole steps"):
        world.advance(STEP_NS + 1)
    with pytest.raises(UsageError, match="force"):
        World(make_scene(0), force_limit_n=0)
