"""librealsense's Python library, loaded on first use, and the connected cameras."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.base.lazy import load

_INSTALL: Final = "pip install -r requirements/hardware.txt; apt-get install libusb-1.0-0"

Devices: TypeAlias = Callable[[], Sequence[Any]]
"""Lists the connected ``pyrealsense2.device``."""


def load_library() -> Any:
    """Return the module ``pyrealsense2``.

    Raises:
        MissingDependencyError: It is not installed, or the system lacks libusb.
    """
    return load("pyrealsense2", _INSTALL)


def connected_devices() -> list[Any]:
    """List the cameras at this computer's USB.

    Raises:
        MissingDependencyError: The library cannot be loaded.
        InputError: The USB devices cannot be listed.
    """
    library = load_library()
    try:
        return list(library.context().query_devices())
    except RuntimeError as error:
        raise InputError(f"the RealSense cameras cannot be listed: {error}") from error


def serial_of(device: Any) -> str:
    """Return a device's serial number, or an empty string."""
    number = load_library().camera_info.serial_number
    return str(device.get_info(number)) if device.supports(number) else ""


def find_device(devices: Sequence[Any], serial: str) -> Any:
    """Return the device with a serial number; without a number the only connected one.

    Raises:
        InputError: It is not connected.
        UsageError: No number is given and several are connected.
    """
    by_serial = {serial_of(device): device for device in devices}
    available = sorted(by_serial) or ["none"]
    if serial:
        if serial not in by_serial:
            raise InputError(
                "this RealSense is not connected", expected=f"serial number {serial}", available=available
            )
        return by_serial[serial]
    if not devices:
        raise InputError("no RealSense is connected")
    if len(devices) > 1:
        raise UsageError("several RealSense are connected", expected="a serial number", available=available)
    return devices[0]


def colour_modes(device: Any) -> list[str]:
    """List the modes of a device's colour stream, such as ``640x480 at 30 Hz``."""
    library = load_library()
    modes: set[tuple[int, int, int]] = set()
    for sensor in device.query_sensors():
        for profile in sensor.get_stream_profiles():
            if profile.stream_type() == library.stream.color and profile.is_video_stream_profile():
                video = profile.as_video_stream_profile()
                modes.add((video.width(), video.height(), profile.fps()))
    return [f"{width}x{height} at {rate} Hz" for width, height, rate in sorted(modes)]
