"""No socket of a graph listens to other machines, and tools with the defaults of ROS still find the graph."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from diagnostic_msgs.msg import DiagnosticArray

from embodied_iqa.runs.graph.node_table import GRAPH
from ros_graph import RosGraph

NODES = [entry.name for entry in GRAPH if entry.name != "playback_node"]
TOOL = """
import sys, time
import rclpy
rclpy.init()
node, wanted, until = rclpy.create_node("tool"), set(sys.argv[1:]), time.monotonic() + 30
while missing := wanted - set(node.get_node_names()):
    assert time.monotonic() < until, f"not found: {missing}"
    rclpy.spin_once(node, timeout_sec=0.1)
"""
OURS = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")


@pytest.mark.skipif(shutil.which("ss") is None, reason="needs `ss` of iproute2")
def test_sockets_are_bound_to_the_loopback_interface(ros_domain: int, tmp_path: Path) -> None:
    with RosGraph(ros_domain, tmp_path, NODES) as graph:
        reports = graph.subscribe(DiagnosticArray, "/diagnostics", 10)
        graph.wait(
            lambda: set(NODES) <= {status.name for message in reports.messages for status in message.status},
            "a report of every node",
        )
        listed = subprocess.run(["ss", "-lunpH"], capture_output=True, text=True, check=True).stdout
        pids = {f"pid={graph.processes.pid(name)}," for name in NODES} | {f"pid={os.getpid()},"}
        sockets = [line for line in listed.splitlines() if any(pid in line for pid in pids)]
        assert len(sockets) >= 2 * len(NODES)
        assert [line for line in sockets if not line.split()[3].startswith("127.0.0.1:")] == []

        environment = {name: value for name, value in os.environ.items() if name not in OURS}
        environment |= {"ROS_DOMAIN_ID": str(ros_domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        command = [sys.executable, "-c", TOOL, *NODES]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=90, check=False
        )
        assert done.returncode == 0, done.stderr
