"""The machine: processors, memory, disk, and the shared memory that pictures travel through."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from embodied_iqa.cli.checks.finding import Finding, Status

__all__ = ["disk", "leftovers", "mapped_segments", "processors", "shared_memory"]

_MEBI = 1 << 20
_GIBI = 1 << 30
_SHARED_NEEDED_BYTES = 192 * _MEBI
"""A 12 MiB segment for each of the graph's processes, and room for a test beside it."""

_DISK_NEEDED_BYTES = 1 * _GIBI
"""A recorded trial of three raw camera streams takes some hundred MiB."""

_SHARED = Path("/dev/shm")  # noqa: S108 - where Fast DDS keeps its segments
_SEGMENTS = ("fastrtps_*", "fastdds_*")


def processors() -> list[Finding]:
    """Count what this process may use."""
    count = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    detail = f"{count} processors, {memory / _GIBI:.0f} GiB of memory"
    if count < 2:
        detail += "; the graph runs, in slow motion"
    return [Finding("processors", Status.OK, detail, required=True)]


def disk(folder: Path | None = None) -> list[Finding]:
    """Look at the room for recordings below the current folder."""
    place = folder or Path.cwd()
    free = shutil.disk_usage(place).free
    detail = f"{free / _GIBI:.1f} GiB free in {place}"
    if free >= _DISK_NEEDED_BYTES:
        return [Finding("disk", Status.OK, detail, required=True)]
    mend = f"make room: a trial may need {_DISK_NEEDED_BYTES // _GIBI} GiB, or choose --run-dir elsewhere"
    return [Finding("disk", Status.BROKEN, detail, mend, required=True)]


def shared_memory(folder: Path = _SHARED) -> list[Finding]:
    """Look at the room in the file system that Fast DDS keeps pictures in."""
    if not folder.is_dir():
        return [
            Finding("shared memory", Status.MISSING, f"no {folder}", "mount a tmpfs there", required=True)
        ]
    usage = shutil.disk_usage(folder)
    detail = f"{usage.free // _MEBI} of {usage.total // _MEBI} MiB free in {folder}"
    if usage.free >= _SHARED_NEEDED_BYTES:
        return [Finding("shared memory", Status.OK, detail, required=True)]
    mend = "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm; and remove leftovers"
    return [Finding("shared memory", Status.BROKEN, detail, mend, required=True)]


def leftovers(folder: Path = _SHARED, processes: Path = Path("/proc")) -> list[Finding]:
    """Look for segments of killed processes: they are never freed by themselves."""
    files = [file for pattern in _SEGMENTS for file in folder.glob(pattern)]
    used = mapped_segments(processes)
    ours = [file for file in files if file.name not in used and _is_ours(file)]
    if not ours:
        return [Finding("leftovers", Status.OK, f"none among {len(files)} shared segments")]
    size = sum(_size(file) for file in ours) / _MEBI
    detail = f"{len(ours)} segments of processes that were killed ({size:.0f} MiB)"
    return [Finding("leftovers", Status.BROKEN, detail, "fastdds shm clean (.venv/bin with the wheels)")]


def mapped_segments(processes: Path) -> set[str]:
    """Names of the files in shared memory that a live process maps or holds open."""
    used: set[str] = set()
    for process in processes.glob("[0-9]*"):
        used |= _names(_lines(process / "maps"))
        used |= _names(_links(process / "fd"))
    return used


def _names(texts: Iterable[str]) -> set[str]:
    return {text.rsplit("/", 1)[-1] for text in texts if f"{_SHARED}/" in text}


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _links(folder: Path) -> list[str]:
    try:
        return [str(link.readlink()) for link in folder.iterdir()]
    except OSError:
        return []


def _is_ours(file: Path) -> bool:
    """Other users' processes cannot be looked into: their segments are left out."""
    try:
        return file.stat().st_uid == os.getuid()
    except OSError:
        return False


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
