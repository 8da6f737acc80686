"""A program that promises a heartbeat is missed where it is frozen."""

from __future__ import annotations

import pytest

from embodied_iqa.arm.robot.supervision import Supervision


@pytest.mark.parametrize(("limit_s", "lost"), [(0.0, ""), (5.0, "the trial has been silent for 5 s")])
def test_only_a_promised_heartbeat_is_missed(limit_s: float, lost: str) -> None:
    supervision = Supervision("the trial")
    supervision.begin(limit_s, 10.0)
    assert supervision.lost(15.0) == ""
    assert supervision.lost(15.1) == lost
    supervision.hear(15.1)
    assert supervision.lost(20.0) == ""
    assert supervision.lost(20.2) == lost
    supervision.begin(limit_s, 30.0)
    assert supervision.lost(30.1) == "", "another promise"
