"""What a process needs in its environment before rclpy starts."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

from embodied_iqa.errors import MissingDependencyError
from embodied_iqa.resources import shared_file
from embodied_iqa.ros.preload import preload_interfaces

__all__ = ["prepare_environment", "process_environment", "require_ros", "tune_memory"]

_KEEP_BELOW_BYTES = 1 << 29
_TRIM_ABOVE_BYTES = 1 << 28
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def process_environment(environment: MutableMapping[str, str]) -> None:
    """Fill in what is missing, keep what the user has set.

    Traffic stays on this machine, pictures go through shared memory, and the interfaces that were built into
    this Python's own prefix are found.
    """
    prefix = sys.prefix
    if (Path(prefix) / "share" / "ament_index").is_dir():
        known = environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        if prefix not in known:
            environment["AMENT_PREFIX_PATH"] = os.pathsep.join([prefix, *filter(None, known)])
    environment.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    environment.setdefault("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    profile = str(shared_file("config/fastdds_shared_memory.xml"))
    for variable in ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"):
        environment.setdefault(variable, profile)
    environment.setdefault("MUJOCO_GL", "egl")


def tune_memory() -> None:
    """Keep freed picture-sized blocks: page faults of fresh ones are the main cost of moving pictures."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_M_MMAP_THRESHOLD, _TRIM_ABOVE_BYTES)
    libc.mallopt(_M_TRIM_THRESHOLD, _KEEP_BELOW_BYTES)


def prepare_environment() -> None:
    """Make this process ready for rclpy; call it before the first rclpy call."""
    process_environment(os.environ)
    preload_interfaces(Path(sys.prefix), os.environ)
    tune_memory()


def require_ros() -> None:
    """Check that rclpy and our interfaces can be imported.

    Raises:
        MissingDependencyError: They cannot; the message says what to do.
    """
    try:
        import rclpy  # noqa: F401, PLC0415 - the check is the import
    except ImportError as error:
        raise MissingDependencyError(f"ROS 2 is not available ({error}): run `make setup`") from None
    try:
        import embodied_iqa_msgs.msg  # noqa: F401, PLC0415 - the check is the import
    except ImportError as error:
        raise MissingDependencyError(
            f"the interfaces embodied_iqa_msgs are not built ({error}): run `make setup`, "
            "or `colcon build --base-paths . msg` on a sourced ROS and source install/setup.bash"
        ) from None
