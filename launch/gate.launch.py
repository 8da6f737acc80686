"""Put the gate beside a stack of your own: it judges image topics and passes on the images that are good.

    ros2 launch embodied_iqa gate.launch.py image:=/camera/camera/color/image_raw calibration:=mine.yaml

Topics, messages and what to do on a hold: docs/gate-ros.md.
"""

from __future__ import annotations

import runpy
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from embodied_iqa.base.errors import InputError
from embodied_iqa.runs.graph.gate_only_parameters import gate_parameters_of
from embodied_iqa.runs.graph.launch_arguments import GATE_LAUNCH_ARGUMENTS, files_of
from embodied_iqa.runs.graph.launching import ends_launch

# Launch files are run, not imported: the file next to this one is not on the includer's import path.
environment = runpy.run_path(str(Path(__file__).with_name("embodied_iqa_launch.py")))["environment"]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the node."""
    declared = [
        DeclareLaunchArgument(a.name, default_value=a.default, description=a.description)
        for a in GATE_LAUNCH_ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_start)])


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    values = {a.name: LaunchConfiguration(a.name).perform(context) for a in GATE_LAUNCH_ARGUMENTS}
    ends_launch(values)  # like all values, refused before anything starts
    parameters = gate_parameters_of(values)
    node = Node(
        package="embodied_iqa",
        executable="gate_only_node",
        name=values["name"],
        namespace=values["namespace"],
        parameters=[*(str(file) for file in files_of(values)), *([parameters] if parameters else [])],
        additional_env=environment(),
        output="both",
        on_exit=partial(_ended, values),
    )
    return [node]


def _ended(values: Mapping[str, str], event: ProcessExited, context: LaunchContext) -> None:
    """End the launch where the node has failed; an exception makes the exit code of the launch 1."""
    if event.returncode and not context.is_shutdown and ends_launch(values):
        raise InputError(f"{event.process_name} failed with exit code {event.returncode}")
