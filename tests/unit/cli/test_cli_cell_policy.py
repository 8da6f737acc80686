"""The rows of `cell check` about policy and VLM: their cameras are compared with those of the cell."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from embodied_iqa.cli.cell import check
from embodied_iqa.cli.cell.check import checks_of
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.catalogue import Backend, Role
from embodied_iqa.models.subjects.readiness import Readiness, declared_views
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla
from embodied_iqa.models.subjects.serving.served import serve_vla
from embodied_iqa.models.subjects.subject_options import PolicyOptions, VlaOptions
from embodied_iqa.runs.cell.cell_check import CellCheck
from embodied_iqa.runs.cell.seen_camera import SeenCamera
from embodied_iqa.runs.cell.trial_decision import NAME
from embodied_iqa.runs.graph.node_table import resolve
from wire_servers import reference_server, serving

SOURCE = """
from embodied_iqa import SubjectInfo, View, Vla, Vlm

class Mine:
    info = SubjectInfo("mine", "1", "Does nothing.", (View("front"),))
    def act(self, observation):
        raise RuntimeError

def make() -> Vla:
    return Mine()

class Describer:
    info = SubjectInfo("describer", "1", "Says nothing.", (View("top"),), any_view=True)
    def answer(self, frame, task):
        raise RuntimeError

def describer() -> Vlm:
    return Describer()

def broken() -> Vla:
    raise RuntimeError("no weights")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "cell_policy_of_mine.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    return "python:cell_policy_of_mine"


def rows(
    values: dict[str, object], *views: str, cameras: tuple[SeenCamera, ...] = (), task: str = ""
) -> dict[str, CellCheck]:
    """Return the rows of a cell with these cameras, by name; without images unless some are seen."""
    cell_values = {"arm_node.robot": "none", "camera_node.source": "topic", "camera_node.views": list(views)}
    graph = resolve((), cell_values | values)
    cell: Any = SimpleNamespace(arm=None, cameras=cameras)
    return {one.name: one for one in checks_of(graph, cell, task)}


def row(policy: str, *views: str, **options: object) -> CellCheck:
    """Return the row of the policy."""
    values: dict[str, object] = {f"vla_node.policy.{name}": value for name, value in options.items()}
    return rows(values | {"vla_node.subject": policy}, *views)["policy"]


def vlm_row(vlm: str, *views: str) -> CellCheck | None:
    """Return the row of the VLM."""
    return rows({"vlm_node.subject": vlm}, *views).get("VLM")


def test_a_policy_of_ones_own_names_its_cameras(module: str) -> None:
    assert row(f"{module}:make", "front", "wrist").is_ok
    lacking = row(f"{module}:make", "top")
    assert not lacking.is_ok
    assert "sees the front view, which no camera takes" in lacking.measured
    assert "no weights" in row(f"{module}:broken", "front").measured


def test_a_policy_behind_a_server_names_its_cameras() -> None:
    with serving(serve_vla(parse_vla("panel-vla-side"))) as port:
        policy = f"openpi://127.0.0.1:{port}"
        assert "--set vla_node.policy.views=top (" in row(policy, "top").measured
        assert "sees the side view, which no camera takes" in row(policy, "top").measured
        assert row(policy, "side", "top").is_ok
        assert "sees the wrist view" in row(policy, "side", "top", views="wrist").measured
    assert "no server on 127.0.0.1" in row(policy, "side").measured


def test_cameras_of_a_checkpoint_are_those_of_the_options_or_not_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = f"transformers:{tmp_path}"
    reference = SubjectReference(text, Role.VLA, Backend.TRANSFORMERS, str(tmp_path))
    assert declared_views(reference, VlaOptions(policy=PolicyOptions(views="top,wrist"))) == ("top", "wrist")
    monkeypatch.setattr(check, "check_readiness", lambda _text, _options: Readiness(text, Role.VLA, ()))
    monkeypatch.setattr(check, "declared_views", lambda _policy, options: declared_views(reference, options))
    unknown = row("panel-vla-side", "side")
    assert unknown.is_ok
    assert unknown.measured == "panel-vla-side is ready; its cameras are not known until it is asked"
    assert "sees the wrist view" in row("panel-vla-side", "side", views="wrist").measured


def test_a_policy_is_asked_with_the_options_of_the_trial() -> None:
    with reference_server({}, lambda _observation: {}) as port:
        policy = f"openpi://127.0.0.1:{port}"
        assert "vla_node.policy.convention=CONVENTION" in row(policy, "front", "wrist").measured
        named = row(policy, "front", "wrist", convention="pi0-libero")
        assert "--set vla_node.policy.views=front,wrist (" in named.measured
        assert row(policy, "front", "wrist", convention="pi0-libero", views="front,wrist").is_ok
        of_catalogue = row(f"pi0-libero={policy}", "front", "wrist").measured
        assert "--set vla_node.policy.views=front,wrist (" in of_catalogue


def test_a_vlm_needs_its_camera_unless_it_takes_any(module: str) -> None:
    lacking = vlm_row("panel-vlm-fine", "front", "wrist")
    assert lacking is not None
    assert not lacking.is_ok
    assert "panel-vlm-fine sees the top view, which no camera takes; expected --vlm none" in lacking.measured
    for vlm, views in (("panel-vlm-fine", ("top",)), (f"{module}:describer", ("front",))):
        found = vlm_row(vlm, *views)
        assert found is not None
        assert found.is_ok, found.measured
    assert vlm_row("none", "front") is None


def test_a_policy_that_is_ready_decides_once_on_the_images(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    front = SeenCamera(View("front"), "/front", (1,), (1,), rgb=np.zeros((4, 4, 3), np.uint8))
    policy = {"vla_node.subject": f"{module}:make"}
    found = rows(policy, "front", cameras=(front,), task="wave")
    assert found["policy"].is_ok
    assert found[NAME].measured == f"{module}:make failed: RuntimeError: "
    assert f"asking {module}:make for one decision: wave" in capsys.readouterr().err
    assert not found[NAME].is_ok
    assert NAME not in rows(policy, "top", cameras=(front,))  # the row of the policy says why
