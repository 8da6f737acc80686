"""The world is no faster than it may be, and loses no time to the cameras that it need not lose."""

from __future__ import annotations

from itertools import pairwise

import pytest

from embodied_iqa.world.simulation.lockstep import Pace

STEP_S = 0.008


def _begins(pace: Pace, takes_s: list[float]) -> list[float]:
    """When each step begins, if a step takes so long and the next one waits until it is due."""
    now_s, begins = 100.0, []
    for took_s in takes_s:
        begins.append(now_s)
        now_s = max(now_s + took_s, pace.due_s(now_s))
    return [*begins, now_s]


def test_a_fast_machine_steps_in_real_time() -> None:
    begins = _begins(Pace(STEP_S), [0.001] * 50)
    assert [after - before for before, after in pairwise(begins)] == pytest.approx([STEP_S] * 50)


def test_the_time_that_an_image_takes_is_caught_up() -> None:
    round_of_steps = [0.05, *[0.002] * 7]  # 64 ms of the world
    begins = _begins(Pace(STEP_S), round_of_steps * 20)
    assert begins[-1] - begins[0] == pytest.approx(20 * 8 * STEP_S)


def test_a_slow_machine_never_waits() -> None:
    round_of_steps = [0.09, *[0.002] * 7]
    begins = _begins(Pace(STEP_S), round_of_steps * 20)
    assert begins[-1] - begins[0] == pytest.approx(20 * sum(round_of_steps))


def test_a_long_wait_is_not_made_up_for() -> None:
    begins = _begins(Pace(STEP_S), [0.001] * 10 + [5.0] + [0.001] * 100)
    after_s = begins[-1] - begins[11]
    assert after_s == pytest.approx(100 * STEP_S - 0.1)


def test_without_a_limit_nothing_is_waited_for() -> None:
    assert _begins(Pace(0.0), [0.001] * 100)[-1] == pytest.approx(100.1)
