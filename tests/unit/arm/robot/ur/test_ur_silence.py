"""Silences of the driver: near misses are counted, and only a long one explains an ended program."""

from __future__ import annotations

from embodied_iqa.arm.robot.ur.silence import Silence


def test_near_misses_and_what_explains_an_ended_program() -> None:
    now_s = 10.0
    silence = Silence(0.25, lambda: now_s)
    silence.restart()
    for step_s in (0.008, 0.12, 0.13, 0.2, 0.008):
        now_s += step_s
        silence.end()
    assert silence.near_misses == 2
    assert round(silence.longest_s, 3) == 0.2
    assert not silence.is_exceeded(), "the program ended at the pendant"
    now_s += 0.26
    silence.end()  # a late sign of life, after the robot has given up
    now_s += 0.05
    assert silence.is_exceeded()
    for _ in range(4):
        now_s += 0.06
        silence.end()
    assert not silence.is_exceeded(), "that was long ago"
    silence.restart()
    assert (silence.longest_s, silence.is_exceeded()) == (0.0, False)
