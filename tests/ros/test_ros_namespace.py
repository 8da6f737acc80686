"""A graph stands below its namespace, any name of it can be remapped, and recordings keep their names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.srv import RecordTrial, SetDistortion
from sensor_msgs.msg import Image

from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.distortions import DistortionSpec
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import spec_to_msg
from embodied_iqa.live.ros.qos import EVENT, IMAGE
from embodied_iqa.runs.graph.graph_nodes import GRAPH, command_of
from embodied_iqa.runs.graph.node_table import resolve, write_parameters
from embodied_iqa.runs.graph.processes import ProcessSpec
from ros_graph import RosGraph

NAMESPACE = "/cell1"
FOREIGN = "/usb_cam/image"


@pytest.fixture(scope="module")
def graph(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RosGraph]:
    folder = tmp_path_factory.mktemp("graph")
    parameters = folder / "cell1.yaml"
    robotless = {"arm_node.robot": "none", "camera_node.source": "files"}
    write_parameters(resolve((), robotless), parameters, NAMESPACE)
    nodes = [
        ProcessSpec(
            entry.name,
            (*command_of(entry, parameters, NAMESPACE), "-r", f"camera/top/image_raw:={FOREIGN}"),
        )
        for entry in GRAPH
        if entry.name in {"distortion_node", "recorder_node"}
    ]
    with RosGraph(ros_domain, folder, [], extra=tuple(nodes)) as graph:
        yield graph


def test_a_remapped_image_of_a_graph_in_a_namespace_is_distorted_and_recorded_by_its_own_name(
    graph: RosGraph, tmp_path: Path
) -> None:
    publisher = graph.publisher(Image, FOREIGN, IMAGE, listeners=2)
    distorted = graph.subscribe_raw(Image, f"{NAMESPACE}/distorted/top/image_raw", IMAGE)
    said = graph.subscribe(DiagnosticArray, "/diagnostics", EVENT)
    spec = spec_to_msg(DistortionSpec("12", 4))
    assert graph.call(SetDistortion, f"{NAMESPACE}/distortion/set", distortion=spec).success
    path = tmp_path / "trial.mcap"
    record = f"{NAMESPACE}/recorder/record"
    assert graph.call(RecordTrial, record, start=True, path=str(path)).success
    rgb, stamps = np.full((48, 64, 3), 100, np.uint8), iter(range(1, 10_000))

    def arrives() -> bool:
        if not len(distorted):
            publisher.publish(image_to_cdr(rgb, next(stamps) * 1_000_000, "top_camera_optical_frame"))
        return len(distorted) > 0

    graph.wait(arrives, "a distorted image in the namespace")
    names = {"cell1/distortion_node", "cell1/recorder_node"}
    graph.wait(
        lambda: names <= {status.name for message in said.messages for status in message.status},
        "the diagnostics of both nodes",
    )
    assert graph.call(RecordTrial, record, start=False).success
    with TrialReader(path) as reader:
        assert "/camera/top/image_raw" in reader.topics
        assert next(reader.images(["/camera/top/image_raw"])).image.rgb.shape == rgb.shape
        assert not [topic for topic in reader.topics if "cell1" in topic]
