"""The emulated Robotiq gripper: activation, atomic commands, object detection."""

from __future__ import annotations

import pytest

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.emulator.gripper import GripperServer, RobotiqModel
from embodied_iqa.arm.emulator.plant import KinematicPlant

TICK_S = 0.008


class Bench:
    def __init__(self) -> None:
        self.plant = KinematicPlant()
        self.gripper = RobotiqModel(self.plant)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK_S)):
            self.plant.advance(8_000_000)
            self.gripper.tick(TICK_S)

    def activate(self) -> None:
        assert self.gripper.write({"ACT": 1})
        self.run(1.0)
        assert self.gripper.read("STA") == 3


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_activation_takes_time_and_nothing_moves_before(bench: Bench) -> None:
    bench.gripper.write({"ACT": 1, "POS": 255, "GTO": 1, "SPE": 255})
    bench.run(0.1)
    assert bench.gripper.read("STA") == 1
    assert bench.plant.gripper == 0.0
    bench.run(1.0)
    assert bench.gripper.read("STA") == 3


def test_target_is_echoed_then_reached(bench: Bench) -> None:
    bench.activate()
    bench.gripper.write({"POS": 200, "SPE": 255, "FOR": 100, "GTO": 1})
    bench.run(TICK_S)
    assert (bench.gripper.read("PRE"), bench.gripper.read("OBJ")) == (200, 0)
    bench.run(1.0)
    assert (bench.gripper.read("POS"), bench.gripper.read("OBJ")) == (200, 3)


@pytest.mark.parametrize("speed", [0, 255])
def test_speed_is_between_30_and_250_mm_per_second(bench: Bench, speed: int) -> None:
    bench.activate()
    bench.gripper.write({"POS": 255, "SPE": speed, "GTO": 1})
    bench.run(0.2)
    assert bench.plant.gripper == pytest.approx(0.2 * (250.0 if speed else 30.0) / 140.0, rel=0.05)


def test_object_between_the_fingers_is_detected(bench: Bench) -> None:
    bench.activate()
    bench.plant.object_at = 0.4
    bench.gripper.write({"POS": 255, "SPE": 255, "GTO": 1})
    bench.run(1.0)
    assert bench.gripper.read("OBJ") == 2
    assert bench.gripper.read("POS") == round(0.4 * 255)


def test_reset_holds_the_fingers(bench: Bench) -> None:
    bench.activate()
    bench.gripper.write({"POS": 255, "SPE": 0, "GTO": 1})
    bench.run(0.2)
    bench.gripper.write({"ACT": 0})
    held = bench.plant.gripper
    bench.run(0.5)
    assert bench.plant.gripper == held
    assert bench.gripper.read("STA") == 0


def test_wrong_command_changes_nothing(bench: Bench) -> None:
    bench.activate()
    for changes in ({"POS": 10, "XYZ": 1}, {"POS": 256}, {"POS": -1}, {"STA": 3}):
        assert not bench.gripper.write(changes)
    assert bench.gripper.read("PRE") == 0


def test_server_speaks_as_the_urcap_does() -> None:
    controller = Controller(FIRMWARE[Series.CB3], KinematicPlant())
    answer = GripperServer(controller.gripper, controller.safety).answer
    assert answer("SET ACT 1 GTO 1") == b"ack"
    assert answer("GET ACT") == b"ACT 1\n"
    for line in ("GET XYZ", "SET POS", "SET POS x", "SET", "HELLO", ""):
        assert answer(line) == b"?"
    controller.press_emergency()
    assert answer("GET ACT") == b"?"
