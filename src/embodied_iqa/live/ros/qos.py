"""Quality of service: our topics are reliable, with bounded queues; some can be overridden by parameters."""

from __future__ import annotations

from typing import Final, TypedDict

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

_POLICIES: Final = (
    QoSPolicyKind.RELIABILITY,
    QoSPolicyKind.DURABILITY,
    QoSPolicyKind.HISTORY,
    QoSPolicyKind.DEPTH,
)


def _profile(depth: int, *, latched: bool = False, reliable: bool = True) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


IMAGE = _profile(10)
"""Images, and the messages that come with each image."""
RECORDED_IMAGE = _profile(60)
"""Input of the recorder, which may be held up for seconds on a busy machine and must lose nothing."""
NEWEST_IMAGE = _profile(1)
"""Images where time is real: a newer one replaces the one that waits."""
STATE = _profile(50)
"""Small messages at a high rate: joint states, leases."""
COMMAND = _profile(10)
"""Commands of other people's policies to their controllers, in order."""
EVENT = _profile(200)
"""Rare messages: answers, actions, events."""
LATCHED = _profile(1, latched=True)
"""Subscribers that join later get the last message."""
CHANGES = _profile(50, latched=True)
"""Changes of a state, none of which is lost; subscribers that join later get the last ones."""
SENSOR = _profile(5, reliable=False)
"""Topics of other people's sensors, as rmw_qos_profile_sensor_data has it: whatever they publish is heard."""
NEWEST_SENSOR = _profile(1, reliable=False)
"""The same where a newer message replaces the one that waits."""
NEWEST_STATE = _profile(1, reliable=False)
"""States of other people's drivers at a high rate: only the newest one counts."""
TRANSFORMS = _profile(100)
"""/tf, as tf2 has it."""
TRANSFORMS_STATIC = _profile(100, latched=True)
"""/tf_static of all nodes, as tf2 hears it."""
CLOCK = _profile(1, reliable=False)
"""As the time source of rclpy requires it."""


class AdjustableQos(TypedDict):
    """Arguments of `Node.create_publisher` and `create_subscription`."""

    qos_profile: QoSProfile
    qos_overriding_options: QoSOverridingOptions


def adjustable(qos: QoSProfile) -> AdjustableQos:
    """Return the arguments of a topic whose quality of service its user may override by parameters.

    `runs.graph.qos_overrides` has checked the values before: rclpy would raise other errors.
    """
    own = QoSProfile(  # rclpy writes the overrides into it
        history=qos.history, depth=qos.depth, reliability=qos.reliability, durability=qos.durability
    )
    return {"qos_profile": own, "qos_overriding_options": QoSOverridingOptions(_POLICIES)}


def image_input(*, newest_only: bool) -> QoSProfile:
    """Return the quality of service of a node's input of images: every one in order, or the newest only."""
    return NEWEST_IMAGE if newest_only else IMAGE
