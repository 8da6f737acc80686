"""Environment of a ROS process: variables, allocator and interface libraries, set before rclpy starts."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, MutableMapping
from importlib import import_module
from pathlib import Path

from embodied_iqa.base.errors import MissingDependencyError
from embodied_iqa.base.resources import shared_file

_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
_PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
_IMAGE_PROFILE = "config/fastdds_shared_memory.xml"
_CONTROL_PROFILE = "config/fastdds_loopback.xml"
_NETWORK_PROFILE = "config/fastdds_network.xml"
_AS_THE_PROFILE = "SYSTEM_DEFAULT"

_MMAP_THRESHOLD = (-3, 1 << 28)
"""Parameter of glibc's mallopt and its value [byte]."""
_TRIM_THRESHOLD = (-1, 1 << 29)


def process_environment(environment: MutableMapping[str, str]) -> None:
    """Set the variables that the user has not set.

    Traffic stays on this machine, images go through shared memory, and interfaces that were built into the
    prefix of this Python are found.
    """
    prefix = sys.prefix
    if (Path(prefix) / "share" / "ament_index").is_dir():
        known = environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        if prefix not in known:
            environment["AMENT_PREFIX_PATH"] = os.pathsep.join([prefix, *filter(None, known)])
    environment.setdefault("RMW_IMPLEMENTATION", "rmw_fastrtps_cpp")
    environment.setdefault("MUJOCO_GL", "egl")
    _set_profile(environment)


def stays_here(environment: Mapping[str, str]) -> bool:
    """Return whether the traffic stays on this machine; after `process_environment`."""
    local = {str(shared_file(_IMAGE_PROFILE)), str(shared_file(_CONTROL_PROFILE))}
    profiles = {environment[variable] for variable in _PROFILES}
    return environment[_RANGE] in {"LOCALHOST", "OFF"} or profiles <= local


def _set_profile(environment: MutableMapping[str, str]) -> None:
    """Set the profile of the discovery range, unless the user has a profile.

    With the range LOCALHOST the middleware adds a transport that listens on every interface, so the profile
    itself keeps the traffic on this machine.
    """
    reach = environment.setdefault(_RANGE, "LOCALHOST")
    local, network = str(shared_file(_IMAGE_PROFILE)), str(shared_file(_NETWORK_PROFILE))
    named = {environment[variable] for variable in _PROFILES if environment.get(variable)}
    if named - {local, network}:
        environment.update({variable: environment.get(variable) or local for variable in _PROFILES})
    elif reach == "LOCALHOST":
        environment.update(dict.fromkeys(_PROFILES, local))
        environment[_RANGE] = _AS_THE_PROFILE
    elif reach != _AS_THE_PROFILE or local not in named:  # else the parent process has set both
        environment.update(dict.fromkeys(_PROFILES, network))


def use_sockets_only(environment: MutableMapping[str, str]) -> None:
    """Keep a process that closes a control loop out of shared memory; after `process_environment`.

    Fast DDS guards each shared-memory port with a mutex of all its processes. A receiver that freezes or dies
    while it holds that mutex blocks each sender for 1 s a message, "owner died without unlocking?"; a socket
    never waits. A profile or a wider range of the user's stays as it is.
    """
    ours = {str(shared_file(_IMAGE_PROFILE))} == {environment.get(variable) for variable in _PROFILES}
    if ours and environment.get(_RANGE) == _AS_THE_PROFILE:
        environment.update(dict.fromkeys(_PROFILES, str(shared_file(_CONTROL_PROFILE))))


def _tune_memory() -> None:
    """Keep freed blocks of image size: page faults of new ones are the main cost of passing images on."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        for parameter, value_bytes in (_MMAP_THRESHOLD, _TRIM_THRESHOLD):
            libc.mallopt(parameter, value_bytes)


def preload_interfaces(prefix: Path, environment: Mapping[str, str]) -> int:
    """Load the libraries of embodied_iqa_msgs of a prefix, unless the dynamic loader finds them by itself.

    `make setup` builds embodied_iqa_msgs into the virtual environment. The ROS wheels add the lib folder of
    the environment to the search path of the loader; a sourced ROS does not, and the path is fixed once the
    process runs. A library that is already loaded is found by its name alone.

    Args:
        prefix: Install prefix of embodied_iqa_msgs; nothing happens where there is none.
        environment: The variables that this process was started with.

    Returns:
        How many libraries were loaded.

    Raises:
        MissingDependencyError: A library does not load; the message names what it lacks.
    """
    folder = prefix / "lib"
    if str(folder) in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        return 0
    pending = sorted(folder.glob("libembodied_iqa_msgs__*.so"))
    count = len(pending)
    # They depend on each other; each round loads those whose dependencies are loaded.
    while pending:
        reasons = {file: reason for file in pending if (reason := _load(file))}
        if len(reasons) == len(pending):
            raise MissingDependencyError(
                f"the interfaces do not load ({next(iter(reasons.values()))}): run `make setup` in a checkout"
            )
        pending = list(reasons)
    return count


def _load(file: Path) -> str:
    """Load a library for the whole process; return why that failed, or ""."""
    try:
        ctypes.CDLL(str(file), ctypes.RTLD_GLOBAL)
    except OSError as error:
        return str(error)
    return ""


def prepare_environment(*, sockets_only: bool = False) -> None:
    """Prepare this process for rclpy; call this before the first rclpy call.

    Args:
        sockets_only: See `use_sockets_only`.
    """
    process_environment(os.environ)
    if sockets_only:
        use_sockets_only(os.environ)
    preload_interfaces(Path(sys.prefix), os.environ)
    _tune_memory()


def require_ros() -> None:
    """Check that rclpy and our interfaces can be imported.

    Raises:
        MissingDependencyError: They cannot; the message says what to do.
    """
    try:
        import_module("rclpy")
    except ImportError as error:
        raise MissingDependencyError(
            f"ROS 2 is not available ({error}): run `make setup` in a checkout"
        ) from None
    try:
        import_module("embodied_iqa_msgs.msg")
    except ImportError as error:
        raise MissingDependencyError(
            f"the interfaces embodied_iqa_msgs are not built ({error}): run `make setup` in a checkout, "
            "or `colcon build` on a sourced ROS and source install/setup.bash"
        ) from None
