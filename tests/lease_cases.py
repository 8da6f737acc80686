"""Leases as they may arrive: late, repeated, contradicting, of the future, while clocks jump or stop."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from embodied_iqa.arm.robot.lease_watch import Moment
from embodied_iqa.arm.verdict import GateLease, Verdict
from embodied_iqa.imaging.images.frame import View

MS = 1_000_000
VIEWS = (View.TOP, View.WRIST)
"""Cameras that a consumer obeys; the cases are also of another one."""


def lease(view: View, stamp_ms: int, verdict: Verdict, ttl_ms: int = 120, **changes: Any) -> GateLease:
    return GateLease(view, stamp_ms * MS, verdict, verdict, (stamp_ms + ttl_ms) * MS, **changes)


def lease_cases(seed: int) -> Iterator[tuple[GateLease, Moment, Moment]]:
    """Twenty leases, each with the moment of its arrival and a later one, before the next."""
    chance, ros_ms, steady_ms = random.Random(seed), 1000, 0
    for _ in range(20):
        made = lease(
            chance.choice((*VIEWS, View.SIDE)),
            ros_ms - chance.choice([0, 0, 5, 40, 200, -30]),
            chance.choices(list(Verdict), [8, 1, 1])[0],
            chance.choice([120, 120, 40, 5000]),
            needs_decision=chance.random() < 0.03,
            decision=1 if chance.random() < 0.03 else None,
        )
        now = Moment(ros_ms * MS, steady_ms * MS)
        wait_ms = chance.choice([0, 1, 10, 60])
        ros_ms += chance.choice([wait_ms, wait_ms, 0, -100 if chance.random() < 0.1 else wait_ms])
        steady_ms += wait_ms
        yield made, now, Moment(ros_ms * MS, steady_ms * MS)
