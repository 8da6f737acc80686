"""Parameters that several nodes have, such as a lease's times: set in one, they hold in all."""

from __future__ import annotations

from typing import Final

from embodied_iqa.arm.horizon_options import HorizonOptions
from embodied_iqa.arm.lease_options import LeaseOptions
from embodied_iqa.base.config import check_values, parameters_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.runs.graph.arm_parameters import RobotKind
from embodied_iqa.runs.graph.frame_parameters import FrameParameters
from embodied_iqa.runs.graph.parameters import GraphParameters

LEASE_GROUPS: Final = {"gate_node": "judge.lease", "arm_node": "controller.lease", "sim_node": "lease"}
"""Nodes that have the times of a lease, with the group of each: it grants, obeys, and waits for leases."""


_HORIZON_GROUPS: Final = {"vla_node": "horizon", "arm_node": "controller.horizon"}
"""The one asks for chunks, the other joins them."""
_FRAME_GROUPS: Final = {"arm_node": "frames", "camera_node": "frames"}
"""Their frames are of one tree."""


def link_nodes(layer: dict[str, dict[str, object]]) -> None:
    """Copy the times of a lease, the horizon and the frames that one node sets to the others.

    Args:
        layer: What one source sets: node name to flat parameter names with values, changed in place. Each
            source is linked before a later one replaces its values, whichever nodes they name.

    Raises:
        UsageError: A value is of another type or out of range, or two nodes set different values.
    """
    _link(layer, LeaseOptions, LEASE_GROUPS)
    _link(layer, HorizonOptions, _HORIZON_GROUPS)
    _link(layer, FrameParameters, _FRAME_GROUPS)


def _link(
    layer: dict[str, dict[str, object]],
    options: type[LeaseOptions | HorizonOptions | FrameParameters],
    groups: dict[str, str],
) -> None:
    for name in (parameter.name for parameter in parameters_of(options)):
        places = {node: f"{group}.{name}" for node, group in groups.items()}
        values = {node: layer.get(node, {}) for node in places}
        given = {node: values[node][place] for node, place in places.items() if place in values[node]}
        for node, value in given.items():
            check_values(options, {name: value}, f"{node}.{groups[node]}")
        for node, place in places.items() if given else ():
            first, value = next(iter(given.items()))
            own = layer.setdefault(node, {}).setdefault(place, value)
            if own != value:
                raise UsageError(
                    f"{node}.{place} is not {first}.{places[first]}", expected=str(value), got=own
                )


def check_leases(graph: GraphParameters) -> None:
    """Check that all nodes have the same times, and that a lease lasts until the next frame.

    Otherwise the arm would stand still between any two frames. Without an arm nothing obeys a lease.

    Raises:
        UsageError: They have not, or it does not.
    """
    lease = graph.gate_node.judge.lease
    for name, other in (("arm_node", graph.arm_node.controller.lease), ("sim_node", graph.sim_node.lease)):
        if other != lease:
            raise UsageError(
                f"{name} has other times of a lease", expected=f"those of gate_node, {lease}", got=other
            )
    robot = graph.arm_node.robot
    if robot is RobotKind.NONE:
        return
    if robot.is_simulated:
        name, rate_hz = "sim_node.camera_rate_hz", graph.sim_node.camera_rate_hz
    else:
        name, rate_hz = "camera_node.rate_hz", graph.camera_node.rate_hz
    if lease.ttl_ns < round(SECOND_NS / rate_hz):
        raise UsageError(
            "gate_node.judge.lease.ttl_s is shorter than the time between two frames",
            expected=f"{1.0 / rate_hz:.3g} s ({name} {rate_hz:g}) to {lease.longest_s:g} s (lease.longest_s)",
            got=lease.ttl_s,
        )
