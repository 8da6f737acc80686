"""vla_node with pi0: a checkpoint is built, saved, loaded by the node, and decides on images end to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk

from embodied_iqa.base.errors import UserError
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.live.ros.conversion import increments_of, ns_of
from embodied_iqa.models.subjects.reference import parse_vla
from embodied_iqa.models.subjects.registry import make_vla
from embodied_iqa.models.subjects.subject_options import PolicyOptions, VlaOptions
from embodied_iqa.world.protocols import VlaObservation
from policy_bench import Q_RAD, T_TOOL, TASK, Bench
from ros_graph import RosGraph

pytest.importorskip("torch", reason="needs requirements/models.txt")
pytest.importorskip("transformers", reason="needs requirements/models.txt")

from tiny_pi0 import save_tiny_pi0

VIEWS = (View.TOP, View.WRIST)
CONVENTION = "pi0-base-raw"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_pi0(tmp_path_factory.mktemp("pi0") / "tiny")


@pytest.fixture(scope="module")
def bench(folder: Path, ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    overrides = {
        "vla_node.subject": f"transformers:{folder}",
        "vla_node.policy.convention": CONVENTION,
        "vla_node.loading.device": "cpu",
    }
    graph_folder = tmp_path_factory.mktemp("graph")
    with RosGraph(ros_domain, graph_folder, ["vla_node"], overrides) as graph:
        graph.activate("vla_node")
        yield Bench(graph, VIEWS)


def expected(folder: Path, chunk: ActionChunk, brightness: int) -> np.ndarray:
    options = VlaOptions(policy=PolicyOptions(convention=CONVENTION))
    rgb = np.full((48, 64, 3), brightness, dtype=np.uint8)
    camera = Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5)
    frames = {view: Frame(view, ns_of(chunk.header.stamp), rgb, camera, np.eye(4)) for view in VIEWS}
    vla = make_vla(parse_vla(f"transformers:{folder}"), options)
    shown = VlaObservation(frames, TASK, T_TOOL, chunk.gripper, 0, q_rad=np.array(chunk.joints))
    return vla.act(shown).increments


def test_the_node_decides_as_the_checkpoint_does(bench: Bench, folder: Path) -> None:
    distorted, raw = bench.decision(bench.begin())
    for chunk, brightness in ((raw, 200), (distorted, 40)):
        assert chunk.status == ActionChunk.STATUS_ACT, chunk.reason
        assert list(chunk.joints) == list(Q_RAD), "its convention has the joints of the arm as state"
        assert np.allclose(increments_of(chunk), expected(folder, chunk, brightness), atol=1e-5)
        assert chunk.subject == f"transformers:{folder}"
        assert chunk.subject_version.endswith("float32")
        assert chunk.view == View.TOP
    assert raw.subject_version == distorted.subject_version
    assert np.abs(increments_of(raw) - increments_of(distorted)).max() > 1e-5
    bench.until_counted(lambda counts: counts.get("latency_ms", 0) > 0)


def test_a_rejected_checkpoint_fails_in_configure_with_the_reason(bench: Bench, folder: Path) -> None:
    """The last test of this node, whose checkpoint is gone afterwards."""
    (folder / "config.json").write_text('{"model_type": "openvla"}')
    with pytest.raises(UserError, match=r"vla_node failed to configure: .*same action for any image"):
        bench.graph.load_again("vla_node")
