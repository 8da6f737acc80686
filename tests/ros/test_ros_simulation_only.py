"""vla_node itself refuses a policy for simulation only, however the policy is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import rclpy
import yaml
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from embodied_iqa.base.errors import UserError
from embodied_iqa.live.nodes.vla_node import VlaNode
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.lifecycle import LifecycleManager
from embodied_iqa.live.ros.spinning import SpinThread
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.serving.served import serve_vla
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.processes import ProcessSpec
from live_process import COMPLETION_S
from ros_graph import RosGraph
from wire_servers import serving

PANEL = "panel-vla-query"
REFUSED = "is for simulation only and must not move a real arm; expected vla_node.subject"
(VLA_NODE,) = (entry for entry in GRAPH if entry.name == "vla_node")
CODE = """
from pathlib import Path

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.protocols import SubjectInfo


class Mine:
    info = SubjectInfo("mine", "1", "Never acts.", (View.TOP,), simulation_only=True)

    def act(self, observation):
        raise NotImplementedError

    def close(self):
        Path(__file__).with_name("closed").touch()
"""


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    """The panel's policy behind our own server."""
    with serving(serve_vla(parse_vla(PANEL))) as port:
        yield f"openpi://127.0.0.1:{port}"


def by_hand(folder: Path, parameters: dict[str, object]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "by-hand.yaml"
    file.write_text(yaml.safe_dump({"vla_node": {"ros__parameters": parameters}}))
    return file


def configure(folder: Path, **parameters: object) -> None:
    """Configure a vla_node that was started by hand with these ROS parameters."""
    file = by_hand(folder, parameters)
    node = ProcessSpec("vla_node", tuple(command_of(VLA_NODE, file)))
    with own_domain() as domain, RosGraph(domain, folder, [], extra=(node,)) as graph:
        graph.activate("vla_node")


def configure_here(folder: Path, **parameters: object) -> None:
    """Configure a vla_node of this process: what it imports is there."""
    words = ["vla_node", "--ros-args", "--params-file", str(by_hand(folder, parameters))]
    with ExitStack() as held:
        held.enter_context(pytest.MonkeyPatch.context()).setattr("sys.argv", words)
        domain = held.enter_context(own_domain())
        rclpy.init(args=words, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        held.callback(rclpy.try_shutdown)
        node, asking = VlaNode(), Node("asking_node", use_global_arguments=False)
        held.callback(asking.destroy_node)
        held.callback(node.destroy_node)
        held.callback(node.end)
        held.callback(SpinThread(asking).close)
        held.callback(SpinThread(node).close)
        LifecycleManager(asking, ("vla_node",), ReentrantCallbackGroup()).bring_up(COMPLETION_S)


def test_a_node_refuses_it_in_configure(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=REFUSED):
        configure(tmp_path, subject=f" {PANEL}")


@pytest.mark.parametrize("way", ["server", "panel", "python"])
def test_it_is_refused_however_it_is_named(
    way: str, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = {"server": served, "python": "python:mine:Mine"}.get(way)
    if way == "panel":
        for suffix in (".onnx", ".json"):
            shutil.copyfile(MODELS / f"{PANEL}{suffix}", tmp_path / f"mine{suffix}")
        subject = f"panel:{tmp_path}/mine"
    (tmp_path / "mine.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=REFUSED):
        configure_here(tmp_path / "graph", subject=subject)
    assert (tmp_path / "closed").exists() is (way == "python"), "what was loaded is closed"


def test_a_node_refuses_joints_of_another_arm(tmp_path: Path) -> None:
    """A node started by hand does not know its arm unless it is told."""
    subject = serve_vla(parse_vla("classical-vla"))
    with serving(replace(subject, info=replace(subject.info, joints_of="ur5"))) as port:
        server = f"openpi://127.0.0.1:{port}"
        for place, model in enumerate(("unset", "ur5e")):
            said = f"commands the joints of a UR5 with a tool of 0.2 m; expected .* got '{model}, 0.2 m'"
            with pytest.raises(UserError, match=said):
                configure_here(tmp_path / str(place), subject=server, arm_model=model)
        configure_here(tmp_path / "fits", subject=server, arm_model="ur5")


def test_a_node_accepts_it_for_a_simulated_arm(tmp_path: Path) -> None:
    configure(tmp_path, subject=f" {PANEL}", simulated=True)
