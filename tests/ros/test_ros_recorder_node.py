"""recorder_node writes messages byte for byte, however the node ends."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from embodied_iqa_msgs.msg import TrialEvent
from embodied_iqa_msgs.srv import RecordTrial
from rcl_interfaces.srv import ListParameters
from rclpy.duration import Duration
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Image
from std_srvs.srv import SetBool

from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.reader import TrialReader
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import time_of
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.qos import EVENT, IMAGE, RECORDED_IMAGE
from live_process import COMPLETION_S
from ros_graph import RosGraph
from small_disk import small_disk

IMAGES = "/camera/wrist/image_raw"
EVENTS = "/trial/events"


class Recorder:
    """Opens and closes recordings, and publishes messages."""

    def __init__(self, graph: RosGraph) -> None:
        self.graph = graph
        self.images = graph.publisher(Image, IMAGES, IMAGE)
        self.events = graph.publisher(TrialEvent, EVENTS, EVENT)
        self.listing = graph.node.create_client(ListParameters, "/recorder_node/list_parameters")

    def open(self, path: Path, **metadata: str) -> RecordTrial.Response:
        keys, values = list(metadata), list(metadata.values())
        return self.record(start=True, path=str(path), metadata_keys=keys, metadata_values=values)

    def record(self, **request: object) -> RecordTrial.Response:
        return self.graph.call(RecordTrial, "/recorder/record", **request)

    def publish(self, count: int) -> dict[str, list[bytes]]:
        sent: dict[str, list[bytes]] = {IMAGES: [], EVENTS: []}
        for index in range(count):
            rgb = np.random.default_rng(index).integers(0, 256, (48, 64, 3), dtype=np.uint8)
            event = TrialEvent(task=f"task {index}", run_index=index)
            event.header.stamp = time_of(1_000 + index)
            sent[IMAGES].append(image_to_cdr(rgb, 1_000 + index, "x"))
            sent[EVENTS].append(serialize_message(event))  # once: its padding holds any bytes
            self.images.publish(sent[IMAGES][-1])
            self.events.publish(sent[EVENTS][-1])
            self.round_trip()
        for _ in range(10):
            self.round_trip()
        return sent

    def round_trip(self) -> None:
        """Let the recorder process its messages: it does so between two responses."""
        self.graph.ask(self.listing, ListParameters.Request())

    def wait_acknowledged(self) -> None:
        """Wait until the recorder's queue has every image, or has dropped it for a newer one.

        After a standstill what was lost on the way is sent again, which may take longer than responses.
        """
        assert self.images.wait_for_all_acked(Duration(seconds=COMPLETION_S))

    def wait_for(self, path: Path, size: int) -> None:
        self.graph.wait(lambda: path.is_file() and path.stat().st_size >= size, f"{size} bytes in the file")


def read(path: Path) -> dict[str, list[bytes]]:
    with TrialReader(path) as reader:
        found: dict[str, list[bytes]] = {IMAGES: [], EVENTS: []}
        for message in reader.messages(list(found)):
            found[message.topic].append(bytes(message.cdr))
        return found


@pytest.fixture(scope="module")
def running(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    with RosGraph(ros_domain, tmp_path_factory.mktemp("graph"), ["recorder_node"]) as graph:
        yield Recorder(graph)


@pytest.fixture
def recorder(running: Recorder) -> Iterator[Recorder]:
    """The node of all tests that leave it alive, with no recording open."""
    yield running
    running.record(start=False)


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Recorder]:
    """A node of one test, which ends it."""
    with own_domain() as domain, RosGraph(domain, tmp_path / "graph", ["recorder_node"]) as graph:
        yield Recorder(graph)


def test_messages_are_recorded_and_wrong_requests_are_rejected(recorder: Recorder, tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    assert recorder.open(path, task="pick the red cube").success
    again = recorder.open(tmp_path / "other.mcap")
    assert (again.success, "already recording" in again.message) == (False, True)
    sent = recorder.publish(60)
    recorder.wait_for(path, 200_000)
    closed = recorder.record(start=False)
    assert (closed.success, closed.dropped) == (True, 0), closed.message
    assert read(path) == sent
    with TrialReader(path) as reader:
        assert reader.metadata()["embodied_iqa"] == {"task": "pick the red cube"}
    for answer, words in [
        (recorder.record(start=False), "no recording is open"),
        (recorder.open(path), "exist"),
        (recorder.open(Path("/proc/nobody/trial.mcap")), "/proc/nobody"),
    ]:
        assert not answer.success
        assert words in answer.message
    uneven = recorder.record(start=True, path=str(tmp_path / "b.mcap"), metadata_keys=["a"])
    assert not uneven.success
    assert not (tmp_path / "b.mcap").exists()
    assert recorder.open(tmp_path / "second.mcap").success, "the recorder goes on"


def test_what_overtakes_in_the_queue_of_a_slow_recorder_counts_as_lost(
    recorder: Recorder, tmp_path: Path
) -> None:
    path = tmp_path / "trial.mcap"
    assert recorder.open(path).success
    recorder.publish(1)
    pid, count = recorder.graph.processes.pid("recorder_node"), 300
    os.kill(pid, signal.SIGSTOP)
    try:
        for index in range(count):
            recorder.images.publish(image_to_cdr(np.zeros((48, 64, 3), np.uint8), 2_000 + index, "x"))
    finally:
        os.kill(pid, signal.SIGCONT)
    recorder.wait_acknowledged()
    for _ in range(RECORDED_IMAGE.depth + 10):  # between two responses it takes at least one image
        recorder.round_trip()
    recorder.publish(1)  # a gap shows with the next message
    recorder.wait_acknowledged()
    recorder.round_trip()
    recorder.round_trip()
    closed = recorder.record(start=False)
    assert closed.success, closed.message
    stored = len(read(path)[IMAGES])
    assert (stored < count, stored + closed.dropped) == (True, 1 + count + 1)


def test_a_recording_that_does_not_fit_on_the_disk_leaves_nothing(recorder: Recorder, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 2) as disk:
        (disk / "other").write_bytes(bytes(shutil.disk_usage(disk).free - 280_000))
        opened = recorder.open(disk / "trial.mcap")
        assert not opened.success
        assert f"the disk at {disk} is full" in opened.message
        assert [item.name for item in disk.iterdir()] == ["other"]
        (disk / "other").unlink()
        assert recorder.open(disk / "trial.mcap").success, "the same place, once there is space"
        assert recorder.record(start=False).success


def test_a_pause_drops_only_images(recorder: Recorder, tmp_path: Path) -> None:
    def pause(*, data: bool) -> bool:
        return bool(recorder.graph.call(SetBool, "/recorder/pause", data=data).success)

    assert not pause(data=True), "nothing is recorded: there is nothing to pause"
    path = tmp_path / "paused.mcap"
    assert recorder.open(path).success
    before = recorder.publish(3)
    assert pause(data=True)
    meanwhile = recorder.publish(3)
    assert pause(data=False)
    after = recorder.publish(3)
    assert recorder.record(start=False).success
    stored = read(path)
    assert stored[IMAGES] == before[IMAGES] + after[IMAGES]
    assert stored[EVENTS] == before[EVENTS] + meanwhile[EVENTS] + after[EVENTS]


def test_ctrl_c_closes_the_file(mortal: Recorder, tmp_path: Path) -> None:
    path = tmp_path / "trial.mcap"
    assert mortal.open(path).success
    sent = mortal.publish(60)
    mortal.wait_for(path, 400_000)
    mortal.graph.may_die("recorder_node")
    os.kill(mortal.graph.processes.pid("recorder_node"), signal.SIGINT)
    code = mortal.graph.wait(
        lambda: {mortal.graph.processes.exit_code("recorder_node")} - {None}, "the node's end"
    )
    assert code == {0}
    found = read(path)
    assert all(found[topic] == sent[topic][: len(found[topic])] for topic in sent)
    assert len(found[EVENTS]) >= 40


def test_after_a_kill_the_recording_is_recovered(
    mortal: Recorder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trial.mcap"
    assert mortal.open(path).success
    sent = mortal.publish(60)
    mortal.wait_for(path, 400_000)
    mortal.graph.may_die("recorder_node")
    os.kill(mortal.graph.processes.pid("recorder_node"), signal.SIGKILL)
    mortal.graph.wait(lambda: mortal.graph.processes.exit_code("recorder_node"), "the node's end")
    assert main(["rescore", str(path)]) == 1
    assert "embodied-iqa recover" in capsys.readouterr().err
    assert main(["recover", str(path), "--out", str(tmp_path / "whole.mcap")]) == 0
    found = read(tmp_path / "whole.mcap")
    assert len(found[EVENTS]) >= 40
    assert all(found[topic] == sent[topic][: len(found[topic])] for topic in sent)
