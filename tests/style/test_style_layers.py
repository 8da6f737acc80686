"""Imports follow the order of the rooms in CONTRIBUTING.md, and only two rooms import ROS."""

from __future__ import annotations

import re
from functools import cache

from style_sources import PACKAGE, ROOT, Source, imports_of, sources

ONLY_IN_LAUNCH = {
    "launch", "launch_ros", "launch_testing", "ros2cli", "ros2launch", "ros2run",
    "rosbag2_py", "cv_bridge", "tf2", "tf2_ros", "tf2_py", "message_filters",
}  # fmt: skip
"""Not on PyPI: code that imports one of these runs only on an installed ROS."""

ROS_ROOMS = {"ros", "nodes"}


@cache
def order() -> dict[str, int]:
    """Return the rank of every room, from the table in CONTRIBUTING.md, lowest first."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("## Map of the package")[1].split("\n## ")[0]
    rooms = re.findall(r"^\| `([a-z_.]+)` \|", table, re.MULTILINE)
    assert len(rooms) == len(set(rooms)), "a room has two rows"
    return {room: rank for rank, room in enumerate(rooms)}


@cache
def _packages() -> frozenset[str]:
    return frozenset(
        ".".join(file.parent.relative_to(PACKAGE).parts) for file in PACKAGE.rglob("__init__.py")
    )


def room_of(name: str) -> str:
    """Return the room of a dotted name: the innermost package that has a row, or "" for the root."""
    parts = name.split(".")[1:]
    for length in range(len(parts), 0, -1):
        room = ".".join(parts[:length])
        if room in order():
            return room
    return ""


def _is_ros(name: str) -> bool:
    top = name.split(".", maxsplit=1)[0]
    return top in {"rclpy", "builtin_interfaces", "rcl_interfaces", "ament_index_python"} or top.endswith(
        ("_msgs", "_srvs")
    )


def _package() -> tuple[Source, ...]:
    return sources("src")


def test_every_package_and_every_top_level_module_has_its_row() -> None:
    modules = {file.stem for file in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    empty = {"", "reports"}
    parts_of_commands = {package for package in _packages() if package.startswith("cli.")}
    missing = (modules | _packages()) - set(order()) - empty - parts_of_commands
    assert not missing, f"no row in the map of CONTRIBUTING.md: {sorted(missing)}"


def test_every_row_exists() -> None:
    modules = {file.stem for file in PACKAGE.glob("*.py")}
    assert set(order()) <= modules | _packages()


def test_imports_follow_the_order_of_the_map() -> None:
    wrong = []
    for source in _package():
        own = room_of(source.module)
        for line, name in imports_of(source):
            other = room_of(name) if name.startswith("embodied_iqa.") else ""
            if not own or not other:
                continue
            if order()[other] > order()[own]:
                wrong.append(f"{source.name}:{line} ({own}) imports {name}")
    assert not wrong, "\n".join(wrong)


def test_only_ros_and_nodes_import_ros() -> None:
    wrong = [
        f"{source.name}:{line} imports {name}"
        for source in _package()
        for line, name in imports_of(source)
        if room_of(source.module) not in ROS_ROOMS and _is_ros(name)
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
