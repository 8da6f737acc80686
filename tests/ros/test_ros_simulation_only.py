"""vla_node itself refuses a policy for simulation only, however the policy is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from embodied_iqa.base.errors import UserError
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.models.subjects.backends.panel.shipped_members import MODELS
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.serving.served import serve_vla
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.processes import ProcessSpec
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


def configure(folder: Path, **parameters: object) -> None:
    """Configure a vla_node that was started by hand with these ROS parameters."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "by-hand.yaml"
    file.write_text(yaml.safe_dump({"vla_node": {"ros__parameters": parameters}}))
    node = ProcessSpec("vla_node", tuple(command_of(VLA_NODE, file)))
    with own_domain() as domain, RosGraph(domain, folder, [], extra=(node,)) as graph:
        graph.activate("vla_node")


@pytest.mark.parametrize("way", ["name", "server", "panel", "python"])
def test_a_node_refuses_it_in_configure(
    way: str, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = {"name": f" {PANEL}", "server": served, "python": "python:mine:Mine"}.get(way)
    if way == "panel":
        for suffix in (".onnx", ".json"):
            shutil.copyfile(MODELS / f"{PANEL}{suffix}", tmp_path / f"mine{suffix}")
        subject = f"panel:{tmp_path}/mine"
    (tmp_path / "mine.py").write_text(CODE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    with pytest.raises(UserError, match=REFUSED):
        configure(tmp_path / "graph", subject=subject)
    assert (tmp_path / "closed").exists() is (way == "python"), "what was loaded is closed"


def test_a_node_refuses_joints_of_another_arm(tmp_path: Path) -> None:
    """A node started by hand does not know its arm unless it is told."""
    subject = serve_vla(parse_vla("classical-vla"))
    with serving(replace(subject, info=replace(subject.info, joints_of="ur5"))) as port:
        server = f"openpi://127.0.0.1:{port}"
        for place, model in enumerate(("unset", "ur5e")):
            said = f"commands the joints of a UR5 with a tool of 0.2 m; expected .* got '{model}, 0.2 m'"
            with pytest.raises(UserError, match=said):
                configure(tmp_path / str(place), subject=server, arm_model=model)
        configure(tmp_path / "fits", subject=server, arm_model="ur5")


def test_a_node_accepts_it_for_a_simulated_arm(tmp_path: Path) -> None:
    configure(tmp_path, subject=f" {PANEL}", simulated=True)
