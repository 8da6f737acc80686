"""Checks of Python and of the installed packages against the pinned ones."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib import metadata
from pathlib import Path

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.pins import Pin, read_pins, replace_pins
from embodied_iqa.base.resources import shared_file
from embodied_iqa.cli.checks.finding import Finding, Status

SUPPORTED = ((3, 11), (3, 12))
_SETS = (("core", True), ("ros", True), ("ros-build", False), ("models", False), ("dev", False))
_FIXES = {"models": "make models"}
_REPLACEMENTS = "sourced-ros"


def python_version() -> list[Finding]:
    """Report the Python version and its location."""
    version = ".".join(map(str, sys.version_info[:3]))
    detail = f"{version} in {sys.prefix}"
    if sys.version_info[:2] in SUPPORTED:
        return [Finding("Python", Status.OK, detail, required=True)]
    fix = "make setup PYTHON=/path/to/python3.12"
    return [Finding("Python", Status.BROKEN, f"{detail}; 3.11 or 3.12 is needed", fix, required=True)]


def uses_wheels() -> bool:
    """Whether ROS comes from wheels in this environment, not from a sourced installation."""
    found = importlib.util.find_spec("rclpy")
    if found is None or found.origin is None:
        return not os.environ.get("ROS_DISTRO")
    return Path(found.origin).is_relative_to(sys.prefix)


def packages() -> list[Finding]:
    """Compare every pinned set with the installed packages."""
    try:
        folder = shared_file("requirements")
        return [_compare(folder, name, required=required) for name, required in _SETS if _applies(name)]
    except UserError as error:
        return [Finding("pinned packages", Status.MISSING, str(error), "make setup")]


def _applies(name: str) -> bool:
    return uses_wheels() or not name.startswith("ros")


def _pins(folder: Path, name: str) -> list[Pin]:
    pins = [pin for pin in read_pins(folder / f"{name}.txt") if _wanted(pin)]
    return pins if uses_wheels() else replace_pins(pins, read_pins(folder / f"{_REPLACEMENTS}.txt"))


def _wanted(pin: Pin) -> bool:
    """Whether the pin's marker holds here."""
    if not pin.marker:
        return True
    try:
        from packaging.markers import Marker
    except ImportError:
        return False
    return Marker(pin.marker).evaluate()


def _compare(folder: Path, name: str, *, required: bool) -> Finding:
    missing, other = [], []
    pins = _pins(folder, name)
    for pin in pins:
        try:
            version = metadata.version(pin.name)
        except metadata.PackageNotFoundError:
            missing.append(pin.name)
            continue
        if pin.version not in {version, version.partition("+")[0]}:  # 2.13.0+cpu is a build of 2.13.0
            other.append(f"{pin.name} {version} (tested: {pin.version})")
    title, fix = f"packages: {name}", _FIXES.get(name, "make setup")
    if missing:
        detail = f"{len(missing)} of {len(pins)} not installed: {', '.join(missing)}"
        return Finding(title, Status.MISSING, detail, fix, required)
    if other:
        # Other versions may work, so the trial is not refused.
        return Finding(title, Status.BROKEN, ", ".join(other), fix)
    return Finding(title, Status.OK, f"{len(pins)} as pinned", required=required)
