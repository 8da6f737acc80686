"""Checks of the libraries for arms, real cameras and large models."""

from __future__ import annotations

from dataclasses import replace
from importlib import metadata
from pathlib import Path

from embodied_iqa.base.resources import source_checkout
from embodied_iqa.cli.checks.finding import Finding, Status, install_with, try_code

_REALSENSE = """
import pyrealsense2 as rs
info = rs.camera_info
names = [f"{d.get_info(info.name)} (serial {d.get_info(info.serial_number)})"
         for d in rs.context().query_devices()]
print(f"{len(names)} connected: {', '.join(names)}" if names else "no camera connected")
"""
_UR = "import rtde_control, rtde_receive; print('loads')"
_TRANSFORMERS = "import transformers; print('loads')"
_TORCH = """
from importlib.metadata import PackageNotFoundError, version
import torch
build = f"CUDA {torch.version.cuda} build" if torch.version.cuda else "CPU build"
if torch.version.hip:
    build = f"ROCm {torch.version.hip} build"
try:
    build += f", with triton {version('triton')}"
except PackageNotFoundError:
    build += ", without triton"
print(build + ", " + (torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU"))
"""
_CPU_BUILD = "the pip line for the CPU at https://pytorch.org/get-started/locally/"
_NVIDIA_DRIVER = Path("/proc/driver/nvidia/version")


def realsense() -> list[Finding]:
    """Check the RealSense library and list the connected cameras."""
    library = install_with(".venv/bin/pip install pyrealsense2==2.59.1.11053", "hardware")
    fix = f"{library}; sudo apt-get install libusb-1.0-0"
    return [_library("RealSense", "pyrealsense2", _REALSENSE, fix)]


def universal_robots() -> list[Finding]:
    """Check the client library of the UR controller."""
    return [_library("UR arm", "ur-rtde", _UR, install_with("make setup", "cell"))]


def models() -> list[Finding]:
    """Check the libraries that load large models."""
    fix = install_with("make models", "models")
    has_gpu = _NVIDIA_DRIVER.exists()
    of_torch = fix if has_gpu or source_checkout() else f"{_CPU_BUILD}, then {fix}"
    torch = _library("torch", "torch", _TORCH, of_torch)
    return [
        replace(torch, fix=torch.fix or build_advice(torch.detail, has_gpu=has_gpu)),
        _library("transformers", "transformers", _TRANSFORMERS, fix),
    ]


def build_advice(detail: str, *, has_gpu: bool) -> str:
    """Advice on a build of torch that works and does not fit the machine, or "".

    Args:
        detail: The build as the check reports it.
        has_gpu: Whether the driver of an NVIDIA GPU is loaded.
    """
    if "CPU build" in detail and has_gpu:
        return "models run on the CPU although there is a GPU: install the CUDA build"
    if "CUDA" in detail and detail.endswith("no GPU"):
        if has_gpu:
            return "torch does not find the GPU: see nvidia-smi"
        return "without a GPU the CPU build does the same with 4 GB less: " + (
            "make distclean; make models CPU=1"
            if source_checkout()
            else f"in a new environment, {_CPU_BUILD}, then the wheel"
        )
    return ""


def _library(name: str, distribution: str, code: str, fix: str) -> Finding:
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return Finding(name, Status.MISSING, f"{distribution} is not installed", fix)
    outcome = try_code(code, timeout_s=90.0)
    status = Status.OK if outcome.worked else Status.BROKEN
    return Finding(name, status, f"{distribution} {version}: {outcome.text}", "" if outcome.worked else fix)
