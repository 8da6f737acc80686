"""Builds the interface package (msg/) into the virtual environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from workspace.layout import Layout
from workspace.ros_source import RosSource

__all__ = ["build_interfaces", "remove_installed"]


def remove_installed(manifest: Path, prefix: Path) -> int:
    """Delete the files that the last build installed, so that a removed message does not live on.

    Args:
        manifest: CMake's install_manifest.txt, which lists absolute paths; may be missing.
        prefix: Nothing outside of it is touched.

    Returns:
        How many files were deleted.
    """
    if not manifest.is_file():
        return 0
    count = 0
    for line in manifest.read_text(encoding="utf-8").splitlines():
        file = Path(line)
        if file.is_relative_to(prefix) and file.is_file():
            file.unlink()
            count += 1
    return count


def build_interfaces(layout: Layout, source: RosSource, run: Callable[[list[str]], None]) -> None:
    """Configure, build and install embodied_iqa_msgs.

    The build tree is made afresh: rosidl keeps generated files of messages that are gone, and a whole build
    takes seconds.
    """
    tree = layout.build / "interfaces"
    manifest = layout.stamps / "interfaces-installed.txt"
    shutil.rmtree(tree, ignore_errors=True)
    words = [
        "cmake", "-S", str(layout.messages), "-B", str(tree),
        f"-DCMAKE_INSTALL_PREFIX={layout.venv}",
        f"-DPython3_EXECUTABLE={layout.python}",
        "-DBUILD_TESTING=OFF",
        "-DCMAKE_BUILD_TYPE=Release",
    ]  # fmt: skip
    if source is RosSource.WHEELS:
        words += [
            f"-DCMAKE_PROJECT_INCLUDE={layout.messages / 'cmake' / 'wheel_paths.cmake'}",
            "-DPYTHON_ONLY=ON",
        ]
    run(words)
    run(["cmake", "--build", str(tree), f"-j{os.cpu_count() or 1}"])
    remove_installed(manifest, layout.venv)
    run(["cmake", "--install", str(tree)])
    shutil.copyfile(tree / "install_manifest.txt", manifest)
