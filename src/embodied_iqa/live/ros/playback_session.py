"""Plays a recorded trial back through the nodes, as processes of this machine."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from embodied_iqa.live.ros.graph_processes import running_nodes
from embodied_iqa.runs.graph.graph_nodes import Purpose
from embodied_iqa.runs.graph.node_table import nodes_of
from embodied_iqa.runs.graph.parameters import GraphParameters
from embodied_iqa.runs.graph.processes import ProcessesFailedError

_POLL_S = 0.1


def with_playback(graph: GraphParameters, recording: Path, out: Path) -> GraphParameters:
    """Return the parameters with the paths of the playback set."""
    playback = replace(graph.playback_node, recording=str(recording.resolve()), out=str(out.resolve()))
    return replace(graph, playback_node=playback)


def play_back(
    graph: GraphParameters,
    recording: Path,
    run_folder: Path,
    *,
    attach: bool = False,
    namespace: str = "",
) -> Path:
    """Play a recording back through the nodes; return the path of the new recording.

    Args:
        graph: Parameters of every node.
        recording: The recorded trial.
        run_folder: Folder of the new recording and the logs.
        attach: The other nodes run already.
        namespace: Of the nodes, such as ``/cell1``.

    Raises:
        EmbodiedIqaError: A node failed, or the playback did.
    """
    out = run_folder / "trial.mcap"
    graph = with_playback(graph, recording, out)
    entries = nodes_of(graph, Purpose.RESCORE)
    if attach:
        entries = tuple(entry for entry in entries if entry.name == "playback_node")
    log_folder = run_folder / "log"
    isolated, name = not attach, "playback.yaml"
    with running_nodes(graph, entries, log_folder, name, isolated=isolated, namespace=namespace) as group:
        while group.exit_code("playback_node") is None:
            group.check()
            time.sleep(_POLL_S)
        if group.exit_code("playback_node") != 0:
            raise ProcessesFailedError(f"the playback failed:\n{group.tail('playback_node')}")
    return out
