"""vlm_node and vla_node answer about exactly the requested frame, raw and distorted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from embodied_iqa_msgs.msg import ActionChunk, VlmAnswer
from embodied_iqa_msgs.srv import AskVlm, SetTask
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Bool

from embodied_iqa.base.errors import UserError
from embodied_iqa.imaging.distortions import DistortionSpec, FrameDistorter
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.imaging.images.message_geometry import matrix_from_pose
from embodied_iqa.imaging.images.pairing import Arrived
from embodied_iqa.live.nodes.vla_node import VlaNode
from embodied_iqa.live.ros.conversion import camera_info_of, increments_of, ns_of, pose_of, time_of
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.qos import EVENT, IMAGE, STATE
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.runs.graph.parameters import VlaParameters
from embodied_iqa.world.protocols import VlaObservation
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from ros_graph import RosGraph

TASK = "pick the red cube"
DARK = FrameDistorter(DistortionSpec("19", 5))
FIRST_NS = 50_000_000_000
PERIOD_NS = 66_666_667
SOURCES = {Source.RAW: "/camera/{}/image_raw", Source.DISTORTED: "/distorted/{}/image_raw"}


class Feed:
    """Publishes the frames of one scene, raw and darkened."""

    def __init__(self, graph: RosGraph) -> None:
        self.graph = graph
        scene = make_scene(7, parse_instruction(TASK))
        world = World(scene)
        self.views = make_vla(parse_vla("classical-vla")).info.views
        with SceneRenderer(scene, 640, 480) as renderer:
            self.scene = {view: renderer.frame(view, world.snapshot()) for view in self.views}
        heard = {"listeners": 2}
        self.images = {
            (view, source): graph.publisher(Image, topic.format(view), IMAGE, **heard)
            for view in self.views
            for source, topic in SOURCES.items()
        }
        self.infos = {
            view: graph.publisher(CameraInfo, f"/camera/{view}/camera_info", IMAGE, **heard)
            for view in self.views
        }
        self.poses = {
            view: graph.publisher(PoseStamped, f"/camera/{view}/pose", IMAGE, **heard) for view in self.views
        }
        self.answers = graph.subscribe(VlmAnswer, "/vlm/answer", EVENT)
        self.actions = graph.subscribe(ActionChunk, "/vla/actions", EVENT)
        self.references = graph.subscribe(ActionChunk, "/vla/reference_actions", EVENT)
        self.deciding = graph.subscribe(Bool, "/vla/deciding", EVENT)
        self.tool = graph.publisher(PoseStamped, "/arm/tool_pose", STATE)
        self.joints = graph.publisher(JointState, "/arm/joint_states", STATE)

    def frame(self, view: View, source: Source, stamp_ns: int) -> Frame:
        clean = self.scene[view]
        rgb = clean.rgb if source is Source.RAW else DARK.apply(clean.rgb, view, stamp_ns)
        T = matrix_from_pose(pose_of(clean.T_base_camera))
        return Frame(view, stamp_ns, np.ascontiguousarray(rgb), clean.intrinsics, T)

    def show(self, stamp_ns: int, *sources: Source) -> None:
        for view in self.views:
            clean = self.scene[view]
            info, pose = camera_info_of(clean.intrinsics), PoseStamped(pose=pose_of(clean.T_base_camera))
            for message, publisher in ((info, self.infos[view]), (pose, self.poses[view])):
                message.header.stamp = time_of(stamp_ns)
                publisher.publish(message)
            for source in sources or tuple(Source):
                image = self.frame(view, source, stamp_ns).rgb
                self.images[view, source].publish(image_to_cdr(image, stamp_ns, str(view)))

    def tell_pose(self, T: np.ndarray, stamp_ns: int) -> None:
        tool, joints = PoseStamped(pose=pose_of(T)), JointState(position=[0.0] * 6 + [0.25])
        for message, publisher in ((tool, self.tool), (joints, self.joints)):
            message.header.stamp = time_of(stamp_ns)
            publisher.publish(message)

    def ask(self, source: int, stamp_ns: int = 0, view: str = "") -> AskVlm.Response:
        request = {"task": TASK, "source": source, "view": view, "stamp": time_of(stamp_ns)}
        return self.graph.call(AskVlm, "/vlm/ask", **request)


@pytest.fixture(scope="module")
def feed(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Feed]:
    overrides = {
        "vlm_node.subject": "classical-vlm",
        "vla_node.subject": "classical-vla",
        "vlm_node.frame_deadline_s": 0.5,
    }
    nodes = ["vlm_node", "vla_node"]
    with RosGraph(ros_domain, tmp_path_factory.mktemp("graph"), nodes, overrides) as graph:
        graph.activate(*nodes)
        yield Feed(graph)


@pytest.fixture(scope="module")
def shown(feed: Feed) -> Feed:
    """Three frames that vlm_node has received."""
    stamps = [FIRST_NS + n * PERIOD_NS for n in range(3)]
    for source in Source:
        feed.graph.wait(lambda s=source: _seen(feed, s, stamps), f"{source.name} frames")
    return feed


def _seen(feed: Feed, source: Source, stamps: list[int]) -> bool:
    for stamp_ns in stamps:
        feed.show(stamp_ns)
    return bool(feed.ask(source, stamps[-1]).success)


@pytest.mark.parametrize("source", list(Source))
@pytest.mark.parametrize("index", [0, 2])
def test_the_vlm_answers_about_the_frame_of_the_stamp(shown: Feed, source: Source, index: int) -> None:
    stamp_ns = FIRST_NS + index * PERIOD_NS
    response = shown.ask(source, stamp_ns)
    assert response.success, response.message
    vlm = make_vlm(parse_vlm("classical-vlm"))
    view = vlm.info.views[0]
    answer = response.answer
    assert answer.answer == vlm.answer(shown.frame(view, source, stamp_ns), TASK)
    assert (ns_of(answer.header.stamp), answer.source, answer.view) == (stamp_ns, source, view)
    assert (answer.subject, answer.subject_version) == (vlm.info.name, vlm.info.version)
    shown.graph.wait(lambda: answer in shown.answers.messages, "the answer on /vlm/answer")


def test_without_a_stamp_the_newest_frame_is_used(shown: Feed) -> None:
    assert ns_of(shown.ask(Source.RAW).answer.header.stamp) == FIRST_NS + 2 * PERIOD_NS


@pytest.mark.parametrize(
    ("source", "stamp_ns", "view", "words"),
    [
        (0, FIRST_NS + 5, "", "no raw frame of top in 0.5 s"),
        (0, FIRST_NS, "front", "available: top"),
        (7, FIRST_NS, "", "available: 0, 1"),
    ],
)
def test_unanswerable_requests_are_rejected(
    shown: Feed, source: int, stamp_ns: int, view: str, words: str
) -> None:
    response = shown.ask(source, stamp_ns, view)
    assert not response.success
    assert words in response.message
    assert shown.ask(Source.RAW, FIRST_NS).success, "the node lives on"


def test_the_vla_decides_on_the_first_complete_frame_of_the_run(shown: Feed) -> None:
    T = np.eye(4)
    T[:3, :3] = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
    T[:3, 3] = -0.4, -0.1, 0.35
    start_ns = FIRST_NS + 10 * PERIOD_NS

    def is_set() -> bool:
        shown.tell_pose(T, FIRST_NS)
        shown.show(FIRST_NS)
        request = {"task": TASK, "from_stamp": time_of(start_ns)}
        return bool(shown.graph.call(SetTask, "/vla/set_task", **request).success)

    shown.graph.wait(is_set, "frames that the VLA can decide on")
    stamps = [start_ns - 1, start_ns + 1, start_ns + PERIOD_NS]
    shown.show(stamps[0])
    shown.show(stamps[1], Source.RAW)

    def decided() -> bool:
        shown.tell_pose(T, stamps[2])
        shown.show(stamps[2])
        return bool(shown.actions) and bool(shown.references)

    shown.graph.wait(decided, "a decision")
    for inbox, source in ((shown.actions, Source.DISTORTED), (shown.references, Source.RAW)):
        chunk = inbox.messages[0]
        assert ns_of(chunk.header.stamp) == stamps[2], "the first frame of which both versions are there"
        expected = _expected(shown, source, chunk)
        assert increments_of(chunk).tobytes() == expected.increments.tobytes()
        assert (chunk.source, chunk.reason, chunk.task) == (source, expected.reason, TASK)
    raw, dark = shown.references.messages[0], shown.actions.messages[0]
    assert raw.sequence == dark.sequence
    said = shown.graph.wait(lambda: shown.deciding.messages[1:], "the end of a decision")
    assert [shown.deciding.messages[0].data, said[0].data] == [True, False]
    assert (raw.status, dark.status) == (ActionChunk.STATUS_ACT, ActionChunk.STATUS_NO_TARGET)


def _expected(feed: Feed, source: Source, chunk: ActionChunk):
    vla, stamp_ns = make_vla(parse_vla("classical-vla")), ns_of(chunk.header.stamp)
    frames = {view: feed.frame(view, source, stamp_ns) for view in vla.info.views}
    return vla.act(VlaObservation(frames, TASK, matrix_from_pose(chunk.tool_pose), chunk.gripper, 0))


def test_a_policy_that_waits_for_a_camera_of_another_cell_names_its_cameras() -> None:
    node = VlaNode.__new__(VlaNode)
    info = SimpleNamespace(views=(View.TOP, View.WRIST))
    node.active, node._subject = True, SimpleNamespace(info=info)  # type: ignore[assignment]
    node._pairs, node.config = dict, VlaParameters()  # type: ignore[method-assign]
    arrived = {View.TOP: Arrived([7], {7}), View.WRIST: Arrived([7], set())}
    node._arrived = lambda: arrived  # type: ignore[method-assign]
    said = node._set_task(SetTask.Request(task="pick the red cube"), SetTask.Response())
    assert (said.success, said.message) == (False, "the policy waits for images of wrist")


def test_an_idle_arm_that_waits_for_images_says_so_until_a_decision_comes() -> None:
    """A busy computer drops images, so that none of several cameras belong together."""
    node, late, desk = VlaNode.__new__(VlaNode), SimpleNamespace(total=5), SimpleNamespace(idle_ns=0)
    node._desk, node._input = desk, SimpleNamespace(late=late)  # type: ignore[assignment]
    node.config, node._late_before, node._idle_words = VlaParameters(), 0, ""
    arrived = {View.TOP: Arrived([7], {7}), View.WRIST: Arrived([7], set())}
    node._arrived = lambda: arrived  # type: ignore[method-assign]
    assert node._why_idle() == ""
    desk.idle_ns = 2_900_000_000
    assert node._why_idle() == ""
    desk.idle_ns = 3_000_000_000
    expected = "the arm waits for a decision: the policy waits for images of wrist"
    assert node._why_idle() == expected
    late.total, desk.idle_ns = 9, 4_000_000_000
    assert node._why_idle() == expected, "the words last"
    desk.idle_ns = 0
    assert node._why_idle() == ""
    desk.idle_ns, late.total = 5_000_000_000, 10
    assert node._why_idle() == f"{expected}; images come too late for it: is the computer overloaded?"


@pytest.mark.parametrize(("node", "subject"), [("vla_node", "classical-vla"), ("vlm_node", "classical-vlm")])
def test_a_subject_for_a_camera_that_the_cell_lacks_is_refused_as_soon_as_it_is_loaded(
    tmp_path: Path, node: str, subject: str
) -> None:
    overrides = {
        "arm_node.robot": "none",
        "camera_node.source": "files",
        "camera_node.views": ["side"],
        f"{node}.subject": subject,
    }
    with (
        own_domain() as domain,
        RosGraph(domain, tmp_path, [node], overrides) as graph,
        pytest.raises(UserError, match=f"{subject} sees the top view, which no camera takes.*got 'side'"),
    ):
        graph.activate(node)
