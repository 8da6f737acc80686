"""What is killed, or frozen all at once, stops the arm in time, and nothing moves again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ArmStatus
from fault_cell import NODES, SECOND_NS, Cell


@pytest.mark.stress
def test_without_images_the_arm_holds_for_good(ros_domain: int, tmp_path: Path) -> None:
    with Cell(ros_domain, tmp_path) as cell:
        cell.start()
        cell.move()
        cell.assert_holds_for_good_without("camera_node")


@pytest.mark.stress
def test_the_robots_own_watchdog_stops_the_arm_when_everything_above_it_is_frozen(
    ros_domain: int, tmp_path: Path
) -> None:
    with Cell(ros_domain, tmp_path) as cell:
        cell.start()
        cell.move()
        processes = cell.graph.processes
        above = [processes.pid(name) for name in NODES if name != "sim_node"]
        above += _children(processes.pid("arm_node"))  # the worker that speaks to the robot
        for pid in above:
            os.kill(pid, signal.SIGSTOP)
        try:
            frozen_ns = cell.now_ns
            cell.wait_until(frozen_ns + 2 * SECOND_NS)
            rest = cell.measured(frozen_ns + SECOND_NS)
            assert np.ptp(rest, axis=0).max() < 2e-3
        finally:
            for pid in above:
                os.kill(pid, signal.SIGCONT)
        cell.graph.wait(lambda: cell.status.last.state == ArmStatus.STATE_STOPPED, "the arm's report")
        # the arm hears of the watchdog from its worker, unless it notices first how old the last state is
        assert cell.status.last.stop_cause in {"watchdog", "state lost"}, cell.status.last.reason
        assert not cell.status.last.emergency_stop
        cell.start()
        cell.move()


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in tasks for child in file.read_text(encoding="utf-8").split()]
