"""The nodes of the ROS graph, and what each is needed for.

`launch/trial.launch.py` turns the table into launch actions, `embodied-iqa trial` into processes. It imports
no parameters: every node reads it when it starts.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from embodied_iqa.runs.graph.namespaces import ros_arguments_of

UNINTERRUPTED: Final = ("env", "--block-signal=INT")
"""In front of a command of this package: it handles Ctrl-C as soon as its interpreter has started."""


class Purpose(StrEnum):
    """What the graph is started for."""

    TRIAL = "trial"
    """Tasks on a robot or in simulation."""
    RESCORE = "rescore"
    """Playback of a recorded trial."""


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """One node of the graph.

    Attributes:
        name: Name of the node, its executable and its module in `embodied_iqa.live.nodes`.
        lifecycle: Whether the trial or the playback configures and activates it.
        purposes: What it is needed for.
    """

    name: str
    lifecycle: bool = False
    purposes: tuple[Purpose, ...] = (Purpose.TRIAL,)


_BOTH: Final = (Purpose.TRIAL, Purpose.RESCORE)
GRAPH: Final = (
    NodeEntry("sim_node"),
    NodeEntry("camera_node"),
    NodeEntry("distortion_node", purposes=_BOTH),
    NodeEntry("gate_node", lifecycle=True, purposes=_BOTH),
    NodeEntry("vlm_node", lifecycle=True, purposes=_BOTH),
    NodeEntry("vla_node", lifecycle=True, purposes=_BOTH),
    NodeEntry("arm_node", lifecycle=True),
    NodeEntry("recorder_node", purposes=_BOTH),
    NodeEntry("trial_node"),
    NodeEntry("playback_node", purposes=(Purpose.RESCORE,)),
)
"""In start order."""


def command_of(entry: NodeEntry, parameters: Path, namespace: str = "") -> list[str]:
    """Return the command line that starts a node without the launch package."""
    module = f"embodied_iqa.live.nodes.{entry.name}"
    words = ["--ros-args", "--params-file", str(parameters), *ros_arguments_of(namespace)]
    return [*UNINTERRUPTED, sys.executable, "-m", module, *words]
