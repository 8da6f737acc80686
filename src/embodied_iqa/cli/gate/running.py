"""`embodied-iqa gate run`: the gate as a ROS node beside nodes of others."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from embodied_iqa.base.config import build
from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.frames.cameras import parse_topics
from embodied_iqa.live.ros.environment import require_ros
from embodied_iqa.runs.graph.gate_only_parameters import GateOnlyParameters, gate_parameters_of, passed_topics
from embodied_iqa.runs.graph.graph_nodes import UNINTERRUPTED
from embodied_iqa.runs.graph.launch_arguments import GATE_ARGUMENTS, LaunchArgument, files_of
from embodied_iqa.runs.graph.namespaces import parse_namespace


def run_gate(arguments: argparse.Namespace) -> int:
    """Become the node, which ends with SIGINT or SIGTERM; returns only where it cannot start."""
    options = [argument for argument in GATE_ARGUMENTS if argument.name not in {"image", "config"}]
    values = {argument.name: _value(arguments, argument) for argument in options}
    values |= _images(arguments) | {"config": ",".join(arguments.config)}
    command = command_of(values)
    require_ros()
    if arguments.json:
        print(json.dumps(topics_of(values)), flush=True)  # before this process becomes the node
    os.execvp(command[0], command)  # noqa: S606 - the program is this Python, the words are checked


def _value(arguments: argparse.Namespace, argument: LaunchArgument) -> str:
    """Return the value of an option, or its default; an empty one, as of an unset variable, is neither."""
    value: str | None = getattr(arguments, argument.name)
    if value == "" and argument.parameter:
        raise UsageError(f"--{argument.name} is empty", expected="a value, or without the option the default")
    return argument.default if value is None else value


def _images(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the launch arguments of ``--topic``: ``image``, and ``views`` where it names them.

    Raises:
        UsageError: Some topics have a view and others have not, or the views are named twice.
    """
    words: list[str] = arguments.topic or []
    if "" in words:
        raise UsageError("--topic is empty", expected="a value, or without the option the default")
    if not any("=" in word for word in words):
        return {"image": ",".join(words)}
    if arguments.views is not None:
        raise UsageError("--topic VIEW=TOPIC excludes --views", got=arguments.views)
    topics = parse_topics(words)
    return {"image": ",".join(topics.values()), "views": ",".join(topics)}


def topics_of(values: dict[str, str]) -> dict[str, Any]:
    """Return the names of the node and its topics; the values are those of `GATE_ARGUMENTS`.

    The cameras are null where a parameter file may name others: the node reads it.
    """
    node = f"{parse_namespace(values['namespace'])}/{values['name']}"
    found: dict[str, Any] = {"node": node, "lease": f"{node}/lease", "quality": f"{node}/quality"}
    if values["config"]:
        return found | {"cameras": None}
    config = build(GateOnlyParameters, gate_parameters_of(values), "the arguments of the gate")
    topics = config.topics(config.file())
    passed = passed_topics(topics, config.topic.transport)
    cameras = {
        str(view): {"image": topic, "passed": f"{node}/{passed[view]}"} for view, topic in topics.items()
    }
    return found | {"cameras": cameras}


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
