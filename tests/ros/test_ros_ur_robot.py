"""A UR arm in its node: faults are retried every second, a refused arm is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from embodied_iqa.arm.robot.ur.messages import Refusal
from embodied_iqa.arm.robot.ur.model_check import RefusedArmError
from embodied_iqa.base.errors import InputError
from embodied_iqa.live.ros.ur_robot import GIVEN_UP, UrRobot
from manual_clock import ManualClock


class Arm:
    """A driver whose connections all end in the same fault."""

    is_begun, is_connected, state = False, False, None

    def __init__(self, fault: Callable[[int], InputError]) -> None:
        self._fault = fault
        self.starts = 0

    def start(self) -> None:
        self.is_begun = True
        self.starts += 1

    def read(self) -> None:
        raise self._fault(self.starts)

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        pass


class Bench:
    """The robot in a node whose callbacks this test calls, on a clock of its own."""

    def __init__(self, fault: Callable[[int], InputError]) -> None:
        self.arm, self.clock = Arm(fault), ManualClock()
        self.logged: list[str] = []
        self.lost: list[str] = []
        self._handle: Callable[[], None] = lambda: None
        self.robot = UrRobot(self, self.arm, lambda _: None, self.lost.append, self.clock)  # type: ignore[arg-type]

    def create_guard_condition(self, callback: Callable[[], None]) -> SimpleNamespace:
        self._handle = callback
        return SimpleNamespace(trigger=lambda: None)

    def get_logger(self) -> SimpleNamespace:
        return SimpleNamespace(error=self.logged.append, info=self.logged.append)

    def pass_time(self, seconds: float) -> int:
        """Let time pass in steps of 0.5 s; return how often the arm was connected to."""
        before = self.arm.starts
        for _ in range(round(2 * seconds)):
            self.clock.advance(0.5)
            for _again in range(3):  # the watching thread wakes the node every 20 ms
                self._handle()
        return self.arm.starts - before


@pytest.fixture
def bench_of() -> Iterator[Callable[[Callable[[int], InputError]], Bench]]:
    made: list[Bench] = []

    def make(fault: Callable[[int], InputError]) -> Bench:
        made.append(Bench(fault))
        return made[-1]

    yield make
    for bench in made:
        bench.robot.close()


Make = Callable[[Callable[[int], InputError]], Bench]


def test_a_fault_is_retried_every_second(bench_of: Make) -> None:
    bench = bench_of(lambda _start: InputError("no connection"))
    bench.pass_time(1.0)
    assert bench.pass_time(60.0) == 60
    assert bench.logged == ["no connection"]


def test_another_arm_is_refused_once_and_for_good(bench_of: Make) -> None:
    bench = bench_of(lambda start: RefusedArmError(f"a UR5e, {start}", Refusal.ANOTHER_ARM))
    bench.pass_time(3600.0)
    assert bench.arm.starts == 1
    assert bench.logged == [bench.robot.problem] == ["a UR5e, 1"]
    assert set(bench.lost) == {"a UR5e, 1"}, "an armed arm would be stopped"


def test_a_refused_arm_is_connected_to_again_when_the_node_is_configured(bench_of: Make) -> None:
    bench = bench_of(lambda start: RefusedArmError(f"a UR5e, {start}", Refusal.ANOTHER_ARM))
    bench.pass_time(10.0)
    assert GIVEN_UP in bench.robot.counts()
    bench.robot.retry()
    assert bench.pass_time(100.0) == 0
    assert (bench.arm.starts, bench.robot.problem) == (2, "a UR5e, 2")
    assert bench.logged == ["a UR5e, 1", "a UR5e, 2"], "who configures the node is told again"


def test_configuring_does_not_disturb_an_arm_that_was_not_refused(bench_of: Make) -> None:
    bench = bench_of(lambda _start: InputError("no connection"))
    bench.robot.retry()
    assert bench.arm.starts == 0


def test_a_refusal_that_may_pass_is_retried_with_growing_pauses(bench_of: Make) -> None:
    bench = bench_of(lambda start: RefusedArmError(f"not powered, {start}", Refusal.GEOMETRY))
    bench.pass_time(0.5)
    assert bench.arm.starts == 1
    pauses = [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert [bench.pass_time(pause) for pause in pauses] == [1] * len(pauses)
    assert bench.robot.problem == f"not powered, {bench.arm.starts}", "diagnostics show the present refusal"
    assert bench.logged == ["not powered, 1"]
    assert bench.robot.counts() == {}


def test_a_refusal_for_another_reason_is_reported(bench_of: Make) -> None:
    """The arm is powered on meanwhile: now the controller says where it is, and it is not a UR5."""
    bench = bench_of(
        lambda start: RefusedArmError(f"refused, {start}", Refusal.NO_POSE if start < 3 else Refusal.GEOMETRY)
    )
    bench.pass_time(300.0)
    assert bench.arm.starts > 4
    assert bench.logged == ["refused, 1", "refused, 3"]


def test_a_fault_after_a_refusal_is_retried_every_second(bench_of: Make) -> None:
    bench = bench_of(
        lambda start: RefusedArmError("refused", Refusal.GEOMETRY) if start == 1 else InputError("cut")
    )
    bench.pass_time(3.0)
    assert bench.pass_time(10.0) == 10
    assert bench.logged == ["refused", "cut"]


def test_states_that_were_not_handled_are_counted(bench_of: Make) -> None:
    """Not those of the time without a connection."""
    bench = bench_of(lambda _start: InputError("no connection"))
    arm, handled = cast("Any", bench.arm), []
    arm.rate_hz = 500.0
    bench.robot._on_state = handled.append

    def see(controller_s: float) -> object:
        arm.state = SimpleNamespace(controller_s=controller_s, silence_s=0.0, near_misses=0)
        arm.read = object
        bench.pass_time(0.5)
        return bench.robot.counts()["missed states"]

    assert [see(second) for second in (7.0, 7.002, 7.0041, 7.010, 7.010)] == [0, 0, 0, 2, 2]
    assert len(handled) == 4
    del arm.read
    bench.pass_time(2.0)
    assert see(99.0) == 2
    arm.rearm = lambda _reason: None
    bench.robot.rearm("a new run")
    assert [see(second) for second in (100.3, 100.302, 100.306)] == [2, 2, 3], "arming takes states"
