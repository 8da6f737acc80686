"""Arguments of launch files as data, and those of the gate by itself, which its command has too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class LaunchArgument:
    """One argument of a launch file.

    Attributes:
        name: As in `name:=value`.
        default: Empty if the configuration decides.
        description: One sentence.
        parameter: The `node.parameter` that it sets, or empty.
        value: Placeholder of its value, where it is an option.
    """

    name: str
    default: str
    description: str
    parameter: str = ""
    value: str = ""


GATE_ARGUMENTS: Final = (
    LaunchArgument(
        "image",
        "",
        "image topic, or one for each camera separated by commas; {view} is its name "
        "(default: /{view}/camera/color/image_raw of realsense-ros)",
        "topic.image",
    ),
    LaunchArgument("calibration", "", "file of gate calibrate or gate fit", "calibration", "FILE"),
    LaunchArgument(
        "views",
        "",
        "cameras in the order of the topics, by commas; needed for several (default: the file's)",
        "views",
        "VIEWS",
    ),
    LaunchArgument("transport", "", "raw (default) or compressed", "topic.transport", "TRANSPORT"),
    LaunchArgument("mode", "", "on (default), shadow (never holds) or off", "judge.mode", "MODE"),
    LaunchArgument("judge", "", "statistics (default), learned or metric:NAME", "judge.kind", "NAME"),
    LaunchArgument("config", "", "ROS parameter files, separated by commas"),
    LaunchArgument("name", "gate", "name of the node; its topics are below it (default gate)", value="NAME"),
    LaunchArgument("namespace", "", "namespace of the node (default none)", value="NAME"),
)
GATE_LAUNCH_ARGUMENTS: Final = (
    *GATE_ARGUMENTS,
    LaunchArgument(
        "ends_launch",
        "true",
        "whether a gate that fails ends the launch with exit code 1; false: only itself",
    ),
)


def files_of(values: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the parameter files of the argument ``config``."""
    return tuple(Path(word) for word in words_of(values["config"]))


def words_of(value: str) -> list[str]:
    """Return the words of a value, which are separated by commas."""
    return [word.strip() for word in value.split(",") if word.strip()]
