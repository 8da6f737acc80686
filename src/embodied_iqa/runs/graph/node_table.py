"""The parameters of the ROS graph, from files and overrides, and the nodes that they need."""

from __future__ import annotations

import os
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from embodied_iqa.arm.horizon_options import Horizon
from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.config import Parameter, build, named, parameters_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.resources import shared_file
from embodied_iqa.base.user_files.yaml_files import dump_yaml
from embodied_iqa.models.subjects.actions.real_arm import refuse_real_arm
from embodied_iqa.models.subjects.backends.panel.stepping import EXECUTE_STEPS
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.quality.gate.calibration_file import SHIPPED_CALIBRATION
from embodied_iqa.runs.graph.arm_parameters import RobotKind
from embodied_iqa.runs.graph.camera_parameters import DEFAULT_VIEWS, CameraParameters, cameras_of
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.runs.graph.default_judge import with_default_judge
from embodied_iqa.runs.graph.graph_nodes import GRAPH, NodeEntry, Purpose
from embodied_iqa.runs.graph.lease_parameters import check_leases, link_nodes
from embodied_iqa.runs.graph.node_sections import values_by_node
from embodied_iqa.runs.graph.parameter_files import ALL_NODES, ROS_KEY
from embodied_iqa.runs.graph.parameters import GraphParameters, VlaParameters, check_rates
from embodied_iqa.runs.graph.qos_overrides import everyones, take_qos_overrides
from embodied_iqa.world.scenes.dimensions import check_cell_views

_DEFAULT_FILE: Final = "config/trial.yaml"
_WORLD_PAUSE_S: Final = 30.0
"""A simulated world pauses while it waits for the nodes, so its arm is not given up for that long."""
_MODE: Final = "judge.mode"
_JUDGE: Final = "judge.kind"
_CAMERA_TOOL: Final = "hand_eye.tool_length_m"
_NEWEST: Final = "newest_only"
_CALIBRATION: Final = "calibration"
_REAL_RUN_S: Final = 120.0

_HINTS: Final = typing.get_type_hints(GraphParameters)
_CLASSES: Final[dict[str, type]] = {name: kind for name, kind in _HINTS.items() if name != "qos"}
"""Parameter class of each node."""


def resolve(
    files: tuple[Path, ...] = (),
    overrides: Mapping[str, object] | None = None,
    *,
    defaults: Mapping[str, object] | None = None,
    policies: Sequence[SubjectReference] = (),
    namespace: str = "",
    only_reads: bool = False,
) -> GraphParameters:
    """Resolve the parameters: class defaults, installed file, `defaults`, the user's files, then overrides.

    If no source sets the gate's mode, it is ``on`` for a real arm, which must not move on bad images, and
    ``shadow`` in simulation, which measures the effect of bad images. If none sets the cameras, simulated
    ones are the default ones and those of the policies.

    Args:
        files: YAML in the form of ROS parameter files; later ones win.
        overrides: ``node.parameter`` to value.
        defaults: ``node.parameter`` to value, where no file and no override sets another. Without a judge of
            the gate among them it is that of `default_judge`.
        policies: Further VLAs that these parameters are for, beside that of vla_node.
        namespace: Of the nodes, such as ``/cell1``, for sections that name one.
        only_reads: Nothing moves the arm, so that a policy for simulation only is not refused.

    Raises:
        UsageError: An unknown node, name or value, or parameters of two nodes that contradict each other.
        InputError: A file cannot be read.
    """
    merged: dict[str, dict[str, object]] = {name: {} for name in _CLASSES}
    paths = (shared_file(_DEFAULT_FILE), *files)
    layers = [(values_by_node(path, parameters_by_node(), namespace), path.parent) for path in paths]
    layers.insert(1, (overrides_by_node(defaults or {}), Path()))
    for layer, folder in (*layers, (overrides_by_node(overrides or {}), Path())):
        _merge(merged, layer)
        _locate_calibration(merged["gate_node"], folder)
    qos = {name: take_qos_overrides(name, values) for name, values in merged.items()}
    _link_robot(merged)
    _link_views(merged, policies)
    _link_tool(merged)
    _link_time(merged)
    _link_steps(merged, policies)
    _link_end(merged)
    if _MODE not in merged["gate_node"]:
        simulated = merged["arm_node"].get("robot", RobotKind.SIM) == RobotKind.SIM
        merged["gate_node"][_MODE] = str(GateMode.SHADOW if simulated else GateMode.ON)
    nodes: dict[str, typing.Any] = {
        name: build(kind, merged[name], f"the configuration of {name}") for name, kind in _CLASSES.items()
    }
    graph = _completed(GraphParameters(**nodes, qos=qos), only_reads=only_reads)
    return graph if _JUDGE in merged["gate_node"] else with_default_judge(graph)


@cache
def parameters_by_node() -> Mapping[str, tuple[Parameter, ...]]:
    """Return the parameters of each node."""
    return MappingProxyType({node: parameters_of(kind) for node, kind in _CLASSES.items()})


def nodes_of(graph: GraphParameters, purpose: Purpose = Purpose.TRIAL) -> tuple[NodeEntry, ...]:
    """Return the nodes that these parameters need."""
    robot = graph.arm_node.robot
    missing = set() if robot.is_simulated else {"sim_node"}
    if robot is RobotKind.NONE:
        missing.add("arm_node")
    if graph.vlm_node.is_none:
        missing.add("vlm_node")
    return tuple(entry for entry in GRAPH if purpose in entry.purposes and entry.name not in missing)


def nodes_with(parameter: str) -> tuple[str, ...]:
    """Return the names of the nodes that have a parameter of this name."""
    return tuple(node for node, known in parameters_by_node().items() if named(known, parameter))


def write_parameters(graph: GraphParameters, path: Path, namespace: str = "") -> None:
    """Write the parameters as a ROS parameter file; every node uses /clock where time is simulated."""
    prefix = f"{namespace}/" if namespace else ""
    shared = {"use_sim_time": graph.arm_node.robot.is_simulated, **everyones(graph.qos)}
    tree: dict[str, object] = {ALL_NODES: {ROS_KEY: shared}}
    for node, values in graph.values().items():
        own = {name: value for name, value in values.items() if name not in shared}
        tree[f"{prefix}{node}"] = {ROS_KEY: own}
    path.write_text(dump_yaml(tree, flow_leaves=True), encoding="utf-8")


def _completed(graph: GraphParameters, *, only_reads: bool) -> GraphParameters:
    """Return the parameters with those that follow from the robot.

    Raises:
        UsageError: Parameters of different nodes contradict each other.
    """
    _check_views(graph)
    robot, camera, vla = graph.arm_node.robot, graph.camera_node, graph.vla_node
    simulated = robot.is_simulated
    if simulated:
        check_rates(graph.sim_node, graph.arm_node)
    check_leases(graph)
    if robot.is_real and vla.subject.simulation_only and not only_reads:
        refuse_real_arm(vla.subject)
    _check_camera(camera, robot)
    has_arm, cameras = robot is not RobotKind.NONE, "" if only_reads else ",".join(camera.views)
    has_vlm = not graph.vlm_node.is_none
    absent = {name for name, is_there in (("arm_node", has_arm), ("vlm_node", has_vlm)) if not is_there}
    if has_arm:
        graph.arm_node.timed_controller(graph.arm_node.check_model(only_reads=only_reads))
    policy, playback = vla.options.policy_name(vla.subject), graph.playback_node
    in_cell, controller = graph.arm_node.in_cell, replace(graph.arm_node.controller, horizon=vla.horizon)
    return replace(
        graph,
        sim_node=replace(graph.sim_node, arm_model=in_cell),
        camera_node=replace(camera, in_runs=camera.source.kind is CameraKind.STORED, arm_model=in_cell),
        arm_node=replace(graph.arm_node, controller=controller),
        gate_node=replace(graph.gate_node, policy=policy, has_arm=has_arm, simulated=simulated),
        trial_node=replace(
            graph.trial_node,
            simulated=simulated,
            has_arm=has_arm,
            has_vlm=has_vlm,
            managed_nodes=_without(absent, graph.trial_node.managed_nodes),
            limits=graph.arm_node.limits,
        ),
        playback_node=replace(
            playback, has_vlm=has_vlm, managed_nodes=_without(absent, playback.managed_nodes)
        ),
        vlm_node=replace(graph.vlm_node, cameras=cameras),
        vla_node=replace(
            vla,
            cameras=cameras,
            has_arm=has_arm,
            simulated=simulated,
            arm_model=graph.arm_node.model,
            tool_length_m=graph.arm_node.tool_length_m,
            repaired=graph.gate_node.judge.repairs,
        ),
    )


def _without(absent: Collection[str], nodes: Sequence[str]) -> tuple[str, ...]:
    return tuple(node for node in nodes if node not in absent)


def _check_camera(camera: CameraParameters, robot: RobotKind) -> None:
    """Refuse a camera that does not see the arm: a real arm must not move on stored images."""
    source, recording = camera.source, "a recording (camera_node.path)"
    if source.kind is CameraKind.WORLD:
        check_cell_views(camera.views)
        agrees = robot.is_simulated
    elif camera.is_stored:
        agrees = robot is RobotKind.NONE
    else:
        agrees = not robot.is_simulated
    if not agrees:
        seeing = CameraSource.of_kind(CameraKind.LIVE, CameraKind.OWN)
        played = f", {recording}," if camera.is_stored and source.kind is CameraKind.LIVE else ""
        raise UsageError(
            f"camera {source}{played} does not go with robot {robot}",
            available=[
                f"camera {CameraSource.of_kind(CameraKind.WORLD)} with robot sim",
                f"camera {seeing} with robot ur5 or none",
                f"camera {CameraSource.of_kind(CameraKind.STORED)} or {recording} with robot none",
            ],
        )


def _check_views(graph: GraphParameters) -> None:
    views = graph.camera_node.views
    for name in nodes_with("views"):
        other = getattr(graph, name).views
        if other != views:
            expected = f"the views of camera_node, {', '.join(views)}"
            raise UsageError(f"{name} has other views", expected=expected, got=list(other))


def _link_robot(merged: dict[str, dict[str, object]]) -> None:
    """Set the address and deadlines that world and arm share if the arm is simulated."""
    arm, world = merged["arm_node"], merged["sim_node"]
    if arm.get("robot", RobotKind.SIM) == RobotKind.SIM:
        address = str(arm.get("ur.ip") or world.get("emulator_ip") or _session_address())
        arm["ur.ip"] = world["emulator_ip"] = address
        arm.setdefault("ur.state_timeout_s", _WORLD_PAUSE_S)
        arm.setdefault("ur.gripper.reply_s", _WORLD_PAUSE_S)


def _link_views(merged: dict[str, dict[str, object]], policies: Sequence[SubjectReference]) -> None:
    """Choose the cameras if no source does, and copy their views to every node that sets none."""
    camera = merged["camera_node"]
    if CameraSource.kind_of(camera.get("source", CameraSource.SIMULATED)) is CameraKind.WORLD:
        subjects = (merged["vla_node"].get("subject", VlaParameters().subject), *policies)
        wanted = (view for subject in subjects for view in cameras_of(parse_vla(str(subject))))
        camera.setdefault("views", [str(view) for view in dict.fromkeys([*DEFAULT_VIEWS, *wanted])])
    for name in nodes_with("views") if camera.get("views") is not None else ():
        merged[name].setdefault("views", camera["views"])


def _link_tool(merged: dict[str, dict[str, object]]) -> None:
    """Use the arm's tool length for the pose of the wrist camera.

    Raises:
        UsageError: Both nodes set a length, and the lengths differ.
    """
    if (length_m := merged["arm_node"].get("tool_length_m")) is None:
        return
    camera_m = merged["camera_node"].setdefault(_CAMERA_TOOL, length_m)
    if camera_m != length_m:
        raise UsageError(
            f"camera_node.{_CAMERA_TOOL} is not arm_node.tool_length_m", expected=str(length_m), got=camera_m
        )


def _link_time(merged: dict[str, dict[str, object]]) -> None:
    """Handle only the newest images where time is real and a late image would delay all that follow.

    Images of the simulated cell pair by equal stamps, which they have: a lost one has no substitute.
    """
    if merged["arm_node"].get("robot", RobotKind.SIM) == RobotKind.SIM:
        merged["vla_node"].setdefault("policy.pairing_tolerance_s", 0.0)
        is_real = not merged["sim_node"].get("lockstep", True)
    else:
        kind = CameraSource.kind_of(merged["camera_node"].get("source"))
        has_arm = merged["arm_node"].get("robot") != RobotKind.NONE
        is_real = kind is CameraKind.LIVE or (kind is CameraKind.OWN and has_arm)
    for name in nodes_with(_NEWEST):
        merged[name].setdefault(_NEWEST, is_real)


def _link_steps(merged: dict[str, dict[str, object]], policies: Sequence[SubjectReference]) -> None:
    """Let policies that look while they act decide while the arm moves, unless a source says otherwise."""
    vla = merged["vla_node"]
    subjects = policies or [parse_vla(str(vla.get("subject", VlaParameters().subject)))]
    rates_hz = {subject.step_rate_hz for subject in subjects}
    if len(rates_hz) == 1 and None not in rates_hz and "horizon.mode" not in vla:
        steps = {"horizon.step_rate_hz": rates_hz.pop(), "horizon.execute_steps": EXECUTE_STEPS}
        merged["vla_node"] = {**steps, **vla, "horizon.mode": Horizon.RECEDING}


def _link_end(merged: dict[str, dict[str, object]]) -> None:
    """Let no count of decisions end a run outside the simulated cell, or with a receding horizon."""
    if merged["arm_node"].get("robot", RobotKind.SIM) != RobotKind.SIM:
        merged["trial_node"].setdefault("run_limit_s", _REAL_RUN_S)
        merged["vla_node"].setdefault("max_chunks", 0)
    if merged["vla_node"].get("horizon.mode") == Horizon.RECEDING:
        merged["vla_node"].setdefault("max_chunks", 0)


def _locate_calibration(gate: dict[str, object], folder: Path) -> None:
    """Make the user's calibration an absolute path; the default one is in the installed config folder."""
    if (calibration := gate.get(_CALIBRATION, SHIPPED_CALIBRATION)) != SHIPPED_CALIBRATION:
        gate[_CALIBRATION] = str((folder / str(calibration)).resolve())


def _session_address() -> str:
    """Return a loopback address of this process: other sessions emulate other robots."""
    return f"127.0.{1 + os.getpid() // 250 % 250}.{1 + os.getpid() % 250}"


def _merge(merged: dict[str, dict[str, object]], layer: dict[str, dict[str, object]]) -> None:
    """Let what one source sets win over the earlier ones, also where it sets a value for all nodes in one."""
    link_nodes(layer)
    for node, values in layer.items():
        merged[node].update(values)


def overrides_by_node(overrides: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return values by node and parameter of values by ``node.parameter``.

    Raises:
        UsageError: An unknown node.
    """
    found: dict[str, dict[str, object]] = {}
    for name, value in overrides.items():
        node, dot, parameter = name.partition(".")
        if node not in _CLASSES or not dot:
            raise UsageError("unknown node in an override", got=name, available=_CLASSES)
        found.setdefault(node, {})[parameter] = value
    return found
