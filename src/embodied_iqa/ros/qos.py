"""Quality of service of our topics: nothing is lost, and nothing queues without bound."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

__all__ = ["CLOCK", "COMMAND", "EVENT", "LATCHED", "PICTURE", "STATE"]


def _profile(depth: int, *, latched: bool = False, reliable: bool = True) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


PICTURE = _profile(10)
"""Pictures and what comes with each of them."""
STATE = _profile(50)
"""Fast small streams: joint states, leases."""
COMMAND = _profile(1)
"""Only the newest counts."""
EVENT = _profile(200)
"""Rare and precious: answers, actions, events."""
LATCHED = _profile(1, latched=True)
"""Late subscribers get the last one."""
CLOCK = _profile(1, reliable=False)
"""As rclpy's time source wants it."""
