"""Imports follow the floors of the wings in CONTRIBUTING.md and the order of the rooms in each wing."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest
from style_sources import PACKAGE, ROOT, Source, imports_of, sources

ONLY_IN_LAUNCH = {
    "launch", "launch_ros", "launch_testing", "ros2cli", "ros2launch", "ros2run",
    "rosbag2_py", "cv_bridge", "tf2", "tf2_ros", "tf2_py", "message_filters",
}  # fmt: skip
"""Not on PyPI: code that imports one of these runs only on an installed ROS."""

ROS_WING = "live"
WITHOUT_ROOMS = {"cli"}
"""Wings of which a module or folder that is no room is a part of the wing itself."""


@cache
def floors() -> dict[str, int]:
    """Return the floor of every wing, from the table in CONTRIBUTING.md, lowest first."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("## Map of the package")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[a-z`, ]+`) \|", table, re.MULTILINE)
    wings = [(wing, floor) for floor, row in enumerate(rows) for wing in re.findall(r"`([a-z]+)`", row)]
    assert len(wings) == len(dict(wings)), "a wing has two rows"
    return dict(wings)


@cache
def rooms(wing: str) -> dict[str, int]:
    """Return the rank of every room of a wing, from the list in its docstring, lowest first."""
    tree = ast.parse((PACKAGE / wing / "__init__.py").read_text(encoding="utf-8"))
    listed = re.findall(r"^- `([a-z_.]+)`:", ast.get_docstring(tree) or "", re.MULTILINE)
    assert len(listed) == len(set(listed)), f"a room of {wing} is listed twice"
    return {room: rank for rank, room in enumerate(listed)}


def room_of(name: str) -> tuple[str, str]:
    """Return wing and room of a dotted name: the innermost listed one, or "" for the wing itself."""
    wing, *parts = name.split(".")[1:] or [""]
    for length in range(len(parts), 0, -1):
        room = ".".join(parts[:length])
        if wing in floors() and room in rooms(wing):
            return wing, room
    return wing, ""


def fault_of(own: str, other: str) -> str:
    """Return why a module must not import another one; empty if it may."""
    (wing, room), (other_wing, other_room) = room_of(own), room_of(other)
    if wing not in floors() or other_wing not in floors():  # the package itself: its public names
        return ""
    if wing != other_wing:
        return "" if floors()[other_wing] < floors()[wing] else f"{wing} stands below or beside {other_wing}"
    if not room or not other_room or rooms(wing)[other_room] <= rooms(wing)[room]:
        return ""
    return f"in {wing}, {room} stands above {other_room}"


def _is_ros(name: str) -> bool:
    top = name.split(".", maxsplit=1)[0]
    return top in {"rclpy", "builtin_interfaces", "rcl_interfaces", "ament_index_python"} or top.endswith(
        ("_msgs", "_srvs")
    )


def _package() -> tuple[Source, ...]:
    return sources("src")


def test_the_package_holds_the_wings_of_the_map() -> None:
    held = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    held |= {file.stem for file in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert held == set(floors())


@pytest.mark.parametrize("wing", sorted(floors()))
def test_every_room_is_listed_and_every_listed_room_exists(wing: str) -> None:
    folder = PACKAGE / wing
    packages = {".".join(file.parent.relative_to(folder).parts) for file in folder.rglob("__init__.py")} - {
        ""
    }
    modules = {file.stem for file in folder.glob("*.py")} - {"__init__"}
    assert set(rooms(wing)) <= packages | modules, f"{wing} lists what it does not have"
    if wing not in WITHOUT_ROOMS:
        above = {room.rpartition(".")[0] for room in rooms(wing)}  # a folder that only holds rooms
        missing = (packages - above | modules) - set(rooms(wing))
        assert not missing, f"not listed in {wing}/__init__.py: {sorted(missing)}"


@pytest.mark.parametrize("wing", sorted(floors()))
def test_a_wing_imports_nothing_by_itself(wing: str) -> None:
    tree = ast.parse((PACKAGE / wing / "__init__.py").read_text(encoding="utf-8"))
    names = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert set(names) <= {"__future__", "typing", "embodied_iqa.base.lazy"}


def test_imports_follow_the_map() -> None:
    wrong = [
        f"{source.name}:{line} imports {name}: {fault}"
        for source in _package()
        for line, name in imports_of(source)
        if name.startswith("embodied_iqa.") and (fault := fault_of(source.module, name))
    ]
    assert not wrong, "\n".join(wrong)


def test_what_is_against_the_map_is_found() -> None:
    assert fault_of("embodied_iqa.base.errors", "embodied_iqa.cli.main")
    assert fault_of("embodied_iqa.pages.studio.app", "embodied_iqa.live.ros.node")
    assert fault_of("embodied_iqa.quality.metrics.metric", "embodied_iqa.quality.gate.judge.step")
    assert not fault_of("embodied_iqa.quality.gate.judge", "embodied_iqa.base.errors")


def test_only_the_wing_of_ros_imports_ros() -> None:
    wrong = [
        f"{source.name}:{line} imports {name}"
        for source in _package()
        for line, name in imports_of(source)
        if room_of(source.module)[0] != ROS_WING and _is_ros(name)
    ]
    assert not wrong, "\n".join(wrong)


def test_what_only_an_installed_ros_has_stays_in_launch() -> None:
    wrong = [
        f"{source.name}:{line} imports {name}"
        for source in sources("src", "tests", "benchmarks", "scripts")
        for line, name in imports_of(source)
        if name.split(".")[0] in ONLY_IN_LAUNCH
    ]
    assert not wrong, "\n".join(wrong)
