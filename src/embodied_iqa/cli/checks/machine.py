"""Checks of the machine: processors, memory, disk, shared memory for images, offscreen rendering."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from embodied_iqa.base.lazy import has_module
from embodied_iqa.cli.checks.finding import Finding, Status, install_with, try_code

_MEBI = 1 << 20
_GIBI = 1 << 30
_SHARED_NEEDED_BYTES = 192 * _MEBI
"""A 12 MiB segment for each of the graph's processes, and room for a test beside it."""

_DISK_NEEDED_BYTES = 1 * _GIBI
"""A recorded trial of three raw camera streams takes some hundred MiB."""

_SHARED = Path("/dev/shm")  # noqa: S108 - where Fast DDS keeps its segments
_SEGMENTS = ("fastrtps_*", "fastdds_*")


def processors() -> list[Finding]:
    """Count the processors that this process may use."""
    count = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    detail = f"{count} processors, {memory / _GIBI:.0f} GiB of memory"
    if count < 2:
        detail += "; the graph runs, in slow motion"
    return [Finding("processors", Status.OK, detail, required=True)]


def disk(folder: Path | None = None) -> list[Finding]:
    """Check the free space for recordings in the current folder."""
    place = folder or Path.cwd()
    free = shutil.disk_usage(place).free
    detail = f"{free / _GIBI:.1f} GiB free in {place}"
    if free >= _DISK_NEEDED_BYTES:
        return [Finding("disk", Status.OK, detail, required=True)]
    fix = f"free space: a trial may need {_DISK_NEEDED_BYTES // _GIBI} GiB, or choose --out elsewhere"
    return [Finding("disk", Status.BROKEN, detail, fix, required=True)]


def shared_memory(folder: Path = _SHARED) -> list[Finding]:
    """Check the free space in the file system where Fast DDS keeps images."""
    if not folder.is_dir():
        return [
            Finding("shared memory", Status.MISSING, f"no {folder}", "mount a tmpfs there", required=True)
        ]
    usage = shutil.disk_usage(folder)
    detail = f"{usage.free // _MEBI} of {usage.total // _MEBI} MiB free in {folder}"
    if usage.free >= _SHARED_NEEDED_BYTES:
        return [Finding("shared memory", Status.OK, detail, required=True)]
    fix = "docker run --shm-size=1g, or mount -o remount,size=1g /dev/shm; and remove leftovers"
    return [Finding("shared memory", Status.BROKEN, detail, fix, required=True)]


def leftovers(folder: Path = _SHARED, processes: Path = Path("/proc")) -> list[Finding]:
    """Look for segments of killed processes, which nobody frees; without ROS they are of others."""
    if not has_module("rclpy"):
        return []
    files = [file for pattern in _SEGMENTS for file in folder.glob(pattern)]
    used = mapped_segments(processes)
    ours = [file for file in files if file.name not in used and _is_ours(file)]
    if not ours:
        return [Finding("leftovers", Status.OK, f"none among {len(files)} shared segments")]
    size = sum(_size(file) for file in ours) / _MEBI
    detail = f"{len(ours)} segments of processes that were killed ({size:.0f} MiB)"
    return [Finding("leftovers", Status.BROKEN, detail, "fastdds shm clean (.venv/bin with the wheels)")]


def mapped_segments(processes: Path) -> set[str]:
    """Return the names of the files in shared memory that a live process maps or has open."""
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
    """Whether the file is the user's own: other users' processes cannot be inspected."""
    try:
        return file.stat().st_uid == os.getuid()
    except OSError:
        return False


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


_DRAW = """
import os
os.environ.setdefault("MUJOCO_GL", "egl")
import mujoco
import numpy as np
model = mujoco.MjModel.from_xml_string('''
<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="2 2 .1" rgba=".2 .4 .2 1"/>
<geom type="box" size=".3 .3 .3" pos="0 0 .3" rgba=".9 .1 .1 1"/>
<camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 .45 .9"/></worldbody></mujoco>''')
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 120, 160) as renderer:
    renderer.update_scene(data, camera="eye")
    image = renderer.render()
    if float(np.std(image)) < 5.0:
        raise SystemExit(f"the image is empty (mean {image.mean():.1f})")
    from OpenGL import GL
    name = GL.glGetString(GL.GL_RENDERER).decode()
print(f"MuJoCo {mujoco.__version__} through {os.environ['MUJOCO_GL']}: {name}")
"""
_FIX_RENDERING = "sudo apt-get install libegl1 libgl1-mesa-dri, and leave MUJOCO_GL unset or egl"


def rendering() -> list[Finding]:
    """Render a scene offscreen in a process of its own."""
    outcome = try_code(_DRAW, timeout_s=60.0)
    if outcome.worked:
        return [Finding("offscreen images", Status.OK, outcome.text, required=True)]
    if "ModuleNotFoundError" in outcome.text:
        return [
            Finding(
                "offscreen images",
                Status.MISSING,
                outcome.text,
                install_with("make setup", "data"),
                required=True,
            )
        ]
    detail = f"MUJOCO_GL={os.environ.get('MUJOCO_GL', 'egl')}: {outcome.text}"
    return [Finding("offscreen images", Status.BROKEN, detail, _FIX_RENDERING, required=True)]
