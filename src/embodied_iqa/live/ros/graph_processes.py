"""Runs nodes as processes of this machine, in a ROS domain of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from embodied_iqa.live.ros.domain import own_domain, session_on
from embodied_iqa.live.ros.environment import process_environment
from embodied_iqa.live.ros.node import SUPERVISOR
from embodied_iqa.runs.graph.graph_nodes import NodeEntry, command_of
from embodied_iqa.runs.graph.node_table import write_parameters
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.processes import ProcessGroup, ProcessSpec

_DOMAIN = "ROS_DOMAIN_ID"
_DEFAULT_DOMAIN = "0"


@contextmanager
def running_nodes(
    graph: GraphParameters,
    entries: tuple[NodeEntry, ...],
    log_folder: Path,
    parameters_name: str,
    *,
    isolated: bool = True,
    shares_domain: bool = False,
    namespace: str = "",
) -> Iterator[ProcessGroup]:
    """Start nodes, and stop them at the end; meanwhile this process is in their ROS domain.

    Args:
        graph: Parameters of every node.
        entries: The nodes to start.
        log_folder: Folder of their output and parameters.
        parameters_name: Name of the parameter file.
        shares_domain: Other people's nodes belong to it: where the user has set no domain, it is that of
            ROS's default, in which theirs are, instead of a free one.
        isolated: Reserve a ROS domain, or the one that the user has set; False: join nodes that run already.
        namespace: Of the nodes, such as ``/cell1``.

    Raises:
        InputError: Another session uses the domain, or a process cannot be started.
    """
    with _domain(shares_domain=shares_domain) if isolated else nullcontext():
        log_folder.mkdir(parents=True, exist_ok=True)  # only now: a session that is refused leaves none
        environment = dict(os.environ)
        process_environment(environment)
        environment |= {"ROS_LOG_DIR": str(log_folder), SUPERVISOR: str(os.getpid())}
        parameters = log_folder / parameters_name
        write_parameters(graph, parameters, namespace)
        specs = tuple(
            ProcessSpec(entry.name, tuple(command_of(entry, parameters, namespace))) for entry in entries
        )
        with ProcessGroup(specs, log_folder, environment) as group:
            yield group


@contextmanager
def _domain(*, shares_domain: bool) -> Iterator[None]:
    if chosen := os.environ.get(_DOMAIN) or (_DEFAULT_DOMAIN if shares_domain else ""):
        with session_on(chosen):
            yield
        return
    with own_domain() as domain:
        os.environ[_DOMAIN] = str(domain)
        try:
            yield
        finally:
            del os.environ[_DOMAIN]
