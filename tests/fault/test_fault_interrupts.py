"""Ctrl-C: the arm is stopped by its driver, and sessions end without anything left over."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from embodied_iqa.base.resources import source_checkout
from live_process import COMPLETION_S, TRIAL_S, completed, running_program
from ur_emulator import EmulatorProcess, emulator

DRIVER = """
import sys
import numpy as np
from embodied_iqa.base.errors import InputError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.arm.robot.ur import link
from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.options import UrOptions

link._EXIT_S = 60.0  # a worker that a busy machine holds up is not killed: it stops the arm
arm = UrArm(UrOptions(ip=sys.argv[1], watchdog_hz=1.0, state_timeout_s=5.0), tool_along_z(0.2))
for attempts_left in range(20, -1, -1):  # each call has a deadline, which a busy machine misses
    try:
        arm.connect()
        arm.rearm("test")
        break
    except InputError:
        if not attempts_left:
            raise
try:
    arm.wait(1.0)
    arm.read()
    q_rad = np.array(arm.state.q_rad)
    if sys.argv[2] == "moveJ":
        arm.move_joints(q_rad + 2.0, speed=0.2, deadline_s=60.0)
    while True:
        arm.wait(0.1)
        arm.read()
        q_rad += 0.001
        arm.stream(q_rad)
except KeyboardInterrupt:
    pass
finally:
    arm.close()
"""


def until(robot: EmulatorProcess, *, moving: bool) -> list[str]:
    """Wait until the arm moves or stands; return the messages of its controller."""
    until_s = time.monotonic() + COMPLETION_S
    while any((state := robot.state())["qd_radps"]) is not moving:
        assert time.monotonic() < until_s
    return list(state["messages"])


@pytest.mark.parametrize("motion", ["moveJ", "servoJ"])
def test_ctrl_c_stops_the_arm_before_its_driver_ends(motion: str, tmp_path: Path) -> None:
    with (
        emulator("--series", "cb3", "--plant", "kinematic", "--watchdog-margin", "20") as robot,
        running_program([sys.executable, "-c", DRIVER, robot.host, motion], tmp_path) as driver,
    ):
        until(robot, moving=True)
        os.killpg(driver.process.pid, signal.SIGINT)  # as the terminal does
        assert until(robot, moving=False) == [], "a killed driver leaves the stop to the watchdog"
        assert driver.wait(COMPLETION_S) == 0


@pytest.mark.stress
def test_sessions_end_at_random_moments(tmp_path: Path) -> None:
    checkout = source_checkout()
    assert checkout is not None
    results = tmp_path / "interrupts.json"
    script = checkout / "benchmarks" / "bench_interrupts.py"
    words = ["--count", "2", "--seed", "3", "--duration", "16", "--limit", "40", "--json", str(results)]
    completed([sys.executable, str(script), *words], tmp_path, TRIAL_S)
    found = json.loads(results.read_text())["interrupts"]
    assert {(one["kind"], one["recording"] in {"none", "intact"}) for one in found} == {
        ("trial", True),
        ("group", True),
    }
    assert all(one["exit_code"] in {130, -signal.SIGINT} for one in found)
