"""The domain of a graph: a free one of its own, or the one in which other people's nodes are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.live.ros import domain
from embodied_iqa.live.ros.graph_processes import running_nodes
from embodied_iqa.runs.graph.node_table import resolve

TOPIC = {"camera_node.source": "topic", "arm_node.robot": "none"}
DRIVER = {
    "camera_node.source": "realsense",
    "arm_node.robot": "ur5",
    "arm_node.model": "ur5e",
    "arm_node.driver": "ros2_control",
    "arm_node.gripper": "none",
}


@pytest.mark.parametrize(
    ("overrides", "is_beside"),
    [({}, False), (TOPIC, True), (DRIVER, True), (TOPIC | {"camera_node.source": "realsense"}, False)],
)
def test_other_peoples_nodes_are_in_the_default_domain(
    overrides: dict[str, object], is_beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "_shared_folder", lambda: tmp_path / "locks")
    monkeypatch.delenv("ROS_DOMAIN_ID")
    graph = resolve((), overrides, only_reads=True)
    assert graph.shares_domain is is_beside
    with running_nodes(graph, (), tmp_path / "log", "p.yaml", shares_domain=graph.shares_domain):
        assert ("ROS_DOMAIN_ID" not in os.environ) is is_beside
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    with running_nodes(graph, (), tmp_path / "log", "p.yaml", shares_domain=graph.shares_domain):
        assert os.environ["ROS_DOMAIN_ID"] == "7"


def test_a_session_whose_domain_is_in_use_leaves_no_folder_of_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "_shared_folder", lambda: tmp_path / "locks")
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    graph = resolve((), {}, only_reads=True)
    with (
        domain.session_on("7"),
        pytest.raises(InputError, match="another session on this machine uses ROS domain 7"),
        running_nodes(graph, (), tmp_path / "log", "p.yaml"),
    ):
        pass
    assert not (tmp_path / "log").exists()
