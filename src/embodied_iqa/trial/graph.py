"""The graph in one table: which nodes there are, with which parameters, and when they are needed.

`launch/trial.launch.py` turns it into launch actions, `embodied-iqa trial` into processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import yaml

from embodied_iqa.config import Scalar, build, flatten, load_yaml, values_of
from embodied_iqa.errors import UsageError
from embodied_iqa.resources import shared_file
from embodied_iqa.trial.parameters import (
    ArmParameters,
    CameraParameters,
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

__all__ = [
    "GRAPH",
    "GraphConfig",
    "NodeEntry",
    "Purpose",
    "command_of",
    "nodes_of",
    "resolve",
    "write_parameters",
]

DEFAULT_CONFIG = "config/trial.yaml"
_WORLD_PAUSE_S = 10.0
"""A simulated world pauses where it waits for others: no reason to give its arm up."""
_ROS_KEY = "ros__parameters"
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


def resolve(files: tuple[Path, ...] = (), overrides: Mapping[str, Scalar] | None = None) -> GraphConfig:
    """Resolve the parameters: class defaults, the installed config, the user's files, then overrides.

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
    configs: dict[str, object] = {
        name: build(entry.parameters, merged[name], f"the configuration of {name}")
        for name, entry in _ENTRIES.items()
    }
    return GraphConfig(configs)


def nodes_of(config: GraphConfig, purpose: Purpose = Purpose.TRIAL) -> tuple[NodeEntry, ...]:
    """Return the nodes that this configuration needs."""
    arm = config.nodes["arm_node"]
    simulated = isinstance(arm, ArmParameters) and arm.robot.is_simulated
    return tuple(
        entry for entry in GRAPH if purpose in entry.purposes and (simulated or entry.name != "sim_node")
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


def _link_robot(merged: dict[str, dict[str, object]]) -> None:
    """Let world, arm and trial agree on the robot where only arm_node names it."""
    arm, world, trial = merged["arm_node"], merged["sim_node"], merged["trial_node"]
    if arm.get("robot") == RobotKind.EMULATOR:
        address = str(arm.get("ur.ip") or world.get("emulator_ip") or _own_address())
        arm["ur.ip"] = world["emulator_ip"] = address
        arm.setdefault("ur.state_timeout_s", _WORLD_PAUSE_S)
        arm.setdefault("ur.gripper.reply_s", _WORLD_PAUSE_S)
    elif arm.get("robot") == RobotKind.UR5:
        trial["simulated"] = False


def _own_address() -> str:
    """Return a loopback address for this ROS domain: graphs in other domains emulate other robots."""
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    return f"127.0.1.{1 + int(domain) % 250}" if domain.isdecimal() else "127.0.1.1"


def _uses_sim_time(config: GraphConfig) -> bool:
    return any(entry.name == "sim_node" for entry in nodes_of(config))


def _sections(path: Path) -> dict[str, dict[str, object]]:
    sections: dict[str, dict[str, object]] = {}
    for node, content in load_yaml(path).items():
        if node not in _ENTRIES:
            raise UsageError(f"unknown node in {path}", got=node, available=_ENTRIES)
        if not isinstance(content, dict) or set(content) != {_ROS_KEY}:
            raise UsageError(f"section {node} in {path}", expected=f"one key, {_ROS_KEY}", got=content)
        sections[node] = flatten(content[_ROS_KEY] or {})
    return sections
