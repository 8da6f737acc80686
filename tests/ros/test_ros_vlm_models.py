"""vlm_node with real models and servers: configure loads or reports why not; answers meet the deadline."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from embodied_iqa_msgs.msg import VlmAnswer
from embodied_iqa_msgs.srv import AskVlm
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import CameraInfo, Image

from chat_server import ChatServer, completion
from embodied_iqa.base.errors import UserError
from embodied_iqa.imaging.images.frame import Frame, View
from embodied_iqa.imaging.images.image_cdr import image_to_cdr
from embodied_iqa.live.ros.conversion import camera_info_of, pose_of, time_of
from embodied_iqa.live.ros.domain import own_domain
from embodied_iqa.live.ros.qos import EVENT, IMAGE
from embodied_iqa.models.subjects.reference import parse_vlm
from embodied_iqa.models.subjects.registry import make_vlm
from embodied_iqa.models.subjects.subject_options import CacheOptions, DecodingOptions, VlmOptions
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.world import World
from embodied_iqa.world.tasks.instruction import parse_instruction
from manual_clock import PATIENCE_S
from ros_graph import Inbox, RosGraph
from tiny_vlms import KINDS, save_tiny

TASK = "pick the red cube"
STAMP_NS = 50_000_000_000
TOKENS = 12
DEADLINE_S = 5.0
"""A silent server has to reach it; an answer that a busy machine delays beyond it is requested again."""


class Camera:
    """Publishes the image of the top camera of one scene."""

    def __init__(self, graph: RosGraph) -> None:
        scene = make_scene(7, parse_instruction(TASK))
        with SceneRenderer(scene, 320, 240) as renderer:
            self.clean = renderer.frame(View.TOP, World(scene).snapshot())
        self.graph = graph
        self.image = graph.publisher(Image, "/camera/top/image_raw", IMAGE)
        self.info = graph.publisher(CameraInfo, "/camera/top/camera_info", IMAGE)
        self.pose = graph.publisher(PoseStamped, "/camera/top/pose", IMAGE)

    def show(self) -> Frame:
        info, pose = (
            camera_info_of(self.clean.intrinsics),
            PoseStamped(pose=pose_of(self.clean.T_base_camera)),
        )
        for message, publisher in ((info, self.info), (pose, self.pose)):
            message.header.stamp = time_of(STAMP_NS)
            publisher.publish(message)
        self.image.publish(image_to_cdr(self.clean.rgb, STAMP_NS, "top"))
        return self.clean

    def ask(self) -> AskVlm.Response:
        def answered() -> AskVlm.Response | None:
            self.show()
            response = self.graph.call(AskVlm, "/vlm/ask", task=TASK, source=0)
            return None if "no raw frame" in response.message else response

        response = self.graph.wait(answered, "a frame in vlm_node")
        assert response is not None
        return response


@pytest.fixture(scope="module", autouse=True)
def _settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        yield


def overrides(subject: str, **more: Any) -> dict[str, Any]:
    basic = {"subject": subject, "frame_deadline_s": 0.5, "decoding.max_new_tokens": TOKENS}
    return {f"vlm_node.{name}": value for name, value in (basic | more).items()}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the shared vlm_node loads its subject from."""
    return tmp_path_factory.mktemp("models") / "model"


@pytest.fixture(scope="module")
def shared(checkpoint: Path, ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RosGraph]:
    """A vlm_node that loads one checkpoint after another: it imports torch once."""
    folder, subject = tmp_path_factory.mktemp("graph"), f"transformers:{checkpoint}"
    with RosGraph(ros_domain, folder, ["vlm_node"], overrides(subject)) as graph:
        yield graph


@pytest.fixture(scope="module")
def shared_camera(shared: RosGraph) -> Camera:
    """Publishers wait until the node has loaded a subject."""
    return Camera(shared)


@pytest.fixture
def save(checkpoint: Path) -> Callable[[str], None]:
    """Replace the checkpoint by one of another kind."""
    shutil.rmtree(checkpoint, ignore_errors=True)
    return lambda kind: save_tiny(kind, checkpoint)


def statuses(news: Inbox) -> list[DiagnosticStatus]:
    return [status for message in news.messages for status in message.status]


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_answers_through_the_node_as_it_does_alone(
    shared: RosGraph, checkpoint: Path, save: Callable[[str], None], request: pytest.FixtureRequest, kind: str
) -> None:
    save(kind)
    news = shared.subscribe(DiagnosticArray, "/diagnostics", 10)
    shared.load_again("vlm_node")
    camera = request.getfixturevalue("shared_camera")
    answers = shared.subscribe(VlmAnswer, "/vlm/answer", EVENT)
    shared.meet("vlm_node")
    response = camera.ask()
    assert response.success, response.message
    options = VlmOptions(cache=CacheOptions(enabled=False), decoding=DecodingOptions(max_new_tokens=TOKENS))
    alone = make_vlm(parse_vlm(f"transformers:{checkpoint}"), options)
    answer = response.answer
    assert answer.answer == alone.answer(camera.clean, TASK)
    assert (answer.subject, answer.subject_version) == (f"transformers:{checkpoint}", alone.info.version)
    assert answer.latency_ms > 0
    shared.wait(lambda: answer in answers.messages, "the answer on /vlm/answer")
    assert any("loading: reading" in status.message for status in statuses(news)), "progress is reported"
    shared.wait(
        lambda: any(value.key == "latency_ms" for status in statuses(news) for value in status.values),
        "the latency on /diagnostics",
    )


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "can run code"),
        (lambda folder: (folder / "config.json").unlink(), r"cannot read .*config\.json"),
    ],
)
def test_configure_fails_with_the_reason(
    shared: RosGraph, checkpoint: Path, save: Callable[[str], None], spoil: Any, words: str
) -> None:
    save("llava")
    spoil(checkpoint)
    with pytest.raises(UserError, match=f"vlm_node failed to configure: .*{words}"):
        shared.load_again("vlm_node")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def test_a_silent_server_costs_one_deadline_and_the_node_lives(tmp_path: Path, server: ChatServer) -> None:
    names = overrides(server.reference, answer_deadline_s=DEADLINE_S, **{"cache.enabled": False})
    with own_domain() as domain, RosGraph(domain, tmp_path / "graph", ["vlm_node"], names) as graph:
        graph.activate("vlm_node")
        camera = Camera(graph)
        graph.wait(lambda: camera.ask().answer.answer == "a red cube", "the first answer")
        asked = len(server.requests)
        server.behave = lambda handler: handler.server_of_test.end.wait(PATIENCE_S)
        response = camera.ask()
        assert not response.success
        waited = re.search(r"no answer in (\d+\.\d) s", response.message)
        assert waited is not None, response.message
        assert DEADLINE_S <= float(waited[1]) < PATIENCE_S
        assert not server.end.is_set(), "the server is still silent"
        assert len(server.requests) == asked + 1
        server.end.set()
        server.behave = lambda handler: handler.say(200, completion("a blue ball"))
        graph.wait(lambda: camera.ask().answer.answer == "a blue ball", "the next answer")
