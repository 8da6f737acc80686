"""Speed of the virtual cell: the same goal from the same pose is planned once in all interleavings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from embodied_iqa.arm.robot import acceptance
from embodied_iqa.arm.robot.limits import Violation
from embodied_iqa.arm.robot.planning import Plan, Planner, extended


@pytest.fixture(autouse=True, scope="session")
def _plans_are_remembered() -> Iterator[None]:
    """`extended` is a pure function; its results are immutable."""
    known: dict[tuple[object, ...], tuple[Planner, Plan | Violation]] = {}

    def remembered(planner: Planner, plan: Plan, most: int) -> Plan | Violation:
        way = plan.waypoints.tobytes(), plan.q_start_rad.tobytes(), plan.groups
        key = (id(planner), *way, len(plan.segments), most)
        if key not in known:
            known[key] = planner, extended(planner, plan, most)
        return known[key][1]  # beside the planner, whose id is in the key and must not be used again

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(acceptance, "extended", remembered)
        yield
