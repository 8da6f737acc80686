"""Speed of the virtual cell: the same goal from the same pose is planned once in all interleavings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.arm.robot import acceptance
from embodied_iqa.arm.robot.limits import Violation
from embodied_iqa.arm.robot.planning import Planner, Segment, plan_goal


@pytest.fixture(autouse=True, scope="session")
def _plans_are_remembered() -> Iterator[None]:
    """`plan_goal` is a pure function; its results are immutable."""
    known: dict[tuple[int, bytes, bytes, float], tuple[Planner, tuple[Segment, ...] | Violation]] = {}

    def remembered(
        planner: Planner, increments: NDArray[np.float64], q_rad: NDArray[np.float64], gripper: float
    ) -> tuple[Segment, ...] | Violation:
        key = (id(planner), increments.tobytes(), q_rad.tobytes(), gripper)
        if key not in known:
            known[key] = planner, plan_goal(planner, increments, q_rad, gripper)
        return known[key][1]  # beside the planner, whose id is in the key and must not be used again

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acceptance, "plan_goal", remembered)
        yield
