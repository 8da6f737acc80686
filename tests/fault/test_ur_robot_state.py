"""The state of a controller is read without commanding it, also while its emergency stop is pressed."""

from __future__ import annotations

from embodied_iqa.arm.robot.ur.messages import safety_stop
from embodied_iqa.arm.robot.ur.options import UrOptions
from embodied_iqa.arm.robot.ur.robot_state import read_robot_state
from manual_clock import PATIENCE_S
from ur_emulator import emulator


def test_an_emergency_stop_is_read_with_what_follows_from_it() -> None:
    with emulator("--plant", "kinematic") as robot:
        options = UrOptions(ip=robot.host)
        seen = read_robot_state(options, PATIENCE_S, has_gripper=True)
        assert (safety_stop(seen.safety_bits), seen.robot_mode, seen.is_remote) == ("", 7, True)
        assert seen.gripper_problem == ""
        assert seen.tool_offset is not None
        robot.throw("emergency-stop")
        stopped = read_robot_state(options, PATIENCE_S, has_gripper=True)
        assert "robot emergency stopped" in safety_stop(stopped.safety_bits)
        assert stopped.robot_mode == 3
        assert "'?' to GET STA" in str(stopped.gripper_problem)
