"""Parameters of a node, declared from the dataclass that describes them."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.parameter import Parameter as RosParameter
from rclpy.parameter import parameter_value_to_python

from embodied_iqa.base.config import Parameter, build, check_values, leaves_of, named, parameters_of
from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.live.ros.calls import call
from embodied_iqa.runs.graph.graph_nodes import GRAPH
from embodied_iqa.runs.graph.node_sections import OF_ROS, idle_sections, refuse_lost, refuse_near
from embodied_iqa.runs.graph.parameter_files import parameter_files, read_sections, settings_of
from embodied_iqa.runs.graph.qos_overrides import qos_overrides_of

if TYPE_CHECKING:
    from rclpy.node import Node

ConfigT = TypeVar("ConfigT")

_WORDS = {True: "on", False: "off"}
"""ROS reads these words without quotes as bools."""
_AGAIN_S = 0.5
"""A node that does not know a new client yet drops its response."""


def warn_of_idle_sections(node: Node) -> None:
    """Log what the parameter files of a node that is started alone set in vain, see `idle_sections`."""
    others = frozenset(entry.name for entry in GRAPH)  # those of a trial, which has other nodes for this work
    for path in parameter_files(sys.argv):
        if idle := idle_sections(path, node.get_fully_qualified_name(), others):
            node.get_logger().warning(idle)


def declare(node: Node, config_class: type[ConfigT], changeable: Collection[str] = ()) -> ConfigT:
    """Declare the parameters of a node and return their values.

    Args:
        node: It has declared the overrides of its command line and files.
        config_class: The frozen dataclass with names, types, defaults, ranges and descriptions.
        changeable: Names of those that can be set while the node runs; the others are read-only.

    Raises:
        UsageError: An override has an unknown name or a wrong value.
    """
    known = parameters_of(config_class)
    name = node.get_fully_qualified_name()
    kept: set[str] = set()
    _refuse_lost_sections(name)
    for where, values in settings_of(name, sys.argv, lambda one: named(known, one) is not None):
        check_values(config_class, _ours(values), where)  # refuses yes and 010, which ROS reads as true and 8
        kept |= values.keys()
    for where, values in settings_of(name, sys.argv):
        for one in _ours(values).keys() - kept:  # of a section for many nodes
            if not _is_known(one):  # a misspelt limit must not be left out without a word
                refuse_near(where, one, [each.name for each in known])
            if node.has_parameter(one):
                node.undeclare_parameter(one)
    overrides = {name: value.value for name, value in node.get_parameters_by_prefix("").items()}
    _leave_to_topics(node, overrides)
    for name, value in overrides.items():
        if isinstance(value, bool) and (own := named(known, name)) and issubclass(own.kind, StrEnum):
            overrides[name] = _WORDS[value]
    config = build(config_class, _ours(overrides), f"the parameters of {node.get_name()}")
    for parameter, plain in leaves_of(config):
        if node.has_parameter(parameter.name):
            node.undeclare_parameter(parameter.name)
        descriptor = _descriptor(parameter)
        descriptor.read_only = parameter.name not in changeable
        node.declare_parameter(parameter.name, plain, descriptor, ignore_override=True)
    return config


def _is_known(name: str) -> bool:
    """Return whether any node of the graph has a parameter of this name."""
    # most nodes need the parameters of no other
    return bool(load("embodied_iqa.runs.graph.node_table:nodes_with")(name))


def values_of_node(
    node: Node, name: str, *, deadline_s: float, check: Callable[[], None] = lambda: None
) -> dict[str, object]:
    """Return the parameters of another node that runs.

    Args:
        node: It is spinning in another thread.
        name: Of the other node.
        deadline_s: Time for it to appear and to respond, real time.
        check: Called regularly; raises to give up.

    Raises:
        UserError: It does not respond.
    """
    wait = partial(call, again_s=_AGAIN_S, check=check)
    listing = node.create_client(ListParameters, f"{name}/list_parameters")
    reading = node.create_client(GetParameters, f"{name}/get_parameters")
    names = wait(listing, ListParameters.Request(), deadline_s).result.names
    values = wait(reading, GetParameters.Request(names=names), deadline_s).values
    plain = map(parameter_value_to_python, values)
    # rclpy has arrays where a parameter file has lists
    lists = [value.tolist() if isinstance(value, array) else value for value in plain]
    return dict(zip(names, lists, strict=True))


def _refuse_lost_sections(node: str) -> None:
    namespace, _, name = node.rpartition("/")
    for path in parameter_files(sys.argv):
        sections = read_sections(path)
        refuse_lost(sections, [name], namespace)
        by_name = {section.node: section for section in sections}
        if namespace and node not in by_name and (lost := by_name.get(f"/{name}")):  # ROS leaves it out
            raise UsageError(
                f"{lost.place.in_file(str(path))}: {name} is not the node in {namespace}",
                expected=f"the section {node}, or /**/{name} for any namespace",
                got=name,
            )


def wanted_qos_overrides(node: Node) -> list[str]:
    """Return the names of the overrides that are set for this very node.

    Raises:
        UserError: A file of parameters cannot be read, or one of them is wrong.
    """
    wanted: dict[str, object] = {}
    for where, values in settings_of(node.get_fully_qualified_name(), sys.argv, lambda _name: False):
        wanted |= qos_overrides_of(values, where)
    return [*wanted]


def _leave_to_topics(node: Node, overrides: Mapping[str, object]) -> None:
    """Undeclare the overrides of topics, which the topics declare as read-only once they are opened.

    Raises:
        UsageError: One is wrong.
    """
    for name in qos_overrides_of(overrides, f"the parameters of {node.get_name()}"):
        node.undeclare_parameter(name)


def word_of(parameter: RosParameter) -> RosParameter:
    """Return a parameter of a word; ``on`` and ``off`` come as bools where ROS has read them."""
    value = parameter.value
    return RosParameter(parameter.name, value=_WORDS[value]) if isinstance(value, bool) else parameter


def _ours(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if not name.startswith(OF_ROS)}


def _descriptor(parameter: Parameter) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(description=parameter.description)
    limits = parameter.limits
    if limits is None or parameter.is_list:
        return descriptor
    if parameter.kind is int:
        bounds = IntegerRange(from_value=int(limits.low), to_value=int(limits.high), step=0)
        descriptor.integer_range = [bounds]
    elif parameter.kind is float:
        low, high = float(limits.low), float(limits.high)
        descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high, step=0.0)]
    return descriptor
