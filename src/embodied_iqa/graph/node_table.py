"""The graph in one table: which nodes there are, with which parameters, and when they are needed.

`launch/trial.launch.py` turns it into launch actions, `embodied-iqa trial` into processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from embodied_iqa.config import Scalar, build, flatten, load_yaml, parameters_of, values_of
from embodied_iqa.errors import UsageError
from embodied_iqa.gate.verdict import GateMode
from embodied_iqa.graph.parameters import (
    ArmParameters,
    CameraParameters,
    CameraSource,
    DistortionParameters,
    GateParameters,
    PlaybackParameters,
    RecorderParameters,
    RobotKind,
    SimParameters,
    TrialParameters,
    VlaParameters,
    VlmParameters,
)
from embodied_iqa.resources import shared_file
from embodied_iqa.subjects.backends.panel.members import VLA_NAMES
from embodied_iqa.subjects.catalogue import Backend

__all__ = [
    "GRAPH",
    "GraphConfig",
    "NodeEntry",
    "Purpose",
    "command_of",
    "nodes_of",
    "nodes_with",
    "resolve",
    "write_parameters",
]

DEFAULT_CONFIG = "config/trial.yaml"
_WORLD_PAUSE_S = 30.0
"""A simulated world pauses where it waits for others: no reason to give its arm up."""
_ROS_KEY = "ros__parameters"
_MODE = "judge.mode"
_CAMERA_TOOL = "hand_eye.tool_length_m"
_ALL_NODES = "/**"


class Purpose(StrEnum):
    """What the graph is started for."""

    TRIAL = "trial"
    """Tasks on a robot or in simulation."""
    RESCORE = "rescore"
    """A recorded trial played back."""


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """One node of the graph.

    Attributes:
        name: Of the node, its executable and its module in `embodied_iqa.nodes`.
        parameters: Its configuration class.
        lifecycle: The trial or the playback configures and activates it.
        purposes: What it is needed for.
    """

    name: str
    parameters: type
    lifecycle: bool = False
    purposes: tuple[Purpose, ...] = (Purpose.TRIAL,)


_BOTH = (Purpose.TRIAL, Purpose.RESCORE)

GRAPH: tuple[NodeEntry, ...] = (
    NodeEntry("sim_node", SimParameters),
    NodeEntry("camera_node", CameraParameters),
    NodeEntry("distortion_node", DistortionParameters, purposes=_BOTH),
    NodeEntry("gate_node", GateParameters, lifecycle=True, purposes=_BOTH),
    NodeEntry("vlm_node", VlmParameters, lifecycle=True, purposes=_BOTH),
    NodeEntry("vla_node", VlaParameters, lifecycle=True, purposes=_BOTH),
    NodeEntry("arm_node", ArmParameters, lifecycle=True),
    NodeEntry("recorder_node", RecorderParameters, purposes=_BOTH),
    NodeEntry("trial_node", TrialParameters),
    NodeEntry("playback_node", PlaybackParameters, purposes=(Purpose.RESCORE,)),
)
"""In the order in which they are started."""

_ENTRIES = {entry.name: entry for entry in GRAPH}


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """The resolved parameters of every node, by node name."""

    nodes: Mapping[str, object]

    def values(self) -> dict[str, dict[str, Scalar]]:
        """Return node name to flat parameter names and plain values."""
        return {name: values_of(config) for name, config in self.nodes.items()}

    @property
    def robot(self) -> RobotKind:
        """Which arm moves."""
        arm = self.nodes["arm_node"]
        return arm.robot if isinstance(arm, ArmParameters) else RobotKind.NONE


def resolve(files: tuple[Path, ...] = (), overrides: Mapping[str, Scalar] | None = None) -> GraphConfig:
    """Resolve the parameters: class defaults, the installed config, the user's files, then overrides.

    Where nobody sets the gate's mode, it is ``on`` for a real arm, which must not move on bad pictures, and
    ``shadow`` in simulation, where the question is what bad pictures do.

    Args:
        files: YAML in the form of ROS parameter files; later ones win.
        overrides: ``node.parameter`` to value; a node that the graph lacks or an unknown name is an error.

    Raises:
        UsageError: An unknown node, name or value.
        InputError: A file cannot be read.
    """
    merged: dict[str, dict[str, object]] = {name: {} for name in _ENTRIES}
    for path in (shared_file(DEFAULT_CONFIG), *files):
        for node, values in _sections(path).items():
            merged[node].update(values)
    for name, value in (overrides or {}).items():
        node, dot, parameter = name.partition(".")
        if node not in _ENTRIES or not dot:
            raise UsageError("unknown node in an override", got=name, available=_ENTRIES)
        merged[node][parameter] = value
    _link_robot(merged)
    _link_views(merged)
    _link_tool(merged)
    if _MODE not in merged["gate_node"]:
        word = merged["arm_node"].get("robot", RobotKind.SIM)
        simulated = any(word == kind and kind.is_simulated for kind in RobotKind)
        merged["gate_node"][_MODE] = str(GateMode.SHADOW if simulated else GateMode.ON)
    configs: dict[str, Any] = {
        name: build(entry.parameters, merged[name], f"the configuration of {name}")
        for name, entry in _ENTRIES.items()
    }
    return _consistent(configs)


def nodes_of(config: GraphConfig, purpose: Purpose = Purpose.TRIAL) -> tuple[NodeEntry, ...]:
    """Return the nodes that this configuration needs."""
    missing = set() if config.robot.is_simulated else {"sim_node"}
    if config.robot is RobotKind.NONE:
        missing.add("arm_node")
    return tuple(entry for entry in GRAPH if purpose in entry.purposes and entry.name not in missing)


def nodes_with(parameter: str) -> tuple[str, ...]:
    """Return the nodes that have a parameter of this name."""
    return tuple(
        entry.name
        for entry in GRAPH
        if any(known.name == parameter for known in parameters_of(entry.parameters))
    )


def write_parameters(config: GraphConfig, path: Path) -> None:
    """Write the resolved parameters as a ROS parameter file, with /clock for all where time is simulated."""
    tree: dict[str, object] = {_ALL_NODES: {_ROS_KEY: {"use_sim_time": _uses_sim_time(config)}}}
    tree |= {name: {_ROS_KEY: values} for name, values in config.values().items()}
    path.write_text(yaml.safe_dump(tree, sort_keys=False, default_flow_style=None), encoding="utf-8")


def command_of(entry: NodeEntry, parameters: Path) -> list[str]:
    """Return the command line that starts a node without the launch package."""
    module = f"embodied_iqa.nodes.{entry.name}"
    return [sys.executable, "-m", module, "--ros-args", "--params-file", str(parameters)]


def _consistent(configs: dict[str, Any]) -> GraphConfig:
    """Return the parameters with what follows from the robot.

    Raises:
        UsageError: Parameters of different nodes contradict each other.
    """
    views = {name: config.views for name, config in configs.items() if hasattr(config, "views")}
    different = [name for name in views if views[name] != views["camera_node"]]
    if different:
        expected = f"the views of camera_node, {', '.join(views['camera_node'])}"
        raise UsageError(f"{different[0]} has other views", expected=expected, got=list(views[different[0]]))
    robot, source = configs["arm_node"].robot, configs["camera_node"].source
    if (source is CameraSource.SIMULATED) != robot.is_simulated:
        raise UsageError(
            f"camera {source} does not go with robot {robot}",
            available=[
                "camera simulated with robot sim",
                "camera realsense with robot ur5 or none",
                "camera files or bag with robot none",
            ],
        )
    trial, vla = configs["trial_node"], configs["vla_node"]
    if robot is RobotKind.UR5 and (vla.subject in VLA_NAMES or vla.subject.startswith(f"{Backend.PANEL}:")):
        raise UsageError(
            f"{vla.subject} was taught in the simulator and moves no real arm",
            expected="vla_node.subject: a policy for this arm (docs/policies.md)",
        )
    has_arm = robot is not RobotKind.NONE
    managed = tuple(name for name in trial.managed_nodes if has_arm or name != "arm_node")
    configs["trial_node"] = replace(
        trial,
        simulated=robot.is_simulated,
        has_arm=has_arm,
        managed_nodes=managed,
        limits=configs["arm_node"].limits,
    )
    configs["vla_node"] = replace(vla, has_arm=has_arm)
    return GraphConfig(configs)


def _link_robot(merged: dict[str, dict[str, object]]) -> None:
    """Let world and arm agree on the robot where only arm_node names it."""
    arm, world = merged["arm_node"], merged["sim_node"]
    if arm.get("robot", RobotKind.SIM) == RobotKind.SIM:
        address = str(arm.get("ur.ip") or world.get("emulator_ip") or _own_address())
        arm["ur.ip"] = world["emulator_ip"] = address
        arm.setdefault("ur.state_timeout_s", _WORLD_PAUSE_S)
        arm.setdefault("ur.gripper.reply_s", _WORLD_PAUSE_S)


def _link_views(merged: dict[str, dict[str, object]]) -> None:
    """Give the cameras' views to every node that names none itself."""
    views = merged["camera_node"].get("views")
    for name in nodes_with("views") if views is not None else ():
        merged[name].setdefault("views", views)


def _link_tool(merged: dict[str, dict[str, object]]) -> None:
    """Let the wrist camera's pose rest on the tool that the arm has.

    Raises:
        UsageError: Both name a tool, and not the same.
    """
    length_m = merged["arm_node"].get("tool_length_m")
    if length_m is None:
        return
    named_m = merged["camera_node"].setdefault(_CAMERA_TOOL, length_m)
    if named_m != length_m:
        raise UsageError(
            f"camera_node.{_CAMERA_TOOL} is not arm_node.tool_length_m", expected=str(length_m), got=named_m
        )


def _own_address() -> str:
    """Return a loopback address for this session: others on this machine emulate other robots."""
    return f"127.0.{1 + os.getpid() // 250 % 250}.{1 + os.getpid() % 250}"


def _uses_sim_time(config: GraphConfig) -> bool:
    return any(entry.name == "sim_node" for entry in nodes_of(config))


def _sections(path: Path) -> dict[str, dict[str, object]]:
    sections: dict[str, dict[str, object]] = {}
    for node, content in load_yaml(path).items():
        if node not in _ENTRIES:
            raise UsageError(f"unknown node in {path}", got=node, available=_ENTRIES)
        if not isinstance(content, dict) or set(content) != {_ROS_KEY}:
            raise UsageError(f"section {node} in {path}", expected=f"one key, {_ROS_KEY}", got=content)
        values = content[_ROS_KEY] or {}
        if not isinstance(values, dict):
            raise UsageError(f"{_ROS_KEY} of {node} in {path}", expected="names and values", got=values)
        sections[node] = flatten(values)
    return sections
