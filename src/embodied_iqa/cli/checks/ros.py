"""Checks of ROS: rclpy, the interfaces, discovery, and a message that is really sent."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli.checks.finding import Finding, Status, install_with, try_code
from embodied_iqa.cli.checks.python import uses_wheels

_READY = "from embodied_iqa.live.ros.environment import prepare_environment as prepare; prepare()\n"
_ROUND_TRIP = (
    _READY
    + """
import time
import rclpy
from rclpy.qos import QoSProfile, DurabilityPolicy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("embodied_iqa_doctor")
topic, seen = f"/embodied_iqa_doctor/try_{time.monotonic_ns()}", []
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_subscription(String, topic, seen.append, latched)
started = time.monotonic()
node.create_publisher(String, topic, latched).publish(String(data="ok"))
while not seen and time.monotonic() - started < 10:
    rclpy.spin_once(node, timeout_sec=0.1)
if not seen:
    raise SystemExit("a message that was sent did not arrive within 10 s")
took_ms = (time.monotonic() - started) * 1e3
print(f"{rclpy.get_rmw_implementation_identifier()}, first message after {took_ms:.0f} ms")
node.destroy_node()
rclpy.shutdown()
"""
)
_INTERFACES = (
    _READY
    + """
import embodied_iqa_msgs.action, embodied_iqa_msgs.msg, embodied_iqa_msgs.srv
from rclpy.type_support import check_for_type_support
names = 0
for package in (embodied_iqa_msgs.msg, embodied_iqa_msgs.srv, embodied_iqa_msgs.action):
    for name in [name for name in vars(package) if name[0].isupper() and "_" not in name]:
        check_for_type_support(getattr(package, name))
        names += 1
print(f"{names} types in {embodied_iqa_msgs.__path__[0]}")
"""
)
_OR_SOURCE = "(wheels), or source /opt/ros/jazzy/setup.bash"
_LAUNCH = "ros2launch"
_FIX_INTERFACES = "make setup in a checkout, or colcon build and source install/setup.bash"


def rclpy_works() -> list[Finding]:
    """Send a message through rclpy and the middleware."""
    outcome = try_code(_ROUND_TRIP)
    if not outcome.worked:
        fix = f"{install_with('make setup', 'ros')} {_OR_SOURCE}"
        return [Finding("rclpy", _status_of(outcome.text), outcome.text, fix, required=True)]
    if uses_wheels():
        where = f"wheels {metadata.version('ros-rclpy')}"
    else:
        where = f"sourced {os.environ.get('ROS_DISTRO', 'ROS')}"
    return [Finding("rclpy", Status.OK, f"{where}; {outcome.text}", required=True)]


def interfaces() -> list[Finding]:
    """Load every interface; in a checkout, compare the built ones with the sources."""
    outcome = try_code(_INTERFACES)
    name = "interfaces"
    if not outcome.worked:
        return [Finding(name, _status_of(outcome.text), outcome.text, _FIX_INTERFACES, required=True)]
    stale = _stale_interfaces()
    if stale:
        detail = f"built from other sources: {', '.join(stale)}"
        return [Finding(name, Status.BROKEN, detail, _FIX_INTERFACES, required=True)]
    return [Finding(name, Status.OK, outcome.text, required=True)]


def middleware() -> list[Finding]:
    """Report the discovery range, and check that the Fast DDS profile exists.

    Fast DDS does not report a wrong path: it falls back to multicast and small buffers.
    """
    from embodied_iqa.live.ros.environment import (
        process_environment,
        stays_here,
    )

    environment = dict(os.environ)
    try:
        process_environment(environment)
    except UserError as error:
        return [
            Finding("Fast DDS profile", Status.MISSING, str(error), "reinstall the package", required=True)
        ]
    return [_discovery(environment, local=stays_here(environment)), _profile(environment)]


def _discovery(environment: Mapping[str, str], *, local: bool) -> Finding:
    reach, domain = environment["ROS_AUTOMATIC_DISCOVERY_RANGE"], environment.get("ROS_DOMAIN_ID", "0")
    where = "this machine only" if local else f"{reach}: traffic may leave this machine"
    return Finding("discovery", Status.OK, f"{where}, domain {domain}", required=True)


def _profile(environment: Mapping[str, str]) -> Finding:
    for variable in ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"):
        file = Path(environment[variable])
        if not file.is_file():
            detail = f"{variable} names {file}, which does not exist"
            return Finding("Fast DDS profile", Status.MISSING, detail, f"unset {variable}", required=True)
    return Finding("Fast DDS profile", Status.OK, str(file), required=True)


def log_folder() -> list[Finding]:
    """Check that ROS can write its logs; it does not start otherwise."""
    named = os.environ.get("ROS_LOG_DIR") or os.environ.get("ROS_HOME") or os.environ.get("HOME")
    if not named:
        detail, fix = "neither HOME nor ROS_LOG_DIR is set", "export ROS_LOG_DIR=/tmp/ros-log"
        return [Finding("ROS logs", Status.BROKEN, detail, fix, required=True)]
    folder = Path(named)
    while not folder.exists():
        folder = folder.parent
    if os.access(folder, os.W_OK):
        return [Finding("ROS logs", Status.OK, f"below {named}", required=True)]
    fix = "export ROS_LOG_DIR=/tmp/ros-log"
    return [Finding("ROS logs", Status.BROKEN, f"{folder} cannot be written", fix, required=True)]


def launching() -> list[Finding]:
    """Look for `ros2 launch`, which belongs to an installed ROS; nothing of this package needs it."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    command = shutil.which("ros2", path=beside)
    if command is not None and importlib.util.find_spec(_LAUNCH) is not None:
        return [Finding("ros2 launch", Status.OK, command)]
    lacking = "not with the wheels" if uses_wheels() else f"the sourced ROS has no {_LAUNCH}"
    detail = f"{lacking}; embodied-iqa trial starts the same graph without it"
    where = "" if source_checkout() is not None else " in a checkout"
    fix = f"install ROS 2 Jazzy, source its setup.bash, then make setup{where}"
    return [Finding("ros2 launch", Status.MISSING, detail, fix)]


def _status_of(reason: str) -> Status:
    return Status.MISSING if "ModuleNotFoundError" in reason else Status.BROKEN


def _stale_interfaces() -> list[str]:
    """Return the interface files of the checkout whose built copy differs."""
    root = source_checkout()
    if root is None:
        return []
    sources = [file for kind in ("msg", "srv", "action") for file in (root / "msg").glob(f"{kind}/*.{kind}")]
    return sorted(file.name for file in sources if not _is_built(file, root / "msg"))


def _is_built(file: Path, folder: Path) -> bool:
    """Whether the first prefix with this file has the same content: rosidl installs the sources too."""
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep), sys.prefix]
    for prefix in filter(None, prefixes):
        copy = Path(prefix) / "share" / "embodied_iqa_msgs" / file.relative_to(folder)
        if copy.is_file():
            return copy.read_bytes() == file.read_bytes()
    return False
