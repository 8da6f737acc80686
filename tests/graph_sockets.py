"""No socket of a graph listens to other machines, and tools with the defaults of ROS still find the graph."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from live_process import COMPLETION_S, TRIAL_S, completed
from ros_graph import RosGraph

_TOOL = """
import sys, time
import rclpy
rclpy.init()
limit_s, *names = sys.argv[1:]
node, wanted, until = rclpy.create_node("tool"), set(names), time.monotonic() + float(limit_s)
while missing := wanted - set(node.get_node_names()):
    assert time.monotonic() < until, f"not found: {missing}"
    rclpy.spin_once(node, timeout_sec=0.1)
"""
_OURS = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")


def assert_only_this_machine_hears(domain: int, nodes: Mapping[str, int], folder: Path) -> None:
    """Find nodes that run or start from another process; check their sockets and those of a node of this one.

    Args:
        domain: ROS domain of the graph.
        nodes: Names and process ids.
        folder: For logs.
    """
    defaults = ["env", *(word for name in _OURS for word in ("-u", name)), sys.executable, "-c", _TOOL]
    variables = {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    look_s = TRIAL_S - COMPLETION_S  # nodes that start take as long as a trial of a minute
    completed([*defaults, str(look_s), *nodes], folder / "tool", TRIAL_S, variables)

    with RosGraph(domain, folder / "hears", []):
        listed = subprocess.run(["ss", "-lunpH"], capture_output=True, text=True, check=True).stdout
        pids = {f"pid={pid}," for pid in (*nodes.values(), os.getpid())}
        sockets = [line for line in listed.splitlines() if any(pid in line for pid in pids)]
        assert len(sockets) >= 2 * len(nodes)
        assert [line for line in sockets if not line.split()[3].startswith("127.0.0.1:")] == []
