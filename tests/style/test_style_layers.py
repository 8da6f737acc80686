"""Imports point downwards, and ROS stays at the top."""

from __future__ import annotations

import graphlib
from collections import defaultdict

import pytest
from style_sources import Source, imports_of, sources

LAYERS = (
    {"errors", "config", "files", "resources", "pins", "workers"},
    {"images"},
    {"subjects", "scoring", "metrics", "distortions", "kinematics"},
    {"trial", "recording", "gate", "robot", "simulation", "database"},
    {"analysis"},
    {"ros"},
    {"nodes"},
    {"cli"},
)
"""From the bottom up: a room may import its own layer and those before it."""

RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
ONLY_IN_LAUNCH = {
    "launch", "launch_ros", "launch_testing", "ros2cli", "ros2launch", "ros2run",
    "rosbag2_py", "cv_bridge", "tf2", "tf2_ros", "tf2_py", "message_filters",
}  # fmt: skip
"""Not on PyPI: whoever imports one of these runs on an installed ROS only."""

ROS_ROOMS = {"ros", "nodes"}


def _room(module: str) -> str:
    """The room of a module of the package; "" for the package itself."""
    return [*module.split("."), ""][1]


def _is_ros(name: str) -> bool:
    top = name.split(".", maxsplit=1)[0]
    return top in {"rclpy", "builtin_interfaces", "rcl_interfaces", "ament_index_python"} or top.endswith(
        ("_msgs", "_srvs")
    )


def _package() -> tuple[Source, ...]:
    return sources("src")


def test_every_room_has_its_layer() -> None:
    rooms = {_room(source.module) for source in _package()} - {""}
    assert rooms <= set(RANK), "a new room needs its place in LAYERS"


def test_imports_point_downwards() -> None:
    wrong = [
        f"{source.name}:{line} imports {name}"
        for source in _package()
        for line, name in imports_of(source)
        if name.startswith("embodied_iqa.")
        and _room(source.module)
        and RANK.get(_room(name), -1) > RANK[_room(source.module)]
    ]
    assert not wrong, "\n".join(wrong)


def test_rooms_do_not_import_each_other_in_circles() -> None:
    needs: dict[str, set[str]] = defaultdict(set)
    for source in _package():
        for _, name in imports_of(source):
            if (
                name.startswith("embodied_iqa.")
                and _room(name) in RANK
                and _room(name) != _room(source.module)
            ):
                needs[_room(source.module)].add(_room(name))
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"rooms import each other: {' -> '.join(error.args[1])}")


def test_only_ros_and_nodes_import_ros() -> None:
    wrong = [
        f"{source.name}:{line} imports {name}"
        for source in _package()
        for line, name in imports_of(source)
        if _room(source.module) not in ROS_ROOMS and _is_ros(name)
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
