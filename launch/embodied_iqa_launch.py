"""Shared by the launch files: the nodes of the graph as launch actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from launch.actions import DeclareLaunchArgument, EmitEvent, ExecuteProcess, OpaqueFunction, Shutdown
from launch.events import matches_action
from launch.events.process import ProcessExited, ShutdownProcess
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from embodied_iqa.base.errors import InputError
from embodied_iqa.cli import rescore, trial
from embodied_iqa.cli.main import parse
from embodied_iqa.live.ros.domain import session_on
from embodied_iqa.live.ros.environment import process_environment
from embodied_iqa.runs.graph.graph_nodes import UNINTERRUPTED, Purpose
from embodied_iqa.runs.graph.launch_arguments import LaunchArgument, files_of
from embodied_iqa.runs.graph.launching import (
    ends_launch,
    namespace_of,
    overrides_of,
)
from embodied_iqa.runs.graph.namespaces import remappings_of
from embodied_iqa.runs.graph.node_table import nodes_of, resolve, write_parameters
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.recorded_graph import graph_of_recording
from embodied_iqa.runs.graph.session_plan import check_subjects
from embodied_iqa.runs.trial.run_folder import make_run_folder, new_run_id

_CHECKS = {"trial": trial.check, "rescore": rescore.check}
_DOMAIN = ExitStack()
"""Holds the domain until the launch ends."""

Words = Callable[[Mapping[str, str], Path], list[str]]


def describe(
    arguments: tuple[LaunchArgument, ...], purpose: Purpose, command: str, words: Words
) -> LaunchDescription:
    """Return a launch description: the arguments, the nodes of a purpose, and the session on them.

    Args:
        arguments: Arguments of the launch file.
        purpose: Selects the nodes to start.
        command: Sub-command of `embodied-iqa` that runs the session.
        words: Returns its arguments, from the values of the launch arguments and the folder of the run.
    """

    def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
        values = {a.name: LaunchConfiguration(a.name).perform(context) for a in arguments}
        values["namespace"] = namespace_of(values, context.launch_configurations.get("ros_namespace", ""))
        return _actions(values, overrides_of(arguments, values), purpose, (command, words))

    declared = [
        DeclareLaunchArgument(a.name, default_value=a.default, description=a.description) for a in arguments
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=start)])


def _actions(
    values: Mapping[str, str], overrides: Mapping[str, object], purpose: Purpose, session: tuple[str, Words]
) -> list[LaunchDescriptionEntity]:
    folder = Path(values["run_dir"] or Path("runs") / new_run_id(datetime.now().astimezone())).resolve()
    command, words = session
    ends_launch(values)  # refused before anything starts
    arguments = [command, *words(values, folder)]
    _CHECKS[command](parse(arguments)[1])
    namespace, variables = values["namespace"], environment()
    graph = check_subjects(_graph(values, overrides))
    parameters = make_run_folder(folder) / "log" / "parameters.yaml"
    _DOMAIN.enter_context(session_on(os.environ.get("ROS_DOMAIN_ID") or "0"))
    parameters.parent.mkdir(exist_ok=True)
    write_parameters(graph, parameters, namespace)
    started: list[ExecuteProcess] = []
    ended = partial(_ended, started, values)
    started += [
        Node(
            package="embodied_iqa",
            executable=entry.name,
            name=entry.name,
            namespace=namespace,
            remappings=[*remappings_of(namespace)],
            additional_env=variables,
            parameters=[str(parameters)],
            output="both",
            on_exit=ended,
        )
        for entry in nodes_of(graph, purpose)
        if entry.name != "playback_node"  # the session starts it
    ]
    run = ExecuteProcess(
        cmd=[*UNINTERRUPTED, sys.executable, "-m", "embodied_iqa.cli.main", *arguments],
        name="session",
        output="screen",
        additional_env=variables,
        on_exit=ended,
    )
    started.append(run)
    return [*started]


def _graph(values: Mapping[str, str], overrides: Mapping[str, object]) -> GraphParameters:
    """Return the parameters of a trial, or those that rescore a recording."""
    files, namespace = files_of(values), values["namespace"]
    if not values.get("recording"):
        return resolve(files, overrides, namespace=namespace)
    calibration = Path(values["calibration"]) if values["calibration"] else None
    recording = Path(values["recording"])
    return graph_of_recording(
        recording, files, overrides, calibration=calibration, namespace=namespace
    ).for_playback()


def _ended(
    started: Iterable[ExecuteProcess], values: Mapping[str, str], event: ProcessExited, context: LaunchContext
) -> list[LaunchDescriptionEntity]:
    """End the launch with the first process that ends; an exception makes the exit code of the launch 1.

    Included in the launch file of others (``ends_launch:=false``), end the other processes of the graph only.
    """
    if context.is_shutdown:
        return []
    if event.returncode and ends_launch(values):
        raise InputError(f"{event.process_name} failed with exit code {event.returncode}")
    if ends_launch(values):
        return [Shutdown(reason=f"{event.process_name} ended")]
    others = (process for process in started if process is not event.action)
    return [EmitEvent(event=ShutdownProcess(process_matcher=matches_action(process))) for process in others]


def environment() -> dict[str, str]:
    """Return the variables that the processes need beside those of the launch, whose own they leave alone."""
    wanted = dict(os.environ)
    process_environment(wanted)
    return {name: value for name, value in wanted.items() if os.environ.get(name) != value}
