"""The unmodified client libraries of the real robot against the emulator, in real time.

As CB3 in full, as e-Series in three cases. Nothing here has a deadline that a busy machine misses.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import dashboard_client
import numpy as np
import pyrobotiqur
import pytest
import rtde_control
import rtde_io
import rtde_receive

from embodied_iqa.arm.robot.ur.rtde_snapshot import read_snapshot
from embodied_iqa.base.kinematics import Kinematics, pose_to_transform, tool_along_z, transform_to_pose
from manual_clock import PATIENCE_S
from ur_emulator import EmulatorProcess, emulator

BOTH = pytest.mark.parametrize("robot", ["cb3", "e"], indirect=True)
CB3 = pytest.mark.parametrize("robot", ["cb3"], indirect=True)


@pytest.fixture(scope="module")
def robot(request: pytest.FixtureRequest) -> Iterator[EmulatorProcess]:
    words = ("--series", request.param, "--plant", "kinematic", "--unlock-after", "0")
    with emulator(*words) as running:
        yield running


@pytest.fixture(scope="module")
def control(robot: EmulatorProcess) -> Iterator[Any]:
    client = rtde_control.RTDEControlInterface(robot.host)
    yield client
    client.disconnect()


@pytest.fixture(scope="module")
def receive(robot: EmulatorProcess) -> Iterator[Any]:
    client = rtde_receive.RTDEReceiveInterface(robot.host)
    yield client
    client.disconnect()


Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def until(robot: EmulatorProcess) -> Until:
    """Wait until something is true, looked at again after each answer of the emulator."""

    def wait(wanted: Callable[[], object]) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not wanted():
            assert time.monotonic() < end_s
            robot.state()

    return wait


@BOTH
def test_moves_end_at_their_targets(until: Until, control: Any, receive: Any) -> None:
    q_rad = np.array(receive.getActualQ())
    assert control.moveJ((q_rad + 0.1).tolist(), 1.0, 4.0)
    until(lambda: np.abs(np.array(receive.getActualQ()) - q_rad - 0.1).max() < 1e-9)
    pose = control.getForwardKinematics()
    pose[2] += 0.05
    assert control.moveL(pose, 0.5, 2.0)
    until(lambda: np.abs(np.array(receive.getActualTCPPose()) - pose).max() < 1e-9)
    assert control.moveJ([[*(q_rad + 0.05), 1.0, 4.0, 0.0], [*q_rad, 1.0, 4.0, 0.0]])
    until(lambda: np.abs(np.array(receive.getActualQ()) - q_rad).max() < 1e-5)


@CB3
def test_kinematics_are_those_of_the_arm_with_its_tool(until: Until, control: Any, receive: Any) -> None:
    tool = transform_to_pose(tool_along_z(0.2)).tolist()
    assert control.setTcp(tool)
    arm = Kinematics(tool_along_z(0.2))
    q_rad = np.array(receive.getActualQ())
    until(lambda: np.abs(pose_to_transform(receive.getActualTCPPose()) - arm.forward(q_rad)).max() < 1e-9)
    solution = control.getInverseKinematics(transform_to_pose(arm.forward(q_rad)).tolist(), q_rad.tolist())
    assert arm.forward(solution) == pytest.approx(arm.forward(q_rad), abs=1e-9)
    assert control.isJointsWithinSafetyLimits(q_rad.tolist())
    assert not control.isPoseWithinSafetyLimits([9.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@BOTH
def test_streaming_follows_and_stops(until: Until, control: Any, receive: Any) -> None:
    q_rad = np.array(receive.getActualQ())
    for step in range(100):
        start = control.initPeriod()
        assert control.servoJ((q_rad + 0.001 * step).tolist(), 0.5, 0.5, 0.008, 0.1, 300)
        control.waitPeriod(start)
    until(lambda: np.abs(np.array(receive.getActualQ()) - q_rad - 0.099).max() < 1e-9)
    assert control.servoStop(10.0)
    assert control.speedJ([0.2] * 6, 2.0, 0.0)
    until(lambda: np.abs(np.array(receive.getActualQd()) - 0.2).max() < 1e-9)
    assert control.speedStop(4.0)
    assert control.speedL([0.0, 0.0, 0.05, 0.0, 0.0, 0.0], 1.0, 0.0)
    until(lambda: abs(receive.getActualTCPSpeed()[2] - 0.05) < 1e-4)
    assert control.speedStop(4.0)
    until(lambda: not np.any(receive.getActualQd()))


@CB3
def test_move_beside_the_program_can_be_stopped(until: Until, control: Any, receive: Any) -> None:
    q_rad = np.array(receive.getActualQ())
    assert control.moveJ((q_rad - 0.5).tolist(), 0.5, 4.0, True)
    until(lambda: control.getAsyncOperationProgress() >= 0)
    until(lambda: np.any(receive.getActualQd()))
    control.stopJ(8.0)
    until(lambda: control.getAsyncOperationProgress() < 0 and not np.any(receive.getActualQd()))
    assert np.abs(np.array(receive.getActualQ()) - q_rad + 0.5).max() > 0.05


@BOTH
def test_protective_stop_is_unlocked_and_the_program_uploaded_again(
    until: Until, robot: EmulatorProcess, control: Any, receive: Any
) -> None:
    control.triggerProtectiveStop()
    until(receive.isProtectiveStopped)
    assert not control.moveJ([0.0] * 6, 1.0, 1.0)
    dashboard = dashboard_client.DashboardClient(robot.host)
    dashboard.connect()
    assert dashboard.safetymode() == "Safetymode: PROTECTIVE_STOP"
    dashboard.unlockProtectiveStop()
    until(lambda: not receive.isProtectiveStopped())
    assert not dashboard.running()
    assert control.reuploadScript()
    until(control.isProgramRunning)
    q_rad = np.array(receive.getActualQ())
    assert control.moveJ((q_rad + 0.02).tolist(), 1.0, 4.0)
    assert dashboard.running()
    dashboard.disconnect()


@CB3
def test_inverse_without_a_solution_ends_the_program(until: Until, control: Any) -> None:
    assert control.getInverseKinematics([9.0, 0.0, 0.0, 0.0, 0.0, 0.0]) == []
    until(lambda: not control.isProgramRunning())
    assert control.reuploadScript()
    until(control.isProgramRunning)


@CB3
def test_slider_and_outputs(until: Until, robot: EmulatorProcess, receive: Any) -> None:
    client = rtde_io.RTDEIOInterface(robot.host)
    assert client.setSpeedSlider(0.25)
    assert client.setStandardDigitalOut(3, True)
    assert client.setToolDigitalOut(1, True)
    until(lambda: receive.getTargetSpeedFraction() == 0.25)
    until(lambda: receive.getDigitalOutState(3) and receive.getDigitalOutState(17))
    assert client.setSpeedSlider(1.0)
    client.disconnect()


@BOTH
def test_what_is_set_at_the_pendant_is_reported(until: Until, robot: EmulatorProcess, receive: Any) -> None:
    """A client cannot set it while a trial runs: the driver holds the inputs."""
    before = read_snapshot(robot.host, PATIENCE_S)
    assert before.tool_offset is not None
    tool = (0.0, 0.01, 0.2, 0.0, 0.0, 0.5)
    for line in ("slider 0.2", "payload 1.5", f"tcp {' '.join(map(str, tool))}"):
        robot.throw(line)
    until(lambda: receive.getTargetSpeedFraction() == 0.2)
    seen = read_snapshot(robot.host, PATIENCE_S)
    assert seen.payload_kg == 1.5
    assert seen.tool_offset == pytest.approx(tool)
    robot.throw("restore")
    assert read_snapshot(robot.host, PATIENCE_S).payload_kg == 1.5, "it is set, and no fault"
    for line in ("slider 1", "payload 0", f"tcp {' '.join(map(str, before.tool_offset))}"):
        robot.throw(line)
    until(lambda: receive.getTargetSpeedFraction() == 1.0)


@CB3
def test_second_control_client_is_refused(robot: EmulatorProcess, control: Any) -> None:
    with pytest.raises(RuntimeError, match="already in use"):
        rtde_control.RTDEControlInterface(robot.host)


@CB3
def test_gripper_with_the_peer_library(robot: EmulatorProcess) -> None:
    with pyrobotiqur.RobotiqGripper(robot.host) as gripper:
        gripper.activate(poll_interval=0.01)
        assert gripper.move(200, speed=255) == (200, 3)
        robot.throw("object 0.9")
        position, found = gripper.move(255, speed=255)
        assert (position, found) == (round(0.9 * 255), 2)
        robot.throw("object none")
        assert gripper.open(speed=255)[0] == 0
