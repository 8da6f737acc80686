"""What a ROS parameter file sets for the nodes of the graph, beside nodes of others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import Final

from embodied_iqa.base.config import Parameter, named
from embodied_iqa.base.errors import UsageError
from embodied_iqa.runs.graph.parameter_files import ROS_KEY, Section, read_sections, refuse_conflict
from embodied_iqa.runs.graph.qos_overrides import PREFIX, is_qos_override

OF_ROS: Final = ("use_sim_time", PREFIX, "start_type_description_service")
"""Beginnings of parameters that every node of ROS has."""
_ALIKE: Final = 0.85


def values_by_node(
    path: Path, nodes: Mapping[str, Collection[Parameter]], namespace: str = ""
) -> dict[str, dict[str, object]]:
    """Return what a file sets for each node of the graph.

    A section is for a node if it has its name (``gate_node``, in any namespace of the graph), its name with
    the namespace (``/cell1/gate_node``) or a pattern (``/**``, ``/*/gate_node``). Of a pattern without the
    name of a node, each node takes what it knows. What is for nodes of others is left alone, unless it looks
    like a slip.

    Args:
        path: The file.
        nodes: Names of the nodes, and the parameters of each.
        namespace: Of the graph, such as ``/cell1``.

    Raises:
        UsageError: The file is empty, or a section or a parameter is nearly one of ours, or for our node in
            another namespace.
        InputError: The file cannot be read, or sets a parameter of a node twice.
    """
    sections = read_sections(path)
    if not sections and not path.stat().st_size:  # a copy that failed, rather than one with comments alone
        raise UsageError(f"{path} is empty", expected=f"a node with {ROS_KEY}")
    for section in sections:
        _refuse_slip(section, nodes)
    refuse_lost(sections, nodes, namespace)
    found: dict[str, dict[str, object]] = {}
    for node, known in nodes.items():
        applying = [section for section in sections if _is_for(section, node, namespace)]
        for first, second in combinations(applying, 2):
            refuse_conflict(first, second)
        for section in applying:
            found.setdefault(node, {}).update(_of_node(section, known))
    return found


def refuse_near(place: str, name: str, known: Collection[str]) -> None:
    """Refuse a parameter that is none of the known ones, but nearly.

    Raises:
        UsageError: It is; the message names those that it resembles.
    """
    if get_close_matches(name, known, 1, _ALIKE):
        raise UsageError(
            f"{place}: no node has the parameter", got=name, available=get_close_matches(name, known)
        )


def idle_sections(path: Path, node: str, others: Collection[str]) -> str:
    """Return what a file sets in vain where one node is started alone; empty where nothing is.

    Args:
        path: The file.
        node: Name of the node with its namespace.
        others: Names of our nodes that are not started: their sections are probably for this one. Sections of
            nodes of others are named only where the file has none for this node.

    Raises:
        UserError: As for `read_sections`.
    """
    sections = read_sections(path)
    strange = [section for section in sections if not section.applies_to(node)]
    if len(strange) < len(sections):
        strange = [section for section in strange if not section.is_pattern and _name_of(section) in others]
    if not strange:
        return ""
    names = ", ".join(section.node.removeprefix("/") for section in strange)
    own = node.removeprefix("/")
    return (
        f"{path} sets nothing for the node {own} by the section {names}; expected the section {own}, or /**"
    )


def _is_for(section: Section, node: str, namespace: str) -> bool:
    return section.node == f"/{node}" or section.applies_to(f"{namespace}/{node}")


def _of_node(section: Section, known: Collection[Parameter]) -> Iterator[tuple[str, object]]:
    for name, value in section.values().items():
        is_known = named(known, name) or is_qos_override(name)
        if is_known or (not section.is_for_many and not name.startswith(OF_ROS)):
            yield name, value


def _refuse_slip(section: Section, nodes: Mapping[str, Collection[Parameter]]) -> None:
    """Refuse what nobody can have meant.

    Raises:
        UsageError: A section is not for a node of the graph, but nearly, or a parameter for many is nearly
            one of them.
    """
    place = section.place.in_file(str(section.path))
    name = _name_of(section)
    if section.is_for_many:
        parameters = [parameter for known in nodes.values() for parameter in known]
        known = {parameter.name for parameter in parameters}
        for one in section.places:
            if named(parameters, one) is None:
                refuse_near(place, one, known)
    elif name not in nodes and get_close_matches(name, nodes, 1, _ALIKE):
        raise UsageError(f"{place}: unknown node", got=name, available=nodes)


def refuse_lost(sections: Collection[Section], nodes: Collection[str], namespace: str) -> None:
    """Refuse sections for our nodes in a namespace that no node has: what they set would be lost.

    A file may be for several cells: it then has sections in the namespace of this one, too, and further ones
    are left alone unless their namespace looks like a slip of it.

    Args:
        sections: Those of a file.
        nodes: Names of the nodes.
        namespace: Of the nodes, such as ``/cell1``; empty for none.

    Raises:
        UsageError: There is one; the message names it.
    """
    ours = [section for section in sections if not section.is_pattern and _name_of(section) in nodes]
    is_for_us = any(_owner_of(section) == namespace for section in ours)
    for section in ours:
        owner, name = _owner_of(section), _name_of(section)
        if owner in {"", namespace} or (namespace and is_for_us and not _is_slip(owner, namespace)):
            continue
        place = f"{section.place.in_file(str(section.path))}: {section.node.removeprefix('/')}"
        if namespace:
            raise UsageError(
                f"{place} is not a node of the graph in {namespace}",
                expected=f"the section {namespace}/{name}, or {name} for any namespace",
                got=section.node,
            )
        raise UsageError(
            f"{place} is in a namespace",
            expected=f"--namespace {owner.removeprefix('/')}, or the section {name}",
            got="no namespace",
        )


def _owner_of(section: Section) -> str:
    return section.node.rpartition("/")[0]


def _name_of(section: Section) -> str:
    return section.node.rpartition("/")[2]


def _is_slip(owner: str, namespace: str) -> bool:
    """Return whether a namespace was probably to be another; cell1 and cell2 or left_a and left_b are two."""
    if owner.rstrip("0123456789") == namespace.rstrip("0123456789") or owner[:-1] == namespace[:-1]:
        return False
    return bool(get_close_matches(owner, [namespace], 1, _ALIKE))
