"""What the choice of the robot means for the graph: who runs, and that they agree on the address."""

from __future__ import annotations

import pytest

from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics.models import NAMED_MODELS, ArmModel
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judgement import JudgeKind
from embodied_iqa.runs.graph.arm_parameters import ArmParameters, RobotKind
from embodied_iqa.runs.graph.node_table import nodes_of, nodes_with, resolve
from embodied_iqa.world.scenes.dimensions import CELL_ARMS
from real_arm import REAL_ARM, WORKSPACE


def _names(overrides: dict[str, str]) -> set[str]:
    return {entry.name for entry in nodes_of(resolve(overrides=overrides))}


def test_the_simulated_arm_lives_in_the_world() -> None:
    assert "sim_node" in _names({"arm_node.robot": "sim"})
    assert resolve(overrides={"arm_node.robot": "sim"}).trial_node.simulated


def test_every_arm_but_the_simulated_one_is_guarded_as_a_real_one() -> None:
    assert [kind for kind in RobotKind if not kind.is_real] == [RobotKind.SIM, RobotKind.NONE]


def test_real_arm_needs_no_world_and_a_person_sets_the_scene() -> None:
    overrides = {
        "arm_node.robot": "ur5",
        "arm_node.model": "ur5",
        **WORKSPACE,
        "arm_node.ur.ip": "192.168.1.10",
        "camera_node.source": "realsense",
        "vla_node.subject": "classical-vla",
    }
    assert "sim_node" not in _names(overrides)
    graph = resolve(overrides=overrides)
    assert not graph.trial_node.simulated
    assert graph.arm_node.ur.ip == "192.168.1.10"
    assert graph.arm_node.ur.state_timeout_s == 0.15


def test_a_real_arm_does_not_look_at_simulated_images() -> None:
    with pytest.raises(UsageError, match="camera simulated does not go with robot ur5"):
        resolve(overrides={"arm_node.robot": "ur5", "vla_node.subject": "classical-vla"})


def test_the_default_policy_does_not_move_a_real_arm() -> None:
    real = {"arm_node.robot": "ur5", "arm_node.ur.ip": "192.168.1.10", "camera_node.source": "realsense"}
    with pytest.raises(UsageError, match=r"panel-vla-query is for simulation only .* vla_node.subject"):
        resolve(overrides=real)
    still = resolve(overrides=real | {"arm_node.robot": "none"})
    assert not still.vla_node.simulated
    assert (still.gate_node.has_arm, still.gate_node.simulated) == (False, False)
    cell = resolve()
    assert cell.vla_node.simulated
    assert (cell.gate_node.has_arm, cell.gate_node.simulated) == (True, True)


def test_emulator_and_arm_agree_on_an_address_of_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = set()
    for process in (2, 1007, 60_000):
        monkeypatch.setattr("os.getpid", lambda number=process: number)
        graph = resolve()
        assert graph.sim_node.emulator_ip == graph.arm_node.ur.ip
        addresses.add(graph.arm_node.ur.ip)
    assert len(addresses) == 3
    assert all(address.startswith("127.") for address in addresses)


def test_named_address_and_deadlines_are_kept() -> None:
    overrides = {
        "arm_node.ur.ip": "127.0.0.9",
        "arm_node.ur.state_timeout_s": 3.0,
    }
    graph = resolve(overrides=overrides)
    assert graph.sim_node.emulator_ip == "127.0.0.9"
    assert graph.arm_node.ur.state_timeout_s == 3.0


@pytest.mark.parametrize("address", ["192.168.1.10", "ur5.lab", "0.0.0.0", "::ffff:192.168.1.10"])
def test_a_simulated_arm_is_not_looked_for_on_another_machine(address: str) -> None:
    """`arm_node -p ur.ip:=...` alone would move a real arm, as a UR5 whatever it is."""
    said = "a real one is not moved as if it were simulated; expected a loopback address"
    with pytest.raises(UsageError, match=said):
        ArmParameters(ur=UrOptions(ip=address)).check_model()
    with pytest.raises(UsageError, match=said):
        resolve(overrides={"arm_node.ur.ip": address})
    for own in ("127.0.0.9", "localhost"):
        assert ArmParameters(ur=UrOptions(ip=own)).check_model() is ArmModel.UR5


def test_the_cameras_views_are_those_of_every_node() -> None:
    graph = resolve(overrides={"camera_node.views": ["top"]})
    assert {getattr(graph, name).views for name in nodes_with("views")} == {(View.TOP,)}
    with pytest.raises(UsageError, match="gate_node has other views"):
        resolve(overrides={"camera_node.views": ["top"], "gate_node.views": ["top", "wrist"]})


def test_the_wrist_camera_hangs_on_the_arms_tool() -> None:
    graph = resolve(overrides={"arm_node.tool_length_m": 0.23})
    assert graph.camera_node.hand_eye.tool_length_m == 0.23
    with pytest.raises(UsageError, match=r"is not arm_node\.tool_length_m"):
        resolve(overrides={"arm_node.tool_length_m": 0.23, "camera_node.hand_eye.tool_length_m": 0.2})


def test_where_time_is_real_the_newest_image_wins() -> None:
    def newest(**overrides: object) -> set[bool]:
        graph = resolve(overrides={name.replace("__", "."): value for name, value in overrides.items()})
        return {getattr(graph, name).newest_only for name in nodes_with("newest_only")}

    assert newest() == {False}, "in lockstep every image counts"
    assert newest(sim_node__lockstep=False) == {True}
    real = {"arm_node__robot": "ur5", "arm_node__ur.ip": "192.0.2.1", "vla_node__subject": "panel-vla-query"}
    assert newest(camera_node__source="files", **real | {"arm_node__robot": "none"}) == {False}
    assert newest(camera_node__source="realsense", **real | {"arm_node__robot": "none"}) == {True}


def test_unknown_robot_lists_the_known() -> None:
    with pytest.raises(UsageError, match="sim, ur5"):
        resolve(overrides={"arm_node.robot": "kuka"})


REAL = REAL_ARM | {"arm_node.model": "ur5", "camera_node.source": "realsense"}


@pytest.mark.parametrize("robot", [{}, {"gate_node.judge.mode": "on"}, REAL])
def test_images_are_repaired_only_where_it_is_set_and_the_policy_then_sees_them(
    robot: dict[str, object],
) -> None:
    for enabled in (False, True):
        overrides = robot | ({"gate_node.judge.repair.enabled": True} if enabled else {})
        graph = resolve(overrides=overrides)
        assert graph.gate_node.judge.repairs is (enabled and bool(robot))  # never in shadow, the default
        assert graph.vla_node.repaired is graph.gate_node.judge.repairs


def test_a_repair_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="deblock"):
        resolve(overrides={"gate_node.judge.repair.allowed": ["inpaint"]})


def test_a_real_arm_without_its_model_is_refused_before_anything_starts() -> None:
    unnamed = {name: value for name, value in REAL.items() if name != "arm_node.model"}
    for overrides in (unnamed, REAL | {"arm_node.model": "unset"}):
        with pytest.raises(UsageError, match=r"not moved by guess; .*available: ur3, ur5, .* ur16e") as error:
            resolve(overrides=overrides)
        assert "unset," not in str(error.value)
    with pytest.raises(UsageError, match="ur3e"):
        resolve(overrides=REAL | {"arm_node.model": "ur7"})


def test_an_arm_is_the_model_that_is_named_and_the_simulated_one_a_ur5_by_default() -> None:
    for model in NAMED_MODELS:
        assert resolve(overrides=REAL | {"arm_node.model": str(model)}).arm_node.check_model() is model
    assert resolve().arm_node.check_model() is ArmModel.UR5
    assert resolve(overrides={"arm_node.model": "ur5"}).arm_node.check_model() is ArmModel.UR5
    for model in CELL_ARMS:
        graph = resolve(overrides={"arm_node.model": str(model)})
        assert graph.arm_node.check_model() is model
        assert (graph.sim_node.arm_model, graph.camera_node.arm_model) == (model, model)
        assert graph.vla_node.shows_joints is (model is ArmModel.UR5)
        assert graph.arm_node.timed_controller(model).dt_s == 0.008, "the step of the world"
    real = resolve(overrides=REAL | {"arm_node.model": "ur10e"})
    assert real.camera_node.arm_model is ArmModel.UR5, "it says nothing about other cameras"
    with pytest.raises(UsageError, match=r"a UR3 does not reach the table .*; available: ur5"):
        resolve(overrides={"arm_node.model": "ur3"})


def test_the_shipped_learned_judge_knows_the_images_of_a_ur5_only() -> None:
    assert resolve().gate_node.judge.kind.kind is JudgeKind.LEARNED
    other = resolve(overrides={"arm_node.model": "ur5e"}).gate_node
    assert other.judge.kind.kind is JudgeKind.STATISTICS
    assert other.judge_note.endswith("640x480, d455, a ur5e, not a ur5")


def test_a_real_arm_is_not_moved_in_the_workspace_of_the_simulated_cell() -> None:
    unmeasured = {name: value for name, value in REAL.items() if not name.startswith("arm_node.limits")}
    with pytest.raises(UsageError, match=r"simulated cell.*expected workspace_min_m and workspace_max_m"):
        resolve(overrides=unmeasured)
    assert resolve(overrides=unmeasured, only_reads=True).arm_node.robot.is_real
    lower, upper = (f"arm_node.limits.workspace_{end}_m" for end in ("min", "max"))
    for only, usual in (({lower: [-0.7, -0.4, 0.0]}, "max"), ({upper: [-0.3, 0.4, 0.6]}, "min")):
        with pytest.raises(UsageError, match=f"got 'the default of workspace_{usual}_m'"):
            resolve(overrides=unmeasured | only)
    unmeasured |= {upper: [-0.3, 0.4, 0.6]}
    far = unmeasured | {lower: [-1.2, -0.4, 0.0]}
    with pytest.raises(UsageError, match=r"beyond its wall.*got 'wall_x_m -0\.95, workspace from -1\.2'"):
        resolve(overrides=far)
    assert resolve(overrides=far | {"arm_node.limits.wall_x_m": -1.3})
    assert resolve(overrides=unmeasured | {lower: [-0.7, -0.4, 0.0]})
    away = REAL | {lower: [2.0, 2.0, 2.0], upper: [2.4, 2.4, 2.4]}
    with pytest.raises(UsageError, match=r"reaches no part of the workspace; expected a box within"):
        resolve(overrides=away)
    assert resolve(overrides=away, only_reads=True)


def test_limits_beyond_the_model_are_refused() -> None:
    """What the message allows is allowed: 120 degrees are 2.09439... rad."""
    fast = REAL | {"arm_node.limits.joint_speed_radps": 2.5}
    assert resolve(overrides=fast | {"arm_node.model": "ur3e"})
    with pytest.raises(UsageError, match=r"a UR10e does not reach .* at most 2\.0943 rad/s; got 2\.5"):
        resolve(overrides=fast | {"arm_node.model": "ur10e"})
    named = {"arm_node.model": "ur10e", "arm_node.limits.joint_speed_radps": 2.0943}
    assert resolve(overrides=REAL | named)


def test_the_servo_rate_follows_from_the_model_of_a_real_arm() -> None:
    def period_s(**overrides: object) -> float:
        arm = resolve(
            overrides={name.replace("__", "."): value for name, value in overrides.items()}
        ).arm_node
        return arm.timed_controller(arm.check_model()).dt_s

    real = {name.replace(".", "__", 1): value for name, value in REAL.items()}
    assert period_s() == 0.008
    for model in NAMED_MODELS:
        expected = 0.002 if model.is_e_series else 0.008
        assert period_s(**real | {"arm_node__model": str(model)}) == pytest.approx(expected)
    with pytest.raises(UsageError, match=r"dt_s of a real arm follows from its model; .* got 0\.016"):
        period_s(**real, arm_node__controller__dt_s=0.016)


FOREIGN = REAL | {"arm_node.driver": "ros2_control", "arm_node.gripper": "none"}


def test_the_trajectory_of_another_driver_takes_its_lead_from_the_lease() -> None:
    arm = resolve(overrides=FOREIGN).arm_node
    options = arm.timed_controller(arm.check_model())
    assert options.dt_s == 0.01
    assert options.lease.overrun_s == pytest.approx(0.04)
    arm = resolve(overrides=FOREIGN | {"arm_node.ros2_control.command": "position"}).arm_node
    assert arm.timed_controller(arm.check_model()).lease.overrun_s == 0.07
    assert not arm.has_gripper


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"ros2_control.rate_hz": 200.0, "model": "ur5"}, r"rate_hz to 125, lead_s to 0\.07"),
        ({"controller.lease.overrun_s": 0.02}, r"lead_s to 0\.02 \(lease\.overrun_s\)"),
        ({"ros2_control.rate_hz": 20.0}, "lead_s is too short"),
        ({"driver": "moveit"}, "available: rtde, ros2_control"),
        ({"gripper": "hand"}, "available: robotiq, action, none"),
    ],
)
def test_what_another_driver_cannot_keep_is_refused(change: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        resolve(overrides=FOREIGN | {f"arm_node.{name}": value for name, value in change.items()})


@pytest.mark.parametrize("change", [{"arm_node.driver": "ros2_control"}, {"arm_node.gripper": "none"}])
def test_the_simulated_arm_keeps_its_driver_and_gripper(change: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="the simulated arm has its own driver and gripper"):
        resolve(overrides=change)
