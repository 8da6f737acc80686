"""distortion_node distorts images; a change takes effect at its exact stamp."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from embodied_iqa_msgs.msg import DistortionSpec as SpecMessage
from embodied_iqa_msgs.msg import DistortionState
from embodied_iqa_msgs.srv import SetDistortion
from sensor_msgs.msg import Image

from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.imaging.images.image_cdr import image_from_cdr, image_to_cdr, stamp_from_cdr
from embodied_iqa.live.ros.conversion import ns_of, spec_to_msg, time_of
from embodied_iqa.live.ros.qos import CHANGES, IMAGE, LATCHED
from ros_graph import Inbox, RosGraph

NOISE = DistortionSpec("12", 4, seed=3)


class Camera:
    """Publishes images to the node and collects its output."""

    def __init__(self, graph: RosGraph) -> None:
        self.graph = graph
        self.publisher = graph.publisher(Image, "/camera/top/image_raw", IMAGE)
        self.out: Inbox = graph.subscribe_raw(Image, "/distorted/top/image_raw", IMAGE)
        self.stamp_ns = 1_000_000_000
        until_heard = iter(range(1000))
        graph.wait(lambda: self._knock(next(until_heard)), "a first image")

    def _knock(self, _count: int) -> bool:
        if not len(self.out):
            self.publisher.publish(self.cdr(self.next_stamp_ns()))
        return bool(len(self.out))

    def next_stamp_ns(self) -> int:
        self.stamp_ns += 66_666_667
        return self.stamp_ns

    @staticmethod
    def rgb(stamp_ns: int) -> np.ndarray:
        return np.random.default_rng(stamp_ns).integers(0, 256, (48, 64, 3), dtype=np.uint8)

    def cdr(self, stamp_ns: int) -> bytes:
        return image_to_cdr(self.rgb(stamp_ns), stamp_ns, "top_camera_optical_frame")

    def show(self, stamp_ns: int) -> bytes:
        """Publish an image and return the output with its stamp."""
        self.publisher.publish(self.cdr(stamp_ns))
        return self.graph.wait(lambda: self.found(stamp_ns), f"the image of {stamp_ns}")

    def found(self, stamp_ns: int) -> bytes | None:
        return next((cdr for cdr in self.out.messages if stamp_from_cdr(cdr) == stamp_ns), None)

    def set(
        self, spec: DistortionSpec | None, from_ns: int = 0, *, or_later: bool = False
    ) -> SetDistortion.Response:
        fields = {"distortion": spec_to_msg(spec), "from_stamp": time_of(from_ns), "or_later": or_later}
        return self.graph.call(SetDistortion, "/distortion/set", **fields)


@pytest.fixture(scope="module")
def graph(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RosGraph]:
    with RosGraph(ros_domain, tmp_path_factory.mktemp("graph"), ["distortion_node"]) as graph:
        yield graph


@pytest.fixture(scope="module")
def camera(graph: RosGraph) -> Camera:
    return Camera(graph)


@pytest.fixture(autouse=True)
def _undistorted(camera: Camera) -> None:
    assert camera.set(None).success


def test_without_a_distortion_images_pass_byte_for_byte(camera: Camera) -> None:
    stamp_ns = camera.next_stamp_ns()
    assert camera.show(stamp_ns) == camera.cdr(stamp_ns)


def test_a_distortion_starts_exactly_at_its_stamp(camera: Camera) -> None:
    stamps = [camera.next_stamp_ns() for _ in range(4)]
    answer = camera.set(NOISE, stamps[2])
    assert answer.success, answer.message
    assert (answer.state.id, answer.state.level, answer.state.header.stamp) == ("12", 4, time_of(stamps[2]))
    out = [image_from_cdr(camera.show(stamp)) for stamp in stamps]
    distorter = FrameDistorter(NOISE)
    for stamp_ns, image, spoilt in zip(stamps, out, [False, False, True, True], strict=True):
        rgb = camera.rgb(stamp_ns)
        assert np.array_equal(image.rgb, distorter.apply(rgb, View.TOP, stamp_ns) if spoilt else rgb)
        assert (image.stamp_ns, image.frame_id) == (stamp_ns, "top_camera_optical_frame")


def test_late_images_are_distorted_according_to_their_stamp(camera: Camera) -> None:
    early, late = camera.next_stamp_ns(), camera.next_stamp_ns()
    assert camera.set(NOISE, late).success
    camera.show(late)
    assert camera.show(early) == camera.cdr(early)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (SpecMessage(id="99", level=1), ["'99'", "available", "01"]),
        (SpecMessage(id="12", level=9), ["9", "1"]),
    ],
)
def test_unknown_distortions_are_rejected_with_the_available_ones(
    camera: Camera, graph: RosGraph, message: SpecMessage, words: list[str]
) -> None:
    answer = graph.call(SetDistortion, "/distortion/set", distortion=message)
    assert not answer.success
    assert all(word in answer.message for word in words), answer.message
    stamp_ns = camera.next_stamp_ns()
    assert camera.show(stamp_ns) == camera.cdr(stamp_ns), "nothing changed"


def test_a_past_stamp_is_rejected(camera: Camera) -> None:
    stamp_ns = camera.next_stamp_ns()
    camera.show(stamp_ns)
    answer = camera.set(NOISE, stamp_ns)
    assert not answer.success
    assert "passed already" in answer.message


def test_a_schedule_of_a_view_without_images_is_refused(camera: Camera) -> None:
    answer = camera.set(DistortionSpec("12", 4, schedule="burst:view=side"))
    assert not answer.success
    assert "the view of the schedule has no images; got 'side'" in answer.message


def test_a_broken_image_is_dropped_and_the_next_one_is_processed(camera: Camera) -> None:
    broken = camera.cdr(camera.next_stamp_ns())[:200]
    assert camera.set(NOISE).success
    camera.publisher.publish(broken)
    camera.show(camera.next_stamp_ns())


def test_a_late_subscriber_gets_the_current_distortion(camera: Camera, graph: RosGraph) -> None:
    assert camera.set(NOISE, camera.next_stamp_ns()).success
    state = graph.subscribe(DistortionState, "/distortion/state", LATCHED)
    graph.wait(lambda: len(state) and state.last.id, "the latched state")
    assert (state.last.id, state.last.level, state.last.level_now, state.last.seed) == ("12", 4, 4, 3)


def test_a_burst_changes_exactly_its_images_and_the_state_says_so(camera: Camera, graph: RosGraph) -> None:
    """Outside the burst images pass byte for byte; the state has the level from its first image on."""
    states = graph.subscribe(DistortionState, "/distortion/state", CHANGES)
    stamps = [camera.next_stamp_ns() for _ in range(6)]
    burst = DistortionSpec("12", 4, seed=3, schedule="burst:start=0.13,length=0.13")
    answer = camera.set(burst, stamps[0])
    assert answer.success, answer.message
    assert (answer.state.origin, answer.state.level_now) == (time_of(stamps[0]), 0)
    distorter, constant = FrameDistorter(burst, stamps[0]), FrameDistorter(NOISE)
    assert [distorter.level_at(stamp) for stamp in stamps] == [0, 0, 4, 4, 0, 0]
    for stamp_ns in stamps:
        out = camera.show(stamp_ns)
        if distorter.level_at(stamp_ns) == 0:
            assert out == camera.cdr(stamp_ns)
        else:
            rgb = camera.rgb(stamp_ns)
            assert np.array_equal(image_from_cdr(out).rgb, constant.apply(rgb, View.TOP, stamp_ns))
    expected = [(stamps[0], 0), (stamps[2], 4), (stamps[4], 0)]
    graph.wait(lambda: _levels(states, stamps[0])[-1:] == expected[-1:], "the last state")
    assert _levels(states, stamps[0]) == expected
    assert {state.schedule for state in states.messages[-3:]} == {burst.schedule}


def _levels(states: Inbox, from_ns: int) -> list[tuple[int, int]]:
    found = [(ns_of(state.header.stamp), state.level_now) for state in states.messages]
    return [(stamp_ns, level) for stamp_ns, level in found if stamp_ns >= from_ns]


def test_where_a_stamp_has_passed_a_schedule_may_begin_later(camera: Camera) -> None:
    stamp_ns = camera.next_stamp_ns()
    camera.show(stamp_ns)
    answer = camera.set(NOISE, stamp_ns, or_later=True)
    assert answer.success, answer.message
    assert answer.state.header.stamp == answer.state.origin == time_of(stamp_ns + 1)


def test_a_wrong_schedule_is_rejected(camera: Camera, graph: RosGraph) -> None:
    message = SpecMessage(id="12", level=1, schedule="pulse")
    answer = graph.call(SetDistortion, "/distortion/set", distortion=message)
    assert not answer.success
    assert "unknown schedule" in answer.message
    assert "burst" in answer.message
