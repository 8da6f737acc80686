"""Checks of Python and of the installed packages against the pinned ones."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.pins import Pin, read_pins, replace_pins
from embodied_iqa.base.resources import shared_file, source_checkout
from embodied_iqa.cli.checks.finding import Finding, Status, install_with, try_code

SUPPORTED = ((3, 11), (3, 12))
_SETS = (("core", True), ("ros", True), ("ros-build", False), ("models", False), ("dev", False))
_FIXES = {"models": "make models"}
_EXTRAS = {
    "gate": "the gate in a Python loop and before a policy server; calibrated with image files",
    "record": "recordings of the gate",
    "data": "images, recordings, databases, metrics; the gate calibrated with recordings and data sets",
    "studio": "databases and runs in the browser",
    "models": "VLMs, policies, training",
    "cell": "the arm of the cell",
    "hardware": "RealSense cameras",
    "ros": "rclpy and common messages for a program of your own; trials and nodes need a checkout",
}
"""Extras of the wheel, the smallest first, and what they are for."""
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,.-]+)\])?")
_EXTRA_MARKER = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
_DISTRIBUTION = "embodied_iqa"
GATE = "quality gate"
_JUDGE = """
import numpy as np
import embodied_iqa
quality = embodied_iqa.Gate("simulated").judge(np.zeros((48, 64, 3), np.uint8), "top", 1)
print(f"works: a black image is judged {quality.verdict.name}")
"""
_REPLACEMENTS = "sourced-ros"


def python_version() -> list[Finding]:
    """Report the Python version and its location."""
    version = ".".join(map(str, sys.version_info[:3]))
    detail = f"{version} in {sys.prefix}"
    if sys.version_info[:2] in SUPPORTED:
        return [Finding("Python", Status.OK, detail, required=True)]
    fix = "make setup PYTHON=/path/to/python3.12"
    if source_checkout() is None:
        fix = "install the package with python3.12"
    return [Finding("Python", Status.BROKEN, f"{detail}; 3.11 or 3.12 is needed", fix, required=True)]


def uses_wheels() -> bool:
    """Whether ROS comes from wheels in this environment, not from a sourced installation."""
    found = importlib.util.find_spec("rclpy")
    if found is None or found.origin is None:
        return not os.environ.get("ROS_DISTRO")
    return Path(found.origin).is_relative_to(sys.prefix)


def packages() -> list[Finding]:
    """Compare every pinned set with the installed packages; of a wheel, the extras."""
    if source_checkout() is None:
        return extras(metadata.requires(_DISTRIBUTION) or [])
    try:
        folder = shared_file("requirements")
        return [_compare(folder, name, required=required) for name, required in _SETS if _applies(name)]
    except UserError as error:
        return [Finding("pinned packages", Status.MISSING, str(error), "make setup")]


def extras(requirements: Sequence[str]) -> list[Finding]:
    """Return which extras of the wheel are installed.

    Args:
        requirements: Of the wheel's metadata, such as ``scipy<2; extra == "data"``.
    """
    needs: dict[str, list[tuple[str, str]]] = {}
    for line in requirements:
        text, _, marker = line.partition(";")
        extra, name = _EXTRA_MARKER.search(marker), _REQUIREMENT.match(text.strip())
        if name is not None:
            needs.setdefault(extra[1] if extra else "gate", []).append((name[1], name[2] or ""))
    return [_extra(name, what, _names_of(name, needs)) for name, what in _EXTRAS.items()]


def _names_of(extra: str, needs: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """Return the distributions of an extra and of those that it includes."""
    found = []
    for name, included in needs.get(extra, ()):
        if name.replace("-", "_") == _DISTRIBUTION:
            found += [other for inner in included.split(",") for other in _names_of(inner, needs)]
        else:
            found.append(name)
    return found


def _extra(name: str, what: str, distributions: Sequence[str]) -> Finding:
    missing = [one for one in distributions if not _is_installed(one)]
    if not missing:
        return Finding(f"extra {name}", Status.OK, what)
    detail = f"{what}; {len(missing)} of {len(distributions)} packages are not installed"
    return Finding(f"extra {name}", Status.MISSING, detail, install_with("make setup", name))


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def gate_works() -> list[Finding]:
    """Judge an image with the quality gate."""
    outcome = try_code(_JUDGE)
    if outcome.worked:
        return [Finding(GATE, Status.OK, outcome.text)]
    return [Finding(GATE, Status.BROKEN, outcome.text, install_with("make setup", "gate"))]


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
