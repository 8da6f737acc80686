"""The namespace of the graph: every topic, service and action of its nodes is below it."""

from __future__ import annotations

import re
from typing import Final

from embodied_iqa.base.errors import UsageError

_NAMESPACE: Final = re.compile(r"(/[A-Za-z_]\w*)+", re.ASCII)


def parse_namespace(text: str) -> str:
    """Return a namespace with its leading slash; empty for none.

    Args:
        text: Such as ``cell1``, ``/cell1`` or ``site/cell1``; empty or ``/`` for none.

    Raises:
        UsageError: It is not a ROS namespace.
    """
    words = text.strip().strip("/")
    if not words:
        return ""
    namespace = f"/{words}"
    if _NAMESPACE.fullmatch(namespace) is None or "__" in namespace:
        raise UsageError("not a ROS namespace", expected="letters, digits and _, such as cell1", got=text)
    return namespace


def remappings_of(namespace: str) -> tuple[tuple[str, str], ...]:
    """Return the remappings of nodes in a namespace: simulated time and frames of each are its own.

    ROS has one /clock and one tree of frames for all robots; two cells in a domain would drive each other's.
    """
    return (("/clock", "clock"), ("/tf", "tf"), ("/tf_static", "tf_static")) if namespace else ()


def ros_arguments_of(namespace: str) -> list[str]:
    """Return the words behind ``--ros-args`` that put a node into a namespace."""
    if not namespace:
        return []
    rules = [("__ns", namespace), *remappings_of(namespace)]
    return [word for name, target in rules for word in ("-r", f"{name}:={target}")]
