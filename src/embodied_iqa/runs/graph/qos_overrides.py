"""Overrides of the quality of service of topics, as parameters: what they are called and what they may be.

ROS names them ``qos_overrides.<topic>.<publisher or subscription>.<policy>``, with the name of the topic
after remapping. Offered are the topics of images, camera info, poses and joints, which people remap. What
lets an arm move or moves it, a lease, a decision or a command, is reliable whatever a file says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from embodied_iqa.base.config import Scalar
from embodied_iqa.base.errors import UsageError

PREFIX: Final = "qos_overrides."
MOST_DEPTH: Final = 1000
"""Longest queue: it holds that many images."""
_WORDS: Final = {
    "reliability": ("reliable", "best_effort"),
    "durability": ("volatile", "transient_local"),
    "history": ("keep_last",),
}
_DEPTH: Final = "depth"
_OF_ROS: Final = ("/clock.", "/parameter_events.", "/rosout.")
"""Topics of ROS itself, which a file may set for nodes in C++: rclpy does not override them."""
_NAME: Final = re.compile(
    r"qos_overrides\.(?P<topic>(/[A-Za-z_]\w*)+)\.(?P<end>publisher|subscription)\.(?P<policy>\w+)", re.ASCII
)


def is_qos_override(name: str) -> bool:
    """Return whether a parameter is an override of a quality of service."""
    return name.startswith(PREFIX)


def qos_overrides_of(values: Mapping[str, object], where: str) -> dict[str, Scalar]:
    """Return the overrides among some parameters, checked; without those of topics of ROS itself.

    Args:
        values: Flat names to values.
        where: What the values come from, for the error message.

    Raises:
        UsageError: A name is not of the form of ROS, or a value is not offered.
    """
    found: dict[str, Scalar] = {}
    for name, value in values.items():
        if not is_qos_override(name) or name.removeprefix(PREFIX).startswith(_OF_ROS):
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            raise UsageError(
                f"no override of a quality of service in {where}",
                expected="qos_overrides.TOPIC.publisher or .subscription, and a policy; such as "
                "qos_overrides./camera/top/image_raw.publisher.reliability",
                got=name,
            )
        found[name] = _checked(match["policy"], value, f"{name} in {where}")
    return found


def take_qos_overrides(node: str, values: dict[str, object]) -> dict[str, Scalar]:
    """Take the overrides out of the values of a node and return them, checked.

    Raises:
        UsageError: See `qos_overrides_of`.
    """
    taken = {name: values.pop(name) for name in [*values] if is_qos_override(name)}
    return qos_overrides_of(taken, f"the configuration of {node}")


def everyones(overrides: Mapping[str, Mapping[str, Scalar]]) -> dict[str, Scalar]:
    """Return the overrides that every node has: of a section for all nodes, each takes what it needs.

    Args:
        overrides: Of each node.
    """
    first, *others = [*overrides.values()] or [{}]
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _checked(policy: str, value: object, place: str) -> Scalar:
    if policy == _DEPTH:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_DEPTH:
            raise UsageError(place, expected=f"an integer from 1 to {MOST_DEPTH}", got=value)
        return value
    if policy not in _WORDS:
        raise UsageError(f"no policy of {place}", got=policy, available=[*_WORDS, _DEPTH])
    if not isinstance(value, str) or value not in _WORDS[policy]:
        raise UsageError(place, got=value, available=_WORDS[policy])
    return value
