"""The table of camera sources: every row can be opened, and camera_node knows none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.lazy import load
from embodied_iqa.runs.graph.camera_sources import CameraKind, CameraSource
from embodied_iqa.runs.graph.node_table import resolve
from real_arm import WORKSPACE

NAMES_OF_MODULES = """
import sys
import embodied_iqa.live.nodes.camera_node
print(*(name for name in sys.modules if name.startswith("embodied_iqa.")))
"""


@pytest.mark.parametrize("source", CameraSource)
def test_every_row_names_what_opens_it(source: CameraSource) -> None:
    assert callable(load(source.opener))
    assert CameraSource(str(source)) is source
    assert CameraSource.kind_of(str(source)) is source.kind


def test_the_node_loads_a_source_when_it_is_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NAMES_OF_MODULES], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "embodied_iqa.live.cameras.camera_rig" in loaded
    assert not loaded & {source.opener.partition(":")[0] for source in CameraSource}
    assert not any("realsense" in name for name in loaded)


@pytest.mark.parametrize(
    ("source", "robots"),
    [
        ("simulated", {"sim"}),
        ("files", {"none"}),
        ("bag", {"none"}),
        ("realsense", {"ur5", "none"}),
        ("topic", {"ur5", "none"}),
        ("python", {"ur5", "none"}),
    ],
)
def test_a_camera_goes_with_the_arms_that_it_can_see(source: str, robots: set[str]) -> None:
    for robot in ("sim", "ur5", "none"):
        overrides = {
            "camera_node.source": source,
            "arm_node.robot": robot,
            "arm_node.model": "ur5",
            **WORKSPACE,
            "arm_node.ur.ip": "127.0.0.1" if robot == "sim" else "192.0.2.1",
            "vla_node.subject": "panel-vla-query" if robot == "sim" else "classical-vla",
        }
        if robot in robots:
            assert resolve(overrides=overrides).camera_node.in_runs == (
                CameraSource(source).kind is CameraKind.STORED
            )
            continue
        with pytest.raises(UsageError, match=f"camera {source} does not go with robot {robot}.*available"):
            resolve(overrides=overrides)


def test_a_real_arm_does_not_move_on_a_recording_of_a_live_camera() -> None:
    stored = {
        "camera_node.source": "realsense",
        "camera_node.path": "recordings",
        "arm_node.model": "ur5",
        "arm_node.ur.ip": "127.0.0.1",
        "vla_node.subject": "classical-vla",
    }
    words = (
        r"camera realsense, a recording \(camera_node\.path\), does not go with robot ur5; "
        r".*files or bag or a recording \(camera_node\.path\) with robot none"
    )
    with pytest.raises(UsageError, match=words):
        resolve(overrides=stored | {"arm_node.robot": "ur5"})
    graph = resolve(overrides=stored | {"arm_node.robot": "none"})
    assert not graph.camera_node.in_runs, "it sets the pace, as the camera did"


def test_the_newest_image_wins_where_a_source_is_live() -> None:
    for source in CameraSource:
        if source.kind is not CameraKind.WORLD:
            graph = resolve(overrides={"camera_node.source": str(source), "arm_node.robot": "none"})
            assert graph.gate_node.newest_only == (source.kind is CameraKind.LIVE)
    real = {"arm_node.model": "ur5", "arm_node.ur.ip": "192.0.2.1", "vla_node.subject": "classical-vla"}
    own = {"camera_node.source": "python", "arm_node.robot": "ur5"} | real | WORKSPACE
    assert resolve(overrides=own).gate_node.newest_only, "an arm that moves does not wait"
