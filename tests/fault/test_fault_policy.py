"""vla_node with a policy server that is slow, lying, gone or never there: a reason, and never any motion."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from embodied_iqa_msgs.msg import ActionChunk
from embodied_iqa_msgs.srv import SetTask
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image, JointState

from embodied_iqa.errors import UserError
from embodied_iqa.images.frame import Intrinsics
from embodied_iqa.recording.image_cdr import image_to_cdr
from embodied_iqa.ros.conversion import camera_info_of, increments_of, ns_of, pose_of, time_of
from embodied_iqa.ros.domain import own_domain
from embodied_iqa.ros.qos import EVENT, PICTURE, STATE
from ros_graph import RosGraph
from wire_servers import raw_server, reference_server

TASK = "pick the red cube"
PERIOD_NS = 66_666_667
DEADLINE_S = 0.4
TOPICS = ("/camera/top/image_raw", "/distorted/top/image_raw")


class Policy:
    """A policy whose behaviour the test sets; it moves 1 cm forward."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.row = [0.01, 0, 0, 0, 0, 0, 1.0]
        self.asked = 0

    def __call__(self, _message: dict) -> dict:
        self.asked += 1
        assert self.free.wait(20)
        return {"actions": np.array([self.row])}


class Bench:
    """vla_node, with pictures, an arm that stands still, and what the node says."""

    def __init__(self, graph: RosGraph, policy: Policy) -> None:
        self.graph, self.policy = graph, policy
        self.stamp_ns = 50_000_000_000
        self.actions = graph.subscribe(ActionChunk, "/vla/actions", EVENT)
        self.references = graph.subscribe(ActionChunk, "/vla/reference_actions", EVENT)
        self.diagnostics = graph.subscribe(DiagnosticArray, "/diagnostics", 10)
        self.pictures = [graph.publisher(Image, topic, PICTURE) for topic in TOPICS]
        self.info = graph.publisher(CameraInfo, "/camera/top/camera_info", PICTURE)
        self.camera = graph.publisher(PoseStamped, "/camera/top/pose", PICTURE)
        self.tool = graph.publisher(PoseStamped, "/arm/tool_pose", STATE)
        self.joints = graph.publisher(JointState, "/arm/joint_states", STATE)

    def show(self) -> None:
        """One more frame, raw and distorted."""
        self.stamp_ns += PERIOD_NS
        T = np.eye(4)
        T[:3, 3] = -0.4, 0.0, 0.35
        self.tool.publish(PoseStamped(pose=pose_of(T)))
        self.joints.publish(JointState(position=[0.0] * 6 + [0.25]))
        info = camera_info_of(Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5))
        for message, publisher in ((info, self.info), (PoseStamped(pose=pose_of(T)), self.camera)):
            message.header.stamp = time_of(self.stamp_ns)
            publisher.publish(message)
        rgb = np.full((48, 64, 3), 100, dtype=np.uint8)
        for publisher in self.pictures:
            publisher.publish(image_to_cdr(rgb, self.stamp_ns, "top"))

    def begin(self) -> int:
        """Set the task for frames from the next one on."""

        def is_set() -> bool:
            self.show()
            return self.set_task(self.stamp_ns + 1)

        self.graph.wait(is_set, "frames to decide on")
        return self.stamp_ns

    def set_task(self, from_ns: int, task: str = TASK) -> bool:
        request = {"task": task, "from_stamp": time_of(from_ns)}
        return bool(self.graph.call(SetTask, "/vla/set_task", **request).success)

    def decision(self, after_ns: int) -> tuple[ActionChunk, ActionChunk]:
        """The first decision on a frame after a stamp, for the arm and for the scores."""

        def both() -> list[ActionChunk]:
            self.show()
            found = [
                next((chunk for chunk in inbox.messages if ns_of(chunk.header.stamp) > after_ns), None)
                for inbox in (self.actions, self.references)
            ]
            return [] if None in found else found

        distorted, raw = self.graph.wait(both, "a decision")
        return distorted, raw

    def counts(self) -> dict[str, int]:
        """What /diagnostics says of vla_node now."""
        for message in reversed(self.diagnostics.messages):
            for status in message.status:
                if status.name == "vla_node":
                    return {item.key: float(item.value) for item in status.values}
        return {}

    def until_counted(self, is_enough: Callable[[dict], bool]) -> None:
        self.graph.wait(lambda: is_enough(self.counts()), "the count on /diagnostics")


def overrides(port: int) -> dict[str, object]:
    return {
        "vla_node.subject": f"openpi://127.0.0.1:{port}",
        "vla_node.policy.convention": "openvla-bridge",
        "vla_node.policy.views": "top",
        "vla_node.server.connect_s": DEADLINE_S,
        "vla_node.server.deadline_s": 0.1 + DEADLINE_S,
        "vla_node.server.retries": 0,
        "vla_node.answer_deadline_s": DEADLINE_S,
    }


@pytest.fixture(scope="module")
def bench(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    policy = Policy()
    folder = tmp_path_factory.mktemp("graph")
    with (
        reference_server({}, policy) as port,
        RosGraph(ros_domain, folder, ["vla_node"], overrides(port)) as graph,
    ):
        graph.activate("vla_node")
        yield Bench(graph, policy)
        policy.free.set()


@pytest.fixture(autouse=True)
def _well_again(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "bench" in request.fixturenames:
        policy = request.getfixturevalue("bench").policy
        policy.free.set()
        policy.row = [0.01, 0, 0, 0, 0, 0, 1.0]


def test_a_good_policy_acts(bench: Bench):
    for chunk in bench.decision(bench.begin()):
        assert chunk.status == ActionChunk.STATUS_ACT, chunk.reason
        assert np.allclose(increments_of(chunk)[0, :3], [-0.01, 0, 0])
        assert chunk.subject.startswith("openpi://127.0.0.1:")
        assert chunk.latency_ms > 0


def test_a_slow_policy_is_given_up_and_its_late_answer_is_dropped(bench: Bench):
    bench.policy.free.clear()
    late_before = bench.counts().get("late", 0)
    start_ns = bench.begin()
    bench.graph.wait(lambda: (bench.show(), bench.policy.asked)[1], "the question")
    assert bench.set_task(start_ns + 1), "the node answers while its subject thinks"
    distorted, raw = bench.decision(start_ns)
    for chunk in (distorted, raw):
        assert chunk.status == ActionChunk.STATUS_FAILED
        assert not chunk.increments
        assert "no answer" in chunk.reason
    bench.policy.free.set()
    bench.until_counted(lambda counts: counts["late"] > late_before)
    chunk, _ = bench.decision(bench.begin())
    assert chunk.status == ActionChunk.STATUS_ACT, chunk.reason


def test_what_was_asked_in_a_run_that_is_over_is_dropped(bench: Bench):
    bench.policy.free.clear()
    dropped_before, asked_before = bench.counts().get("dropped", 0), bench.policy.asked
    start_ns = bench.begin()
    bench.graph.wait(lambda: (bench.show(), bench.policy.asked > asked_before)[1], "the question")
    assert bench.set_task(0, task="")
    bench.policy.free.set()
    bench.until_counted(lambda counts: counts["dropped"] > dropped_before)
    assert all(ns_of(chunk.header.stamp) <= start_ns for chunk in bench.actions.messages)


@pytest.mark.parametrize(
    ("row", "words"),
    [([0.0] * 3, "not openvla-bridge"), ([float("nan")] * 7, "not finite"), ([1e6] * 7, "does not fit")],
)
def test_a_lying_policy_never_moves_the_arm(bench: Bench, row: list[float], words: str):
    bench.policy.row = row
    for chunk in bench.decision(bench.begin()):
        assert chunk.status == ActionChunk.STATUS_FAILED
        assert not chunk.increments
        assert words in chunk.reason


def test_a_policy_that_is_not_there_is_told_when_the_node_is_configured(tmp_path: Path):
    def silent(_connection: object, stop: threading.Event) -> None:
        stop.wait()

    with (
        own_domain() as domain,
        raw_server(silent) as port,
        RosGraph(domain, tmp_path, ["vla_node"], overrides(port)) as graph,
        pytest.raises(UserError, match="no policy server answers"),
    ):
        graph.activate("vla_node")


def test_a_policy_that_goes_is_told_and_the_node_lives_on(tmp_path: Path):
    policy = Policy()
    server = reference_server({}, policy)
    port = server.__enter__()
    with own_domain() as domain, RosGraph(domain, tmp_path, ["vla_node"], overrides(port)) as graph:
        graph.activate("vla_node")
        bench = Bench(graph, policy)
        assert bench.decision(bench.begin())[0].status == ActionChunk.STATUS_ACT
        server.__exit__(None, None, None)
        chunk, _ = bench.decision(bench.begin())
        assert chunk.status == ActionChunk.STATUS_FAILED
        assert "refused" in chunk.reason
        assert bench.set_task(0, task="")
