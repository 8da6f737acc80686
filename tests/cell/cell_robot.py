"""The world with the emulated robot in it, the robot's client library, and the arm as arm_node runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from cell_journal import Journal
from event_queue import MS_NS, SECOND_NS, Actor, EventQueue, Link, Service

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.firmware import Firmware
from embodied_iqa.arm.emulator.plant import KinematicPlant
from embodied_iqa.arm.robot.arm_runner import ArmRunner, ArmTick, why_not_yet
from embodied_iqa.arm.robot.controller import ArmController
from embodied_iqa.arm.robot.messages import ArmGoal, ArmState, GripperState, RobotFault, StopCause
from embodied_iqa.arm.robot.ur.silence import Silence
from embodied_iqa.world.simulation.lockstep import Lockstep

CAMERA_NS = 60 * MS_NS
EPOCH_NS = 100 * SECOND_NS
WATCHDOG_HZ = 4.0
REPORT_HZ = 25.0
LOCKSTEP_NS = 200 * MS_NS
_SERVO_J, _SERVO_STOP, _SET_WATCHDOG = 11, 16, 35
_STOP_MPS2 = 10.0
_SCRIPT = "def rtde_control():\n    global reg_offset_int = # int register offset\n0\nend\n"
_READY, _DONE = 1, 2


@dataclass(frozen=True, slots=True)
class RobotState:
    """A state as the robot's controller sends it."""

    controller_s: float
    world_ns: int
    q_rad: np.ndarray
    qd_radps: np.ndarray
    gripper: GripperState
    is_playing: bool
    result: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the world, for the cameras and for the trial."""

    stamp_ns: int
    is_done: bool


class World(Actor):
    """sim_node: the emulated controller moves the plant; lockstep as the node does it."""

    def __init__(self, queue: EventQueue, journal: Journal, rate_hz: int, *, lockstep: bool) -> None:
        super().__init__(queue, "sim_node")
        self._tick_ns = SECOND_NS // rate_hz
        self.plant = KinematicPlant()
        self.robot = Controller(Firmware((3, 15, 8, 106339), rate_hz), self.plant, unlock_after_s=0.0)
        self.offset_ns, self.passed_ns = EPOCH_NS, 0
        self.running = self._has_moved = False
        self._journal, self._start_q = journal, self.plant.q_rad
        self._lockstep, self._waits = Lockstep(["arm", "top"]), lockstep
        self._waits_until_ns: int | None = None
        self._next_image_ns = self.now_ns
        self._unjudged_ns: list[int] = []
        self.clock, self.states = Link(queue, 1), Link(queue, 1, (0,))
        self.snapshots, self.status = Link(queue, 10), Link(queue, 1)
        self.every(self._tick_ns, self._tick)

    @property
    def now_ns(self) -> int:
        return self.offset_ns + self.passed_ns

    def take_lease(self, lease: Any) -> None:
        self._lockstep.heard(str(lease.view), lease.frame_stamp_ns)

    def take_command(self, command: dict[str, int | float | tuple[float, ...]]) -> None:
        self.robot.write(command)

    def heard_driver(self, stamp_ns: int) -> None:
        self._lockstep.heard("arm", stamp_ns)

    def load(self, _script: object) -> None:
        self.robot.load(_SCRIPT)

    def reset(self, _request: object, reply: Callable[[Any], None]) -> None:
        self.offset_ns = (self.now_ns // EPOCH_NS + 1) * EPOCH_NS
        self.passed_ns, self.running, self._has_moved = 0, False, False
        self.plant.q_rad, self.plant.qd_radps = self._start_q.copy(), np.zeros(6)
        self.robot.restart()
        self._next_image_ns = self.now_ns
        self._unjudged_ns.clear()
        self._publish_status()
        reply(self.now_ns)

    def run(self, running: bool, reply: Callable[[Any], None]) -> None:
        self.running = running
        self._publish_status()
        reply(True)

    def _tick(self) -> None:
        if not self.running:
            self.robot.step(passing=False)
            self._publish()
            return
        if self._waits_until_ns is None and self.now_ns >= self._next_image_ns:
            self._next_image_ns += CAMERA_NS
            self.snapshots.publish(self._snapshot())
            self._publish_status()
            self._unjudged_ns.append(self.now_ns)
        if self._is_late():
            return
        self._waits_until_ns = None
        self.robot.step(passing=True)
        self.passed_ns += self._tick_ns
        self._has_moved |= bool(np.abs(self.plant.q_rad - self._start_q).max() > 0.02)
        self._journal.moved(self.now_ns, self.plant.q_rad)
        self._publish()

    def _is_late(self) -> bool:
        """Return whether to wait for arm and gate, at most until the deadline."""
        if not self._waits:
            return False
        late = self._lockstep.late(["arm"], self.now_ns)
        if self._unjudged_ns and self.now_ns - self._unjudged_ns[0] >= self._tick_ns:
            late += self._lockstep.late(["top"], self._unjudged_ns[0])
        if late and self._waits_until_ns is None:
            self._waits_until_ns = self.queue.now_ns + LOCKSTEP_NS
        if late and self.queue.now_ns < (self._waits_until_ns or 0):
            return True
        self._lockstep.give_up(late)
        self._unjudged_ns = [stamp for stamp in self._unjudged_ns if self.now_ns - stamp < self._tick_ns]
        return False

    def _publish(self) -> None:
        gripper = GripperState(self.plant.gripper, self.plant.gripper_moving)
        q, qd = self.plant.q_rad.copy(), self.plant.qd_radps.copy()
        controller_s = self.robot.time_ns / SECOND_NS
        result = self.robot.outputs.integers[0]
        state = RobotState(controller_s, self.now_ns, q, qd, gripper, self.robot.is_playing, result)
        self.states.publish(state)
        self.clock.publish(self.now_ns)

    def _publish_status(self) -> None:
        self.status.publish(self._snapshot())

    def _snapshot(self) -> Snapshot:
        return Snapshot(self.now_ns, self._has_moved)


class Worker(Actor):
    """ur_worker: commands in the robot's registers as `ur_rtde` writes them: wait for 1, write, await 2."""

    def __init__(self, queue: EventQueue, world: World) -> None:
        super().__init__(queue, "ur_worker")
        self._controller_s = 0.0
        self._silence = Silence(1.0 / WATCHDOG_HZ, lambda: self._controller_s)
        self._armed = self._arms = self._servoing = self._writes = self._plays = False
        self._todo: list[tuple[int, list[float]]] = []
        self._fault: RobotFault | None = None
        self.to_robot, self.to_arm = Link(queue, 50, (0,)), Link(queue, 1, (0,))
        self.scripts, self.answered = Link(queue, 50, (0,)), Link(queue, 50, (0,))
        self.to_robot.to(world, world.take_command)
        self.scripts.to(world, world.load)
        self.answered.to(world, world.heard_driver)
        world.states.to(self, self._take_state)

    def take(self, command: tuple[str, Any]) -> None:
        """Handle a message of the driver: ``rearm``, ``stop`` or ``answer``."""
        kind, value = command
        if kind == "rearm":
            self._arms, self._fault = True, None
            self._todo = [(_SET_WATCHDOG, [WATCHDOG_HZ])]
            if not self._plays:
                self.scripts.publish(None)
        elif kind == "stop":
            self._armed = self._arms = False
            self._todo = [(_SERVO_STOP, [_STOP_MPS2])] if self._servoing and self._plays else []
            self._servoing = False
        else:
            stamp_ns, q_rad = value
            if self._armed and not self._writes:
                self._silence.end()
                self._servoing |= q_rad is not None
                self._write(0 if q_rad is None else _SERVO_J, [] if q_rad is None else q_rad)
            self.answered.publish(stamp_ns)

    def _write(self, number: int, values: Any) -> None:
        changes = {f"input_double_register_{index}": float(value) for index, value in enumerate(values)}
        self.to_robot.publish(changes | {"input_int_register_0": number})

    def _take_state(self, state: RobotState) -> None:
        self._controller_s, ended = state.controller_s, self._plays and not state.is_playing
        self._plays = state.is_playing
        if self._armed and ended:
            cause = StopCause.WATCHDOG if self._silence.is_exceeded() else StopCause.PROGRAM_ENDED
            self._fault = RobotFault(cause, f"the robot's program ended: {cause}")
            self._armed = self._servoing = False
        if self._writes and (state.result == _DONE or ended):
            self._writes = False
            self._write(0, [])
        elif self._todo and state.is_playing and not self._writes and state.result == _READY:
            self._writes = True
            self._write(*self._todo.pop(0))
        elif self._arms and not self._todo and not self._writes:
            self._silence.restart()
            self._armed, self._arms = True, False
        measured = ArmState(state.world_ns, state.q_rad, state.qd_radps, state.gripper, fault=self._fault)
        self.to_arm.publish((measured, self._armed))


class Arm(Actor):
    """arm_node: goals and leases in, joint targets out."""

    def __init__(
        self, queue: EventQueue, journal: Journal, worker: Worker, controller: ArmController
    ) -> None:
        super().__init__(queue, "arm_node")
        self.runner = ArmRunner(controller, report_rate_hz=REPORT_HZ)
        self._journal = journal
        self._measured: ArmState | None = None
        self._q_target: np.ndarray | None = None
        self._rearming: Callable[[Any], None] | None = None
        self._is_silent = False
        self.ros_ns = 0
        self.reports, self._to_worker = Link(queue, 200), Link(queue, 50, (0,))
        self._to_worker.to(worker, worker.take)
        self._states = worker.to_arm.to(self, self._take_state)
        self.every(20 * MS_NS, self._watch)

    def take_clock(self, now_ns: int) -> None:
        self.ros_ns = now_ns

    def take_lease(self, lease: Any) -> None:
        self._journal.leased(lease)
        self.runner.take_lease(lease)

    def take_goal(self, goal: ArmGoal | None) -> None:
        if goal is not None:
            self._journal.sent(goal)
            self.runner.take_goal(goal)

    def rearm(self, from_ns: int, reply: Callable[[Any], None]) -> None:
        problem = why_not_yet(self._measured, from_ns)
        if problem:
            reply((False, problem))
            return
        self._rearming = reply
        self._to_worker.publish(("rearm", None))

    def stop(self, reason: str, reply: Callable[[Any], None]) -> None:
        self._carry_out(self.runner.stop(reason or "stop requested", self._measured))
        state = self.runner.state
        reply((not state.is_armed, state.reason))

    def _take_state(self, news: tuple[ArmState, bool]) -> None:
        self._measured, accepts = news
        self._is_silent = False
        if self._rearming is not None and accepts:
            reply, self._rearming = self._rearming, None
            tick, state = self.runner.arm(self._measured), self.runner.state
            self._journal.armed(self._measured.stamp_ns if state.is_armed else None)
            self._carry_out(tick)
            reply((state.is_armed, state.reason))
        self._carry_out(self.runner.tick(self._measured))
        q_rad, self._q_target = self._q_target, None
        self._to_worker.publish(("answer", (self._measured.stamp_ns, q_rad if accepts else None)))

    def _watch(self) -> None:
        if self._is_silent and not self._states.waiting:  # `UrRobot` reads before it speaks of silence
            self._carry_out(self.runner.watch(self.ros_ns))
        self._is_silent = True

    def _carry_out(self, tick: ArmTick | None) -> None:
        if tick is None:
            return
        self._journal.ticked(self.runner.state, tick)
        if tick.stop is not None and tick.stop.stop_driver:
            self._to_worker.publish(("stop", None))
        if tick.q_target_rad is not None:
            self._q_target = tick.q_target_rad
        if tick.report is not None:
            self.reports.publish(replace(tick.report))


def services_of(world: World, arm: Arm) -> dict[str, Service]:
    """The services that a trial uses of them."""
    return {
        "reset": Service(world, "/sim/reset", world.reset),
        "run": Service(world, "/sim/run", world.run),
        "rearm": Service(arm, "/arm/rearm", arm.rearm),
        "stop": Service(arm, "/arm/stop", arm.stop),
    }
