"""The driver on a simulated world: the world waits for it, states have the world's time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from embodied_iqa.arm.robot.ur.arm import UrArm
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.arm.robot.ur.options import GripperOptions, UrOptions
from embodied_iqa.arm.robot.ur.robotiq_gripper import RobotiqGripper
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.kinematics import tool_along_z
from embodied_iqa.base.kinematics.models import ArmModel
from embodied_iqa.world.scenes.dimensions import cell_home_q_rad, cell_kinematics
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.emulated_robot import EmulatedRobot
from embodied_iqa.world.simulation.world import World
from manual_clock import PATIENCE_S
from ur_emulator import HOSTS
from ur_time import rearm

IP = next(HOSTS)
TICK_NS = 8_000_000
EPOCH_NS = 100_000_000_000
_SLICE_S = 0.05


class LiveWorld(threading.Thread):
    """A world that stands still, or steps and waits after each step for the driver's answer."""

    def __init__(self, arm: ArmModel = ArmModel.UR5) -> None:
        super().__init__(daemon=True)
        self.world = World(make_scene(0, arm=arm))
        self.robot = EmulatedRobot(self.world, IP, TICK_NS, lambda: EPOCH_NS + self.world.time_ns)
        self.passing = threading.Event()
        self.judging = threading.Event()
        """The world runs, and waits for a verdict of the gate."""
        self.unanswered = 0
        self._slices = 0
        self._listened = threading.Condition()
        self._ending = threading.Event()

    def run(self) -> None:
        while not self._ending.is_set():
            passing = self.passing.is_set()
            if passing and self.judging.is_set():
                self.robot.wait()
                self.robot.listen(0.004)
                continue
            self.robot.step(passing=passing)
            self._listen() if passing else self.robot.listen(0.004)
        self.robot.close()

    def _listen(self) -> None:
        """Wait for the answer as long as time is to pass at all."""
        while True:
            self.robot.listen(_SLICE_S)
            with self._listened:
                self._slices += 1
                self._listened.notify_all()
            if self.robot.is_answered:
                return
            if not self.passing.is_set():
                self.unanswered += 1
                return

    def stand_still(self, slices: int) -> None:
        """Return once the world has waited so often; no time has passed meanwhile."""
        with self._listened:
            end, before_ns = self._slices + slices, self.world.time_ns
            assert self._listened.wait_for(lambda: self._slices >= end, PATIENCE_S)
            assert self.world.time_ns == before_ns

    def end(self) -> None:
        self._ending.set()
        self.join(PATIENCE_S)


@pytest.fixture
def world() -> Iterator[LiveWorld]:
    running = LiveWorld()
    running.start()
    yield running
    running.end()


@pytest.fixture
def arm(world: LiveWorld) -> Iterator[UrArm]:
    made = UrArm(UrOptions(ip=IP, state_timeout_s=5.0), tool_along_z(0.2), simulated_time=True)
    made.connect()
    yield made
    world.passing.clear()
    made.close()


def _each_state(arm: UrArm, count: int, answer: Callable[[int], None]) -> list[int]:
    """Answer ``count`` states; return their stamps."""
    stamps, seen_s = [], -1.0
    while len(stamps) < count:
        arm.wait(PATIENCE_S)
        state = arm.read()
        if state is not None and arm.state.controller_s != seen_s:
            seen_s = arm.state.controller_s
            stamps.append(state.stamp_ns)
            answer(len(stamps))
    return stamps


def test_arm_is_armed_while_time_stands_still(world: LiveWorld, arm: UrArm) -> None:
    before = arm.read().stamp_ns
    rearm(arm)
    assert arm.is_armed
    assert arm.read().stamp_ns == before == EPOCH_NS


def test_gripper_is_activated_while_time_stands_still(world: LiveWorld) -> None:
    gripper = RobotiqGripper(IP, GripperOptions(reply_s=5.0))
    gripper.wait_ready(20.0)
    assert world.world.time_ns == 0
    gripper.close()


def test_world_waits_for_every_answer_and_every_state_is_seen(world: LiveWorld, arm: UrArm) -> None:
    rearm(arm)
    q_rad = np.array(arm.state.q_rad)
    world.passing.set()
    targets = [q_rad]

    def answer(number: int) -> None:
        if number % 40 == 0:
            world.stand_still(2)  # a slow partner slows the world, nothing is lost
        targets.append(q_rad + 0.002 * number)
        arm.stream(targets[-1])

    _each_state(arm, 5, answer)
    late = world.unanswered
    stamps = _each_state(arm, 150, answer)
    assert set(np.diff(stamps)) == {TICK_NS}
    assert world.unanswered == late
    apart = np.abs(np.array(arm.state.q_rad) - targets[-3]).max()
    assert apart < 0.005


def test_an_arm_that_was_stopped_is_armed_again_while_the_world_runs(world: LiveWorld, arm: UrArm) -> None:
    """The program takes the commands of arming in steps of the world, which waits for an answer in each."""
    rearm(arm)
    world.passing.set()
    _each_state(arm, 5, lambda _: arm.idle())
    for _ in range(5):
        arm.stop("a hostile action")
        _each_state(arm, 5, lambda _: arm.idle())
        rearm(arm, "again")
        held = np.array(arm.state.q_rad)
        arm.stream(held)
        _each_state(arm, 5, lambda _, held=held: arm.stream(held))
        assert arm.is_armed


def test_an_arm_that_was_stopped_is_armed_again_while_the_world_waits_for_a_verdict(
    world: LiveWorld, arm: UrArm
) -> None:
    """The commands of arming are answered by the controller's program, however long the gate takes."""
    rearm(arm)
    q_rad = np.array(arm.state.q_rad)
    world.passing.set()
    _each_state(arm, 20, lambda number: arm.stream(q_rad + 0.002 * number))
    arm.stop("a hostile action")
    _each_state(arm, 60, lambda _: arm.idle())
    world.judging.set()
    before_ns = world.world.time_ns
    rearm(arm, "again")
    assert arm.is_armed
    assert abs(world.world.time_ns - before_ns) <= TICK_NS, "one step may have been under way"
    world.judging.clear()
    held = np.array(arm.state.q_rad)
    _each_state(arm, 30, lambda number: arm.stream(held + 0.002 * number))
    assert np.abs(np.array(arm.state.q_rad) - held).min() > 0.02


def test_idle_driver_keeps_the_world_going(world: LiveWorld, arm: UrArm) -> None:
    world.passing.set()
    _each_state(arm, 5, lambda _: arm.idle())
    late = world.unanswered
    assert set(np.diff(_each_state(arm, 50, lambda _: arm.idle()))) == {TICK_NS}
    assert world.unanswered == late


def test_state_of_a_moving_gripper_is_that_of_the_same_step(world: LiveWorld) -> None:
    gripper = RobotiqGripper(IP, GripperOptions(reply_s=5.0))
    gripper.wait_ready(20.0)
    options = UrOptions(ip=IP, state_timeout_s=5.0)
    arm = UrArm(options, tool_along_z(0.2), simulated_time=True, gripper=gripper)
    arm.connect()
    try:
        rearm(arm)
        arm.idle()
        world.passing.set()
        _each_state(arm, 5, lambda _: arm.idle())
        arm.move_gripper(1.0)
        seen: list[tuple[float, float]] = []

        def answer(_number: int) -> None:
            seen.append((arm.read().gripper.position, world.world.gripper))
            arm.idle()

        _each_state(arm, 60, answer)
        assert seen[-1][0] > 0.3, "it moves"
        assert max(abs(reported - actual) for reported, actual in seen) < 0.02
    finally:
        world.passing.clear()
        arm.close()


@pytest.mark.parametrize("tick_ns", [4_000_000, 2_000_000])
def test_rate_that_is_not_that_of_the_cell_is_refused(tick_ns: int) -> None:
    with pytest.raises(UsageError, match=r"cell has another sim_node.state_rate_hz; expected 125"):
        EmulatedRobot(World(make_scene(0)), IP, tick_ns, lambda: 0)


@pytest.mark.parametrize(
    "model",
    [
        ArmModel.UR5E,
        ArmModel.UR10,
        pytest.param(ArmModel.UR10E, marks=pytest.mark.stress),
        pytest.param(ArmModel.UR16E, marks=pytest.mark.stress),
    ],
)
def test_another_arm_of_the_cell_is_driven_through_its_own_controller(model: ArmModel) -> None:
    """An e-Series controller ticks four times in a step, and the driver sees every fourth state."""
    running = LiveWorld(model)
    running.start()
    options = UrOptions(ip=IP, state_timeout_s=5.0)
    arms = [
        UrArm(options, tool_along_z(0.2), model=one, rate_hz=125.0, simulated_time=True)
        for one in (model, ArmModel.UR5)
    ]
    try:
        with pytest.raises(RefusedArmError, match=f"{model.geometry.name}"):
            arms[1].connect()
        arm = arms[0]
        arm.connect()
        rearm(arm)
        q_rad, start = np.array(arm.state.q_rad), arm.T_base_tool
        np.testing.assert_allclose(q_rad, cell_home_q_rad(model), atol=1e-4)
        np.testing.assert_allclose(start, cell_kinematics(model).forward(q_rad), atol=1e-4)
        running.passing.set()
        targets = [q_rad]

        def answer(number: int) -> None:
            targets.append(q_rad + 0.002 * number)
            arm.stream(targets[-1])

        _each_state(arm, 5, answer)
        late = running.unanswered
        assert set(np.diff(_each_state(arm, 100, answer))) == {TICK_NS}
        assert running.unanswered == late
        assert np.abs(np.array(arm.state.q_rad) - targets[-3]).max() < 0.005
    finally:
        running.passing.clear()
        for made in arms:
            made.close()
        running.end()
