"""A program that promises a heartbeat is missed where it is frozen."""

from __future__ import annotations

import pytest

from embodied_iqa.arm.robot.supervision import Supervision


@pytest.mark.parametrize(("limit_s", "lost"), [(0.0, ""), (5.0, "the trial has been silent for 5 s")])
def test_only_a_promised_heartbeat_is_missed(limit_s: float, lost: str) -> None:
    supervision = Supervision("the trial", "arm_node")
    supervision.begin(limit_s, 10.0)
    assert supervision.lost(15.0) == ""
    assert supervision.lost(15.1) == lost
    supervision.hear(15.1)
    assert supervision.lost(18.0) == supervision.lost(20.0) == ""
    assert supervision.lost(20.2) == lost
    supervision.begin(limit_s, 30.0)
    assert supervision.lost(30.1) == "", "another promise"


def test_a_program_that_was_frozen_itself_blames_nobody_else() -> None:
    supervision = Supervision("the trial", "arm_node")
    supervision.begin(5.0, 10.0)
    assert supervision.lost(12.0) == ""
    assert supervision.lost(20.5) == "arm_node stood still for 8.5 s"
    assert supervision.lost(20.6) == "arm_node stood still for 8.5 s", "whoever asks first"
    supervision.hear(20.7)
    assert supervision.lost(24.0) == supervision.lost(25.0) == ""
    assert supervision.lost(25.8) == "the trial has been silent for 5 s"
