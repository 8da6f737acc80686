"""Overrides of the quality of service in parameter files: kept for their nodes, and wrong ones refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from embodied_iqa.base.errors import UsageError
from embodied_iqa.runs.graph.node_table import resolve, write_parameters
from embodied_iqa.runs.graph.qos_overrides import qos_overrides_of

TOP = "qos_overrides./camera/top/image_raw.publisher.reliability"
SIDE = "qos_overrides./cell1/side/image_raw.subscription.depth"


def test_they_reach_the_nodes_of_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "cell.yaml"
    nested = {"qos_overrides": {"/camera/top/image_raw": {"publisher": {"reliability": "best_effort"}}}}
    tree = {"camera_node": {"ros__parameters": nested}, "/**": {"ros__parameters": {SIDE: 3}}}
    path.write_text(yaml.safe_dump(tree))
    graph = resolve((path,), {"gate_node.qos_overrides./distorted/top/image_raw.subscription.depth": 7})
    assert graph.values()["camera_node"][TOP] == "best_effort"
    write_parameters(graph, tmp_path / "p.yaml")
    written = {
        name: section["ros__parameters"]
        for name, section in yaml.safe_load((tmp_path / "p.yaml").read_text()).items()
    }
    assert written["/**"] == {"use_sim_time": True, SIDE: 3}, "what all have stays for all"
    own = {node: [name for name in values if name.startswith("qos")] for node, values in written.items()}
    assert own["camera_node"] == [TOP]
    assert own["gate_node"] == ["qos_overrides./distorted/top/image_raw.subscription.depth"]
    assert own["vla_node"] == []


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (TOP, "besteffort", ["'besteffort'", "available: reliable, best_effort"]),
        (TOP.replace("publisher", "publish"), "reliable", ["expected qos_overrides.TOPIC.publisher"]),
        (TOP.replace("/camera", "camera"), "reliable", ["such as qos_overrides./camera/top/image_raw"]),
        (
            TOP.replace("reliability", "deadline"),
            5,
            ["'deadline'", "reliability, durability, history, depth"],
        ),
        (TOP.replace("reliability", "history"), "keep_all", ["'keep_all'", "available: keep_last"]),
        (SIDE, 0, ["expected an integer from 1 to 1000", "got 0"]),
        (SIDE, True, ["expected an integer"]),
        (SIDE, "10", ["expected an integer"]),
    ],
)
def test_a_wrong_one_is_refused(name: str, value: object, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        resolve((), {f"camera_node.{name}": value})
    assert all(word in str(caught.value) for word in [*words, "the configuration of camera_node"])


def test_those_of_ros_itself_are_left_to_it() -> None:
    assert qos_overrides_of({"qos_overrides./clock.subscription.history": "keep_all", "views": 1}, "x") == {}
