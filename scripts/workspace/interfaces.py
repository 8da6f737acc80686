"""Builds the interface package (msg/) into the virtual environment."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from workspace.commands import alone
from workspace.layout import Layout, SetupError
from workspace.ros_source import RosSource

__all__ = ["build_interfaces", "keep_generated", "remove_installed", "reuse_generated"]

_GENERATED = (
    "rosidl_generator_type_description",
    "rosidl_generator_c",
    "rosidl_generator_py",
    "rosidl_typesupport_c",
    "rosidl_typesupport_fastrtps_c",
    "rosidl_typesupport_introspection_c",
)
"""Folders of a build tree with what the generators wrote: the same for every path and version of Python."""


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


def keep_generated(tree: Path, kept: Path) -> None:
    """Copy what the generators wrote in a build tree, for the other environments of the working copy.

    Args:
        tree: The build tree.
        kept: The copy, named after all that the sources depend on; other copies beside it are deleted.
    """
    shutil.rmtree(kept.parent, ignore_errors=True)
    fresh = kept.with_suffix(".new")
    for name in _GENERATED:
        shutil.copytree(tree / name, fresh / name, ignore=shutil.ignore_patterns("*.so"))
    fresh.rename(kept)


def reuse_generated(kept: Path, tree: Path) -> bool:
    """Place the copy in a configured build tree, where make takes it for its own generators' work.

    Returns:
        Whether there is a copy.
    """
    if not kept.is_dir():
        return False
    shutil.copytree(kept, tree, dirs_exist_ok=True)
    now_ns = time.time_ns()  # all alike: none is older than another that it is made from
    for file in (file for name in _GENERATED for file in (tree / name).rglob("*")):
        os.utime(file, ns=(now_ns, now_ns))
    return True


def build_interfaces(
    layout: Layout, source: RosSource, run: Callable[[list[str]], None], sources: Callable[[], str]
) -> None:
    """Configure, build and install embodied_iqa_msgs.

    The build tree is made afresh: rosidl keeps generated files of messages that are gone. Against wheels, the
    sources are generated once for all environments of the working copy: that is half of a build.

    Args:
        layout: Of the working copy.
        source: Where ROS comes from.
        run: Runs a command.
        sources: Returns a digest of the messages and of the generators' versions.

    Raises:
        SetupError: A command failed.
    """
    tree = layout.build / "interfaces"
    manifest = layout.stamps / "interfaces-installed.txt"
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
            # Copies of fields: what -O3 takes longer for gains nothing.
            *(f"-DCMAKE_{language}_FLAGS_RELEASE=-O1 -DNDEBUG" for language in ("C", "CXX")),
        ]
    with alone(layout.generated / "lock", "waiting for another set-up's build of the interface package"):
        kept = layout.generated / "interfaces" / sources() if source is RosSource.WHEELS else None
        reused = _build(tree, words, kept, run)
        # not where somebody edited a message meanwhile
        if kept is not None and not reused and sources() == kept.name:
            with suppress(OSError):  # without a copy the other environments generate
                keep_generated(tree, kept)
    remove_installed(manifest, layout.venv)
    run(["cmake", "--install", str(tree)])
    shutil.copyfile(tree / "install_manifest.txt", manifest)


def _build(tree: Path, words: list[str], kept: Path | None, run: Callable[[list[str]], None]) -> bool:
    """Configure and build, from kept sources where they build; return whether they were used."""
    shutil.rmtree(tree, ignore_errors=True)
    run(words)
    reused = kept is not None and reuse_generated(kept, tree)
    try:
        run(["cmake", "--build", str(tree), f"-j{os.cpu_count() or 1}"])
    except SetupError:
        if kept is None or not reused:
            raise
        shutil.rmtree(kept, ignore_errors=True)  # they may be damaged
        return _build(tree, words, kept, run)
    return reused
