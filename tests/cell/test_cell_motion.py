"""What freezes, dies or falls silent while the arm moves: it stands in time, and goes on only when it may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from cell_journal import BRAKE_NS, OVERRUN_NS
from cell_senses import BRIGHT, DARK
from event_queue import MS_NS, SECOND_NS, Actor
from virtual_cell import CellOptions, VirtualCell, every_interleaving, interleavings, to_and_fro, with_plan

from embodied_iqa.arm.robot.messages import ArmMode, StopCause

TTL_NS = 120 * MS_NS
FAULT_NS = 700 * MS_NS
"""Longer than the robot's watchdog, its deadline in lockstep included, and the lifetime of a lease."""
OPTIONS = with_plan(
    CellOptions(increments=to_and_fro(12)),
    distortions=(),
    run_limit_ns=20 * SECOND_NS,
    no_motion_limit_ns=10 * SECOND_NS,
    hold_limit_ns=10 * SECOND_NS,
)
"""One long run: the trial neither ends the motion nor the hold."""


@dataclass(eq=False)
class Moving:
    """A cell whose arm is under way; the moment after which something happens is drawn."""

    seed: int
    lockstep: bool | None = None

    def __post_init__(self) -> None:
        options = OPTIONS if self.lockstep is None else with_lockstep(lockstep=self.lockstep)
        self.cell = VirtualCell(self.seed, options)
        self.cell.begin()
        self.until(self.is_moving, "motion")
        self.play(self.cell.queue.random.randrange(100) * MS_NS)
        self.began_ns = self.cell.world.now_ns

    def some_of(self, *names: str) -> Actor:
        return self.cell.actors[self.cell.queue.random.choice(names)]

    def is_moving(self) -> bool:
        moves = self.cell.journal.moves
        return len(moves) > 2 and all(moving for _, moving in moves[-2:])

    def play(self, time_ns: int) -> None:
        queue = self.cell.queue
        self.cell.run(until_ns=queue.now_ns + time_ns, is_over=lambda: False)

    def until(self, is_so: Callable[[], bool], what: str, limit_ns: int = 3 * SECOND_NS) -> None:
        self.cell.run(until_ns=self.cell.queue.now_ns + limit_ns, is_over=is_so)
        assert is_so(), f"not within {limit_ns / SECOND_NS:g} s: {what}"

    def assert_stands(self, since_ns: int) -> None:
        """From a moment on, ROS time, the robot has not moved; before it has."""
        journal, now_ns = self.cell.journal, self.cell.world.now_ns
        assert now_ns > since_ns + 100 * MS_NS, "time has hardly passed: nothing is shown"
        assert journal.last_motion_ns(since_ns, now_ns) is None
        assert not journal.broken, journal.broken

    def lease_end_ns(self) -> int:
        """When the arm has to stand for want of a newer lease; the robot is a tick behind its target."""
        return self.cell.journal.newest_lease_ns() + TTL_NS + OVERRUN_NS + 2 * self.cell.journal.tick_ns

    def assert_holds(self) -> None:
        self.assert_stands(self.lease_end_ns())
        _, mode, reason = self.cell.journal.modes[-1]
        assert mode is ArmMode.HOLDING
        assert "lease of the top view ran out" in reason


def with_lockstep(*, lockstep: bool) -> CellOptions:
    return CellOptions(plan=OPTIONS.plan, increments=OPTIONS.increments, lockstep=lockstep)


@every_interleaving
def test_what_is_frozen_stops_the_arm_and_what_thaws_lets_it_go_on(seeds: range) -> None:
    def play(seed: int) -> None:
        moving = Moving(seed)
        actor = moving.some_of("gate_node", "camera_node", "distortion_node")
        actor.freeze()
        moving.play(FAULT_NS)
        moving.assert_holds()
        actor.thaw()
        moving.until(moving.is_moving, "the arm goes on")
        assert not moving.cell.journal.broken, moving.cell.journal.broken
        assert not moving.cell.journal.stops

    interleavings(play, seeds)


@every_interleaving
def test_what_the_gate_holds_stops_the_arm_until_the_images_recover(seeds: range) -> None:
    def play(seed: int) -> None:
        moving = Moving(seed)
        cell = moving.cell
        cell.camera.rgb = DARK
        moving.until(cell.journal.is_held, "a verdict of HOLD")
        moving.play(FAULT_NS)
        moving.assert_stands(cell.journal.held_ns() + BRAKE_NS + 3 * cell.journal.tick_ns)
        _, mode, reason = cell.journal.modes[-1]
        assert mode is ArmMode.HOLDING
        assert "too dark" in reason
        cell.camera.rgb = BRIGHT
        moving.until(moving.is_moving, "the arm goes on")
        assert not cell.journal.broken, cell.journal.broken

    interleavings(play, seeds)


@every_interleaving
def test_without_images_or_verdicts_the_arm_holds_for_good(seeds: range) -> None:
    def play(seed: int) -> None:
        moving = Moving(seed)
        moving.some_of("gate_node", "camera_node", "distortion_node").kill()
        moving.play(FAULT_NS)
        moving.assert_holds()

    interleavings(play, seeds)


@pytest.mark.parametrize("topics", [("/gate/lease",), ("every topic",)], ids=["leases are late", "blocked"])
@every_interleaving
def test_traffic_that_does_not_arrive_stops_the_arm_until_it_does(
    topics: tuple[str, ...], seeds: range
) -> None:
    def play(seed: int) -> None:
        moving = Moving(seed, lockstep=False)
        links = moving.cell.links
        chosen = list(links.values()) if topics[0] not in links else [links[topic] for topic in topics]
        for link in chosen:
            link.is_blocked, link.delay_ns = len(chosen) > 1, 200 * MS_NS
        moving.play(FAULT_NS)
        moving.assert_stands(moving.began_ns + TTL_NS + OVERRUN_NS + 2 * moving.cell.journal.tick_ns)
        for link in chosen:
            link.delay_ns = 0
            link.unblock()
        moving.until(moving.is_moving, "the arm goes on")
        assert not moving.cell.journal.broken, moving.cell.journal.broken

    interleavings(play, seeds)


@pytest.mark.parametrize(
    "frozen",
    [("arm_node",), ("camera_node", "distortion_node", "gate_node", "arm_node", "ur_worker")],
    ids=["arm_node", "all above the robot"],
)
@every_interleaving
def test_the_robots_own_watchdog_stops_an_arm_that_nobody_drives(
    frozen: tuple[str, ...], seeds: range
) -> None:
    def play(seed: int) -> None:
        moving = Moving(seed)
        cell = moving.cell
        for name in frozen:
            cell.actors[name].freeze()
        moving.play(FAULT_NS)
        moving.assert_stands(moving.began_ns + 3 * cell.journal.tick_ns)
        for name in frozen:
            cell.actors[name].thaw()
        moving.until(lambda: bool(cell.journal.stops), "the arm's report")
        moving.until(lambda: cell.trial.finish is not None, "the end of the trial")
        cause = cell.journal.stops[0].cause
        assert cause is StopCause.WATCHDOG or len(frozen) > 1, cell.journal.stops[0]
        assert cause.is_breakdown
        assert not cause.is_emergency
        moving.assert_stands(moving.began_ns + 3 * cell.journal.tick_ns)
        assert "equipment failure" in cell.trial.finish.message

    interleavings(play, seeds)


@every_interleaving
def test_a_worker_that_freezes_is_a_lost_arm_and_stays_stopped(seeds: range) -> None:
    def play(seed: int) -> None:
        moving = Moving(seed)
        cell = moving.cell
        cell.worker.freeze()
        moving.play(FAULT_NS)
        assert cell.journal.stops[0].cause is StopCause.STATE_LOST
        cell.worker.thaw()
        moving.until(lambda: cell.trial.finish is not None, "the end of the trial")
        assert cell.journal.last_motion_ns(moving.began_ns + 3 * cell.journal.tick_ns, 2**63) is None
        assert not cell.journal.broken, cell.journal.broken

    interleavings(play, seeds)


@every_interleaving
def test_an_arm_node_that_dies_leaves_a_robot_that_stands(seeds: range) -> None:
    def play(seed: int) -> None:
        moving = Moving(seed)
        cell = moving.cell
        cell.arm.kill()
        moving.play(FAULT_NS)
        moving.assert_stands(moving.began_ns + 3 * cell.journal.tick_ns)
        assert not cell.world.robot.is_playing
        assert "watchdog" in cell.world.robot.messages[-1]

    interleavings(play, seeds)
