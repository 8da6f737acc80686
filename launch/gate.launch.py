"""Put the gate beside a stack of your own: it judges image topics and passes on the images that are good.

    ros2 launch embodied_iqa gate.launch.py image:=/camera/camera/color/image_raw calibration:=mine.yaml

Topics, messages and what to do on a hold: docs/gate-only.md.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from embodied_iqa.runs.graph.gate_only_parameters import gate_parameters_of
from embodied_iqa.runs.graph.launch_arguments import GATE_ARGUMENTS
from embodied_iqa.runs.graph.launching import files_of

# Launch files are run, not imported: the file next to this one is not on the includer's import path.
environment = runpy.run_path(str(Path(__file__).with_name("embodied_iqa_launch.py")))["environment"]


def generate_launch_description() -> LaunchDescription:
    """Return the arguments and the node."""
    declared = [
        DeclareLaunchArgument(a.name, default_value=a.default, description=a.description)
        for a in GATE_ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=_start)])


def _start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    values = {a.name: LaunchConfiguration(a.name).perform(context) for a in GATE_ARGUMENTS}
    parameters = gate_parameters_of(values)  # refused before anything starts
    node = Node(
        package="embodied_iqa",
        executable="gate_only_node",
        name=values["name"],
        namespace=values["namespace"],
        parameters=[*(str(file) for file in files_of(values)), *([parameters] if parameters else [])],
        additional_env=environment(),
        output="both",
    )
    return [node]
