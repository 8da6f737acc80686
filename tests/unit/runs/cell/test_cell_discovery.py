"""Topics are awaited until they are discovered, and no longer."""

from __future__ import annotations

from typing import Any

import pytest

from embodied_iqa.runs.cell.discovery import DISCOVERY_S, await_topics
from manual_clock import ManualClock

IMAGE = "sensor_msgs/msg/Image"


def near(seconds: float, within_s: float) -> Any:
    return pytest.approx(seconds, abs=within_s)


def found(appear_s: dict[str, float], wanted: tuple[str, ...] = ()) -> tuple[set[str], float]:
    """Return what is found of topics that appear at these times, and how long that took [s]."""
    clock = ManualClock(pauses_pass=True)
    began_s = clock.now_s()

    def look() -> dict[str, str]:
        return {name: IMAGE for name, at_s in appear_s.items() if clock.now_s() - began_s >= at_s}

    topics = await_topics(look, clock.sleep, wanted, clock=clock)
    return set(topics), clock.now_s() - began_s


def test_a_camera_that_is_discovered_late_is_found_and_nothing_is_awaited_after_it() -> None:
    assert found({"/top": 0.0}) == ({"/top"}, near(1.0, within_s=0.06))
    assert found({"/top": 6.0}) == ({"/top"}, near(7.0, within_s=0.11))


def test_a_second_camera_that_follows_is_found_too() -> None:
    assert found({"/top": 0.0, "/side": 0.8})[0] == {"/top", "/side"}
    assert found({"/top": 0.0, "/side": 5.0}, wanted=("/side",))[0] == {"/top", "/side"}


def test_without_cameras_the_look_ends_at_its_deadline() -> None:
    assert found({}) == (set(), near(DISCOVERY_S, within_s=0.06))
    assert found({"/top": 0.0}, wanted=("/gone",)) == ({"/top"}, near(DISCOVERY_S, within_s=0.06))
