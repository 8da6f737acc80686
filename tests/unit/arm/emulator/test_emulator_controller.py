"""The emulated controller without sockets: program, stops, watchdog, limits of motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from embodied_iqa.arm.emulator.controller import Controller
from embodied_iqa.arm.emulator.firmware import FIRMWARE, Series
from embodied_iqa.arm.emulator.motions import MAX_JOINT_SPEED_RADPS
from embodied_iqa.arm.emulator.plant import KinematicPlant
from embodied_iqa.arm.emulator.safety import RobotMode
from embodied_iqa.arm.emulator.uploaded_script import UploadedScript, split_scripts

SCRIPT = "def rtde_control():\n    global reg_offset_int = # int register offset\n0\nend\n"
MOVE_J, SERVO_J, SPEED_J, SPEED_STOP, SERVO_STOP, PROTECTIVE, STOP_J, WATCHDOG = 1, 11, 9, 15, 16, 31, 34, 35


class Bench:
    """A controller, its plant, and a client that speaks in registers."""

    def __init__(self, series: Series = Series.E, watchdog_margin_s: float = 0.0) -> None:
        self.plant = KinematicPlant()
        self.controller = Controller(
            FIRMWARE[series], self.plant, unlock_after_s=0.1, watchdog_margin_s=watchdog_margin_s
        )
        self.fastest_radps = 0.0
        self.controller.load(SCRIPT)
        self.ticks(2)

    def ticks(self, count: int) -> None:
        for _ in range(count):
            self.controller.step()
            self.fastest_radps = max(self.fastest_radps, float(np.abs(self.plant.qd_radps).max()))

    def until(self, wanted: Callable[[], bool], most: int = 5000) -> int:
        for tick in range(most):
            if wanted():
                return tick
            self.ticks(1)
        raise AssertionError("it did not happen")

    def write(self, command: int, doubles: object = (), *, integer_1: int = 0) -> None:
        changes: dict[str, int | float | tuple[float, ...]] = {
            f"input_double_register_{index}": float(value)
            for index, value in enumerate(np.asarray(doubles, dtype=float).ravel())
        }
        self.controller.write(changes | {"input_int_register_0": command, "input_int_register_1": integer_1})

    def do(self, command: int, doubles: object = (), *, integer_1: int = 0) -> int:
        """As the client library does it: wait for 1, write, wait for 2, clear; return how long it took."""
        state = self.controller.outputs.integers
        self.until(lambda: state[0] == 1)
        self.write(command, doubles, integer_1=integer_1)
        took = self.until(lambda: state[0] == 2 or not self.controller.is_playing)
        self.controller.write({"input_int_register_0": 0})
        self.ticks(2)
        return took


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_move_ends_exactly_at_its_target(bench: Bench) -> None:
    target = bench.plant.q_rad + 0.3
    bench.do(MOVE_J, [*target, 1.0, 2.0])
    assert np.abs(bench.plant.q_rad - target).max() < 1e-12
    assert bench.fastest_radps <= 1.0 + 1e-9
    assert not bench.plant.qd_radps.any()


def test_background_move_reports_its_progress(bench: Bench) -> None:
    state = bench.controller.outputs.integers
    assert bench.do(MOVE_J, [*(bench.plant.q_rad + 0.3), 1.0, 2.0], integer_1=1) <= 2
    assert state[2] & 0x8000
    bench.until(lambda: not state[2] & 0x8000)
    assert not bench.plant.qd_radps.any()


def test_servo_target_is_reached_in_one_tick_but_never_faster_than_joints_turn(bench: Bench) -> None:
    start = bench.plant.q_rad
    bench.write(SERVO_J, start + 0.002)
    bench.ticks(1)
    assert bench.plant.q_rad == pytest.approx(start + 0.002)
    bench.write(SERVO_J, start + 1.0)
    bench.ticks(100)
    assert bench.fastest_radps <= MAX_JOINT_SPEED_RADPS + 1e-9
    assert (bench.plant.q_rad - start).max() < 100 * 0.002 * MAX_JOINT_SPEED_RADPS + 0.01
    bench.do(SERVO_STOP, [10.0])
    assert not bench.plant.qd_radps.any()


def test_servo_target_is_reached_evenly_in_the_time_of_its_command(bench: Bench) -> None:
    """The command stays in its register: the program executes it again in each tick."""
    start = bench.plant.q_rad
    for number in range(1, 4):
        before = bench.plant.q_rad
        bench.write(SERVO_J, [*(start + 0.002 * number), 0.5, 0.5, 0.008])
        for tick in range(1, 5):
            bench.ticks(1)
            assert bench.plant.q_rad == pytest.approx(before + 0.0005 * tick, abs=1e-9)


def test_speed_is_approached_with_the_acceleration_and_stopped(bench: Bench) -> None:
    bench.write(SPEED_J, [*([0.5] * 6), 1.0, 0.0])
    bench.ticks(100)
    assert bench.plant.qd_radps == pytest.approx(np.full(6, 0.2))
    bench.ticks(400)
    assert bench.plant.qd_radps == pytest.approx(np.full(6, 0.5))
    bench.do(SPEED_STOP, [2.0])
    assert not bench.plant.qd_radps.any()


def test_move_beside_a_stream_ends_the_program_as_on_the_robot(bench: Bench) -> None:
    bench.write(SERVO_J, bench.plant.q_rad)
    bench.ticks(3)
    bench.write(0)
    bench.ticks(2)
    bench.do(MOVE_J, [*(bench.plant.q_rad + 0.3), 1.0, 2.0])
    assert not bench.controller.is_playing
    assert "another thread" in bench.controller.messages[-1]


def test_speed_slider_slows_moves(bench: Bench) -> None:
    start = bench.plant.q_rad
    full = bench.do(MOVE_J, [*(start + 0.3), 1.0, 2.0])
    bench.controller.write({"speed_slider_mask": 1, "speed_slider_fraction": 0.5})
    assert bench.do(MOVE_J, [*start, 1.0, 2.0]) == pytest.approx(2 * full, rel=0.02)


@pytest.mark.parametrize("series", list(Series))
def test_protective_stop_brakes_ends_the_program_and_stays(series: Series) -> None:
    bench = Bench(series)
    bench.write(SPEED_J, [*([0.5] * 6), 10.0, 0.0])
    bench.ticks(100)
    bench.controller.stop_protectively("test")
    bench.ticks(int(0.05 * FIRMWARE[series].rate_hz))
    assert not bench.plant.qd_radps.any()
    assert not bench.controller.is_playing
    stood = bench.plant.q_rad.copy()
    bench.controller.load(SCRIPT)
    bench.write(SERVO_J, stood + 0.1)
    bench.ticks(50)
    assert not bench.controller.is_playing
    assert np.array_equal(bench.plant.q_rad, stood)


def test_protective_stop_is_unlocked_only_after_a_while(bench: Bench) -> None:
    bench.do(PROTECTIVE)
    assert bench.controller.safety.safety_mode == 3
    assert not bench.controller.unlock()
    bench.ticks(60)
    assert bench.controller.unlock()
    assert bench.controller.safety.may_move
    assert not bench.controller.is_playing, "unlocking starts no program"


def test_contact_makes_a_protective_stop_that_unlocking_clears(bench: Bench) -> None:
    bench.plant.contact_violation = "pushes the table"
    bench.ticks(1)
    assert bench.controller.safety.reason == "pushes the table"
    bench.ticks(60)
    assert bench.controller.unlock()
    bench.ticks(1)
    assert bench.controller.safety.may_move


def test_emergency_stop_needs_power_and_brakes_before_a_program_runs(bench: Bench) -> None:
    bench.controller.press_emergency()
    bench.ticks(2)
    assert not bench.controller.power(RobotMode.RUNNING)
    bench.controller.safety.release_emergency()
    bench.controller.load(SCRIPT)
    assert not bench.controller.is_playing
    assert bench.controller.power(RobotMode.RUNNING)
    bench.controller.load(SCRIPT)
    assert bench.controller.is_playing


def test_watchdog_ends_the_program_of_a_silent_client(bench: Bench) -> None:
    bench.do(WATCHDOG, [10.0])
    for _ in range(20):
        bench.ticks(20)
        bench.controller.write({"input_int_register_0": 0})
    assert bench.controller.is_playing
    bench.ticks(60)
    assert not bench.controller.is_playing
    assert "watchdog" in bench.controller.messages[-1]


def test_watchdog_waits_for_its_margin_too() -> None:
    bench = Bench(watchdog_margin_s=1.0)
    bench.do(WATCHDOG, [10.0])
    bench.ticks(540)
    assert bench.controller.is_playing
    bench.ticks(20)
    assert not bench.controller.is_playing


def test_unknown_command_ends_the_program_and_is_named(bench: Bench) -> None:
    bench.do(52)
    assert not bench.controller.is_playing
    assert "52" in bench.controller.messages[-1]


def test_standing_time_handles_commands_but_moves_nothing(bench: Bench) -> None:
    start = bench.plant.q_rad.copy()
    bench.write(SERVO_J, start + 0.1)
    for _ in range(50):
        bench.controller.step(passing=False)
    bench.controller.write({"input_int_register_0": 0})
    bench.ticks(50)
    assert np.array_equal(bench.plant.q_rad, start)
    assert bench.controller.is_playing


@pytest.mark.parametrize("background", [0, 1])
def test_a_move_begun_while_time_stands_still_waits_for_it(bench: Bench, background: int) -> None:
    state, start = bench.controller.outputs.integers, bench.plant.q_rad.copy()
    bench.write(MOVE_J, [*(start + 0.3), 1.0, 2.0], integer_1=background)
    for _ in range(500):
        bench.controller.step(passing=False)
    assert state[0] == 1 + background
    assert np.array_equal(bench.plant.q_rad, start)
    bench.until(lambda: state[0] == 2 and not state[2] & 0x8000)
    assert np.abs(bench.plant.q_rad - start - 0.3).max() < 1e-12
    assert bench.fastest_radps <= 1.0 + 1e-9


@pytest.mark.parametrize("background", [0, 1])
def test_a_restart_ends_a_move_and_its_client_learns_it(bench: Bench, background: int) -> None:
    state = bench.controller.outputs.integers
    bench.write(MOVE_J, [*(bench.plant.q_rad + 0.3), 1.0, 2.0], integer_1=background)
    bench.ticks(50)
    assert (state[0], bool(state[2] & 0x8000)) == (1 + background, bool(background))
    bench.controller.restart()
    stood = bench.plant.q_rad.copy()
    bench.ticks(50)
    assert (state[0], bool(state[2] & 0x8000)) == (2, False)
    assert np.array_equal(bench.plant.q_rad, stood)


def test_a_stop_ends_a_move_that_waits_for_time(bench: Bench) -> None:
    state, start = bench.controller.outputs.integers, bench.plant.q_rad.copy()
    for command, doubles in ((MOVE_J, [*(start + 0.3), 1.0, 2.0]), (STOP_J, [2.0])):
        bench.write(command, doubles, integer_1=1)
        for next_command in (command, 0):
            bench.controller.write({"input_int_register_0": next_command})
            for _ in range(3):
                bench.controller.step(passing=False)
    assert not state[2] & 0x8000
    bench.ticks(50)
    assert np.array_equal(bench.plant.q_rad, start)


def test_restart_forgets_stops_and_motion_but_keeps_the_program(bench: Bench) -> None:
    bench.write(SPEED_J, [*([0.5] * 6), 10.0, 0.0])
    bench.ticks(50)
    bench.controller.write({"input_int_register_0": 0})
    bench.controller.restart()
    stood = bench.plant.q_rad.copy()
    bench.ticks(50)
    assert np.array_equal(bench.plant.q_rad, stood)
    assert bench.controller.is_playing


def test_uploaded_script_is_parsed_for_name_offset_and_path() -> None:
    text = (
        "def rtde_control():\n    global reg_offset_int = # int register offset\n24\n"
        "    def exec_move_path():\n    # inject move path\n\tsignal_async_progress(0)\n"
        "\tmovej([0.1,0,0,0,0,0],a=1.5,v=1e-1,r=0)\n"
        "\tmovel(p[0.2,0,0,0,0,0],a=1,v=0.2,r=0.01)\n    end\nend\n"
    )
    scripts, rest = split_scripts(text + "def later")
    assert rest == "def later"
    script = UploadedScript.parse(scripts[0])
    assert (script.name, script.register_offset) == ("rtde_control", 24)
    joints, line = script.path
    assert (joints.kind, joints.is_pose, joints.speed, joints.acceleration) == ("movej", False, 0.1, 1.5)
    assert (line.kind, line.is_pose, line.target[0]) == ("movel", True, 0.2)
