"""Which ROS the working copy uses: the one that is sourced, or the wheels."""

from __future__ import annotations

import enum
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["RosSource", "base_python", "can_import_rclpy", "clean_environment", "decide"]

_PROBE = "import rclpy; from rclpy.impl.implementation_singleton import rclpy_implementation"

_FOREIGN = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
    "LD_LIBRARY_PATH",
    "PYTHONHOME",
    "PYTHONPATH",
    "ROS_DISTRO",
    "_ROS_WHEELS_BOOTSTRAP_COMPLETE",
)
"""What a shell with another ROS sourced would leak into an environment that has its own."""


class RosSource(enum.Enum):
    """Where rclpy and the standard messages come from."""

    WHEELS = "wheels"
    """PyPI wheels inside the virtual environment."""
    SOURCED = "sourced"
    """An installed ROS whose set-up file was sourced; the environment sees the system's packages."""


def base_python() -> Path:
    """The interpreter below the virtual environment (or this one, outside of any)."""
    major, minor = sys.version_info[:2]
    return Path(sys.base_prefix) / "bin" / f"python{major}.{minor}"


def can_import_rclpy(python: Path, environment: Mapping[str, str]) -> bool:
    """Whether `python` loads rclpy, compiled part included, in `environment`."""
    try:
        probe = subprocess.run(
            [str(python), "-c", _PROBE], env=dict(environment), capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0


def decide(environment: Mapping[str, str], probe: Callable[[], bool]) -> tuple[RosSource, str]:
    """Choose the source of ROS.

    Args:
        environment: The environment variables of the caller.
        probe: Says whether the base interpreter imports rclpy; asked only where ROS is sourced.

    Returns:
        The source, and a remark for the user ("" when there is nothing to say).
    """
    distribution = environment.get("ROS_DISTRO", "")
    if not distribution:
        return RosSource.WHEELS, ""
    if probe():
        return RosSource.SOURCED, f"using the sourced ROS ({distribution})"
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        RosSource.WHEELS,
        f"ROS_DISTRO={distribution} is set, but Python {version} cannot import its rclpy: using the wheels",
    )


def clean_environment(environment: Mapping[str, str], source: RosSource, prefix: Path) -> dict[str, str]:
    """The environment in which set-up's commands run.

    Args:
        environment: The environment variables of the caller.
        source: Where ROS comes from.
        prefix: The virtual environment.

    Returns:
        With wheels, the caller's variables without any other ROS and with the prefix announced to ament and
        CMake; with a sourced ROS, the caller's variables as they are.
    """
    if source is RosSource.SOURCED:
        return dict(environment)
    kept = {name: value for name, value in environment.items() if name not in _FOREIGN}
    return kept | {"AMENT_PREFIX_PATH": str(prefix), "CMAKE_PREFIX_PATH": str(prefix)}
