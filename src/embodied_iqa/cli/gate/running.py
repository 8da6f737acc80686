"""`embodied-iqa gate run`: the gate as a ROS node beside nodes of others."""

from __future__ import annotations

import argparse
import json
import os
import sys

from embodied_iqa.base.errors import UsageError
from embodied_iqa.live.ros.environment import require_ros
from embodied_iqa.runs.graph.gate_only_parameters import gate_parameters_of
from embodied_iqa.runs.graph.graph_nodes import UNINTERRUPTED
from embodied_iqa.runs.graph.launch_arguments import GATE_ARGUMENTS, LaunchArgument, files_of
from embodied_iqa.runs.graph.namespaces import parse_namespace


def run_gate(arguments: argparse.Namespace) -> int:
    """Become the node, which ends with SIGINT or SIGTERM; returns only where it cannot start."""
    command = command_of({argument.name: _value(arguments, argument) for argument in GATE_ARGUMENTS})
    require_ros()
    os.execvp(command[0], command)  # noqa: S606 - the program is this Python, the words are checked


def _value(arguments: argparse.Namespace, argument: LaunchArgument) -> str:
    """Return the value of an option, or its default; an empty one, as of an unset variable, is neither."""
    value: str | None = getattr(arguments, argument.name)
    if value == "" and argument.parameter:
        raise UsageError(f"--{argument.name} is empty", expected="a value, or without the option the default")
    return argument.default if value is None else value


def command_of(values: dict[str, str]) -> list[str]:
    """Return the command line of the node; the values are those of `GATE_ARGUMENTS`.

    Raises:
        UserError: A value is wrong.
    """
    parameters = gate_parameters_of(values)
    words = ["-r", f"__node:={values['name']}"]
    if namespace := parse_namespace(values["namespace"]):
        words += ["-r", f"__ns:={namespace}"]  # /clock stays: the time of the stack, as of its cameras
    for file in files_of(values):
        words += ["--params-file", str(file)]
    for name, value in parameters.items():
        words += ["-p", f"{name}:={json.dumps(value)}"]
    module = "embodied_iqa.live.nodes.gate_only_node"
    return [*UNINTERRUPTED, sys.executable, "-m", module, "--ros-args", *words]
