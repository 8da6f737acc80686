"""Quality-of-service text by which ``ros2 bag play`` publishes a topic with its recorded profile."""

from __future__ import annotations

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.user_files.yaml_files import dump_yaml

_INFINITE = {"sec": 9223372036, "nsec": 854775807}


def qos_text(*, reliable: bool = True, transient_local: bool = False, depth: int = 10) -> str:
    """Return one keep-last profile as rosbag2 writes it since Jazzy (metadata version 9).

    Args:
        reliable: Reliable, otherwise best effort.
        transient_local: Late subscribers get the last messages, otherwise volatile.
        depth: Messages kept.

    Raises:
        UsageError: The depth is below 1.
    """
    if depth < 1:
        raise UsageError("wrong history depth", expected="at least 1", got=depth)
    profile = {
        "history": "keep_last",
        "depth": depth,
        "reliability": "reliable" if reliable else "best_effort",
        "durability": "transient_local" if transient_local else "volatile",
        "deadline": _INFINITE,
        "lifespan": _INFINITE,
        "liveliness": "automatic",
        "liveliness_lease_duration": _INFINITE,
        "avoid_ros_namespace_conventions": False,
    }
    return dump_yaml([profile])
