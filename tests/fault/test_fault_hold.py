"""What freezes, lies or is too old makes the arm hold in time; it goes on by itself only on a fresh PASS."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk, ActionIncrement, ArmStatus, GateLease
from fault_cell import FRAME_NS, SECOND_NS, VIEW, Cell, to_and_fro

from embodied_iqa.live.ros.conversion import ns_of, time_of
from embodied_iqa.live.ros.qos import STATE


@pytest.fixture(scope="module")
def running(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    with Cell(ros_domain, tmp_path_factory.mktemp("cell")) as cell:
        yield cell


@pytest.fixture
def cell(running: Cell) -> Cell:
    running.start()
    running.move()
    return running


@pytest.mark.parametrize("victim", ["gate_node", pytest.param("camera_node", marks=pytest.mark.stress)])
def test_what_is_frozen_stops_the_arm_and_what_thaws_lets_it_go_on(cell: Cell, victim: str) -> None:
    pid = cell.graph.processes.pid(victim)
    os.kill(pid, signal.SIGSTOP)
    try:
        frozen_ns = cell.now_ns
        cell.wait_until(frozen_ns + SECOND_NS)
        missing_ns = cell.last_lease_ns() + FRAME_NS
        cell.assert_stands(missing_ns)
        cell.assert_told(missing_ns, ArmStatus.STATE_HOLDING, "lease of the top view ran out")
    finally:
        os.kill(pid, signal.SIGCONT)
    resumed = cell.graph.wait(
        lambda: cell.first_status(missing_ns + SECOND_NS, ArmStatus.STATE_EXECUTING), "the arm goes on"
    )
    resumed_ns = ns_of(resumed.header.stamp)
    cell.graph.wait(  # status and leases reach this process on two topics, in any order
        lambda: any(
            missing_ns < ns_of(lease.header.stamp) <= resumed_ns <= ns_of(lease.expires)
            for lease in cell.leases.messages
            if (lease.view, lease.verdict) == (VIEW, GateLease.VERDICT_PASS)
        ),
        "a fresh PASS for the moment at which the arm went on",
    )
    cell.graph.wait(cell.is_moving, "motion")


def test_no_other_process_can_block_the_control_loop(running: Cell) -> None:
    """A process frozen with the lock of its shared-memory port blocks each of its senders for a second."""

    def shares_memory(name: str) -> bool:
        maps = Path(f"/proc/{running.graph.processes.pid(name)}/maps").read_text(encoding="utf-8")
        return "/dev/shm/fastrtps_port" in maps

    running.graph.wait(lambda: len(running.status) > 0, "a status of the arm")
    assert shares_memory("camera_node"), "images go through shared memory"
    assert not any(map(shares_memory, ("sim_node", "arm_node")))


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("NaN", np.nan, "finite"),
        pytest.param("infinite", np.inf, "finite", marks=pytest.mark.stress),
        pytest.param("10 m", 10.0, "10", marks=pytest.mark.stress),
    ],
)
def test_a_hostile_action_is_an_emergency_stop(cell: Cell, name: str, value: float, word: str) -> None:
    increments = np.zeros((1, 7))
    increments[0, 0] = value
    sent_ns = cell.send_while_time_stands(increments)
    cell.graph.wait(lambda: cell.status.last.state == ArmStatus.STATE_STOPPED, f"a stop after {name}")
    told = cell.assert_told(sent_ns + FRAME_NS, ArmStatus.STATE_STOPPED, word)
    assert told.emergency_stop
    # From the arm's own stamp on: `sent_ns` is what this process last heard of the time, which is late where
    # the machine is busy.
    cell.assert_stands(ns_of(told.header.stamp))
    asked_ns = cell.send(to_and_fro())
    cell.wait_until(asked_ns + SECOND_NS)
    assert cell.status.last.state == ArmStatus.STATE_STOPPED, "it moves without having been armed again"
    assert len(cell.commanded(asked_ns)) == 0
    cell.rearm()
    cell.move()


def test_messages_that_make_no_sense_move_nothing_and_end_nothing(cell: Cell) -> None:
    lease = GateLease(view="side-ways", verdict=GateLease.VERDICT_PASS)
    severe = GateLease(view=VIEW, verdict=9)
    publisher = cell.graph.publisher(GateLease, "/gate/lease", STATE)
    for message in (lease, severe):
        message.header.stamp = message.expires = time_of(cell.now_ns)
        publisher.publish(message)
    refused = cell.status.last.refused
    cell.sequence += 1
    chunk = ActionChunk(
        view="side-ways", source=1, sequence=cell.sequence, increments=[ActionIncrement(x=0.1)]
    )
    chunk.header.stamp = time_of(cell.now_ns)
    cell.actions.publish(chunk)
    cell.graph.wait(lambda: cell.status.last.refused > refused, "a refusal")
    assert cell.status.last.goal_sequence != cell.sequence
    cell.graph.close_publisher(publisher)  # no arm is armed while a second gate grants leases


def test_without_verdicts_the_arm_holds_for_good(cell: Cell) -> None:
    """The last test of this cell, whose gate is gone afterwards."""
    cell.assert_holds_for_good_without("gate_node")
