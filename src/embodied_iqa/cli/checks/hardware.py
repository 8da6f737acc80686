"""Checks of the libraries for arms, real cameras and large models."""

from __future__ import annotations

from importlib import metadata

from embodied_iqa.cli.checks.finding import Finding, Status, try_code

_REALSENSE = """
import pyrealsense2 as rs
info = rs.camera_info
names = [f"{d.get_info(info.name)} (serial {d.get_info(info.serial_number)})"
         for d in rs.context().query_devices()]
print(f"{len(names)} connected: {', '.join(names)}" if names else "no camera connected")
"""
_PIP = "optional: .venv/bin/pip install"
_UR = "import rtde_control, rtde_receive; print('loads')"
_TRANSFORMERS = "import transformers; print('loads')"
_TORCH = """
import torch
print(torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU only")
"""


def realsense() -> list[Finding]:
    """Check the RealSense library and list the connected cameras."""
    fix = f"{_PIP} pyrealsense2==2.59.1.11053; sudo apt-get install libusb-1.0-0"
    return [_library("RealSense", "pyrealsense2", _REALSENSE, fix)]


def universal_robots() -> list[Finding]:
    """Check the client library of the UR controller."""
    return [_library("UR arm", "ur-rtde", _UR, "make setup")]


def models() -> list[Finding]:
    """Check the libraries that load large models."""
    return [
        _library("torch", "torch", _TORCH, f"{_PIP} torch==2.13.0 torchvision==0.28.0"),
        _library("transformers", "transformers", _TRANSFORMERS, f"{_PIP} transformers==5.23.0"),
    ]


def _library(name: str, distribution: str, code: str, fix: str) -> Finding:
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return Finding(name, Status.MISSING, f"{distribution} is not installed", fix)
    outcome = try_code(code, timeout_s=90.0)
    status = Status.OK if outcome.worked else Status.BROKEN
    return Finding(name, status, f"{distribution} {version}: {outcome.text}", "" if outcome.worked else fix)
