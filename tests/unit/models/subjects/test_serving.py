"""A subject is served by openpi's protocol: to openpi's own client, to ours, and to those who misbehave."""

from __future__ import annotations

import asyncio
import http.client
import json
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import websockets
import websockets.sync.client
from openpi_client import msgpack_numpy
from openpi_client.websocket_client_policy import WebsocketClientPolicy
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import InvalidStatus

from embodied_iqa.base.errors import InputError, UsageError, UserError
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View, image_frame
from embodied_iqa.models.subjects.actions.observation import frame_to_map, own_observation
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.reference_answers import reference_scenes
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.models.subjects.serving.listener import Listener, ServingOptions
from embodied_iqa.models.subjects.serving.questions import chunk_to_map, observation_from
from embodied_iqa.models.subjects.serving.served import ServedSubject, serve_vla, serve_vlm
from embodied_iqa.models.subjects.subject_options import PolicyOptions, ServerOptions, VlaOptions
from embodied_iqa.models.subjects.wire.errors import DeadlineError, ProtocolError, ServerError
from embodied_iqa.models.subjects.wire.policy_client import PolicyClient, WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.world.protocols import (
    ActionChunk,
    ChunkStatus,
    SubjectInfo,
    VlaObservation,
    close_subject,
)
from embodied_iqa.world.scenes.scene import tasks_of
from embodied_iqa.world.simulation.renderer import SceneRenderer
from embodied_iqa.world.simulation.rollout import observe
from embodied_iqa.world.simulation.world import World
from live_process import running_program
from manual_clock import PATIENCE_S, ManualClock
from wire_servers import reference_server, serving


@cache
def reference_observations() -> tuple[VlaObservation, ...]:
    """A rendered scene with each of its tasks."""
    (scene,) = reference_scenes(1, 0)
    world, vla = World(scene), make_vla(parse_vla("classical-vla"))
    with SceneRenderer(scene, 640, 480) as renderer:
        return tuple(observe(vla, world, renderer, str(task), 0) for task in tasks_of(scene))


def image(seed: int = 0, size: tuple[int, int] = (48, 64)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (*size, 3), dtype=np.uint8)


def observation(view: View = View.TOP, seed: int = 0, words: str = "pick the red cube") -> VlaObservation:
    T = np.eye(4)
    T[:3, 3] = -0.4, 0.0, 0.35
    T[1, 1] = T[2, 2] = -1.0
    frame = Frame(view, 17, image(seed), Intrinsics(64, 48, 50.0, 51.0, 31.5, 23.5), np.eye(4))
    return VlaObservation({view: frame}, words, T, 0.25, 3)


class Recorder:
    """A VLA that says what it was shown, waits for permission, and takes several at once."""

    def __init__(self) -> None:
        self.info = SubjectInfo("recorder", "7", "Says what it was shown.", (View.TOP,))
        self.batches: list[int] = []
        self.may_go = threading.Event()
        self.may_go.set()
        self.begun = threading.Semaphore(0)

    def act_batch(self, observations: list[VlaObservation]) -> list[ActionChunk]:
        self.batches.append(len(observations))
        self.begun.release()
        assert self.may_go.wait(PATIENCE_S)
        return [self.one(item) for item in observations]

    def one(self, seen: VlaObservation) -> ActionChunk:
        if seen.instruction == "fail":
            raise ValueError("two\nlines")
        rows = np.zeros((2, 7))
        rows[:, 0] = float(seen.frames[View.TOP].rgb.mean()) / 1e4
        return ActionChunk(ChunkStatus.ACT, rows, seen.instruction, (1.0, 2.0))

    def served(self) -> ServedSubject:
        def answer(questions: list[VlaObservation]) -> list[dict]:
            return [chunk_to_map(chunk) for chunk in self.act_batch(questions)]

        def understand(message: dict) -> VlaObservation:
            return observation_from(message, self.info.views)

        return ServedSubject(self.info, Role.VLA, "abc123", understand, answer, batches=True)


def client_of(port: int) -> PolicyClient:
    return PolicyClient(Address("127.0.0.1", port), WireLimits(connect_s=PATIENCE_S, answer_s=PATIENCE_S))


def test_the_reference_client_gets_what_the_subject_says():
    """Metadata first, then the very increments of the subject asked here."""
    seen = next(iter(reference_observations()))
    expected = make_vla(parse_vla("classical-vla")).act(seen)
    with serving(serve_vla(parse_vla("classical-vla"))) as port:
        client = WebsocketClientPolicy("127.0.0.1", port)
        metadata = client.get_server_metadata()
        assert metadata["name"] == "classical-vla"
        assert metadata["views"] == ["top"]
        assert metadata["convention"] == "increments"
        answer = client.infer(own_observation(seen))
        client._ws.close()
    assert np.array_equal(answer["actions"], expected.increments)
    assert answer["actions"].dtype == np.float64
    assert {key: answer[key] for key in ("name", "version", "revision", "status")} == {
        "name": "classical-vla",
        "version": make_vla(parse_vla("classical-vla")).info.version,
        "revision": "",
        "status": "act",
    }
    assert answer["server_timing"]["infer_ms"] > 0


def test_a_served_subject_is_the_subject_itself():
    """Through our client: same chunks, same name and version, so that its constants hold."""
    local = make_vla(parse_vla("classical-vla"))
    with serving(serve_vla(parse_vla("classical-vla"))) as port:
        remote = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))
        assert (remote.info.name, remote.info.version) == (local.info.name, local.info.version)
        assert remote.info.views == local.info.views
        for seen in reference_observations():
            ours, theirs = local.act(seen), remote.act(seen)
            assert ours.status is theirs.status
            assert np.array_equal(ours.increments, theirs.increments)
            assert ours.reason == theirs.reason
            assert (ours.target_px is None) == (theirs.target_px is None)
            assert ours.seen == theirs.seen
        remote.close()


@pytest.mark.parametrize(("gripper", "state"), [(-0.02, 0.0), (1.4, 1.0), (-0.6, None), (255.0, None)])
def test_a_gripper_little_beyond_closed_is_closed_and_one_of_another_range_is_refused(
    gripper: float, state: float | None
) -> None:
    mine = {"name": "mine", "version": "1", "views": ["top"], "role": "vla", "convention": "increments"}
    metadata = {"protocol": "embodied-iqa/1", **mine}
    answer = {"status": "act", "actions": np.array([[0.0] * 6 + [gripper]])}
    with reference_server(metadata, lambda seen: answer | {"request": seen["request"]}) as port:
        vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))
        if state is None:
            with pytest.raises(UserError, match=r"another range; expected 0 \(open\) to 1 \(closed\); got"):
                vla.act(observation())
        else:
            assert vla.act(observation()).increments[0, 6] == state
        vla.close()


@pytest.mark.parametrize(("stated", "known"), [(20.0, 20.0), (None, None)])
def test_the_rate_of_a_chunk_arrives(stated: float | None, known: float | None) -> None:
    recorder = Recorder()
    recorder.info = replace(recorder.info, rate_hz=stated)
    with serving(recorder.served()) as port:
        remote = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))
        assert remote.info.rate_hz == known
        remote.close()


@pytest.mark.parametrize("stated", [0.0, float("nan"), True])
def test_a_wrong_rate_is_refused(stated: float) -> None:
    recorder = Recorder()
    recorder.info = replace(recorder.info, rate_hz=stated)
    with serving(recorder.served()) as port, pytest.raises(ProtocolError, match="rate_hz"):
        make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))


def test_a_vlm_is_served_too():
    seen = next(iter(reference_observations()))
    frame = seen.frames[View.TOP]
    with serving(serve_vlm(parse_vlm("classical-vlm"))) as port:
        client = client_of(port)
        assert client.connect()["role"] == "vlm"
        question = {"prompt": seen.instruction, "frames": {"top": frame_to_map(frame)}}
        answer = client.infer(question)
        client.close()
        with pytest.raises(InputError, match="does not offer a VLA"):
            make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))
    assert answer["answer"] == make_vlm(parse_vlm("classical-vlm")).answer(frame, seen.instruction)


def test_an_observation_arrives_as_it_was_sent():
    sent = observation()
    packed = msgpack_numpy.unpackb(msgpack_numpy.packb(own_observation(sent)))
    got = observation_from(packed, (View.TOP,))
    frame, original = got.frames[View.TOP], sent.frames[View.TOP]
    assert np.array_equal(frame.rgb, original.rgb)
    assert (frame.stamp_ns, frame.intrinsics, frame.view) == (17, original.intrinsics, View.TOP)
    assert np.array_equal(got.T_base_tool, sent.T_base_tool)
    assert (got.instruction, got.gripper, got.step) == (sent.instruction, 0.25, 3)


def test_what_is_not_known_of_a_camera_arrives_as_not_known():
    sent = replace(observation(), frames={View.TOP: image_frame(np.zeros((4, 5, 3), np.uint8), View.TOP)})
    packed = msgpack_numpy.unpackb(msgpack_numpy.packb(own_observation(sent)))
    frame = observation_from(packed, (View.TOP,)).frames[View.TOP]
    assert (frame.intrinsics, frame.T_base_camera, frame.size_px) == (None, None, (5, 4))


def changed(**changes: object) -> dict:
    return own_observation(observation()) | changes


def changed_frame(**changes: object) -> dict:
    frame = frame_to_map(observation().frames[View.TOP]) | changes
    return changed(frames={"top": frame})


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({}, "no frames"),
        (changed(frames={"side": {}}), "a view is missing"),
        (changed(frames={"top": 3}), "not a map"),
        (changed(prompt=""), "prompt"),
        (changed(prompt="x" * 5000), "prompt"),
        (changed(gripper=2.0), "gripper"),
        (changed(gripper=float("nan")), "gripper"),
        (changed(step=-1), "step"),
        (changed(T_base_tool=np.eye(3)), "T_base_tool"),
        (changed(T_base_tool=2 * np.eye(4)), "rigid"),
        (changed(T_base_tool=np.full((4, 4), np.nan)), "rigid"),
        (changed_frame(rgb=np.zeros((4, 4, 3))), "image"),
        (changed_frame(rgb=np.zeros((4, 4), np.uint8)), "image"),
        (changed_frame(rgb=np.zeros((0, 4, 3), np.uint8)), "size"),
        (changed_frame(intrinsics_px=[1.0, 2.0]), "intrinsics_px"),
        (changed_frame(T_base_camera=np.eye(3)), "T_base_camera"),
        (changed(frames={"top": {"rgb": np.zeros((4, 4, 3), np.uint8)}}), "intrinsics_px"),
        (changed_frame(stamp_ns="now"), "stamp_ns"),
    ],
)
def test_a_question_that_cannot_be_meant_is_refused_and_the_next_is_answered(message: dict, words: str):
    with serving(Recorder().served()) as port:
        client = WebsocketClientPolicy("127.0.0.1", port)
        with pytest.raises(RuntimeError, match=words) as refused:
            client.infer(message)
        assert len(str(refused.value).splitlines()) == 2  # the client's own line, then ours
        assert client.infer(own_observation(observation()))["status"] == "act"
        client._ws.close()


@contextmanager
def connected(port: int) -> Iterator[websockets.sync.client.ClientConnection]:
    """A plain websocket behind the metadata."""
    with websockets.sync.client.connect(f"ws://127.0.0.1:{port}", max_size=None) as connection:
        connection.recv(PATIENCE_S)
        yield connection


def test_what_is_no_message_is_refused_and_the_next_is_answered():
    with serving(Recorder().served()) as port, connected(port) as connection:
        for bad in (b"\xc1", b"\x93\x01\x02\x03", "text", msgpack_numpy.packb({"request": "x"})):
            connection.send(bad)
            assert isinstance(connection.recv(PATIENCE_S), str)
        connection.send(msgpack_numpy.packb(own_observation(observation())))
        assert isinstance(connection.recv(PATIENCE_S), bytes)


def test_a_message_over_the_limit_ends_the_connection_and_nothing_else():
    with serving(Recorder().served(), most_bytes=100_000) as port:
        with connected(port) as connection:
            with suppress(websockets.exceptions.ConnectionClosed):
                connection.send(b"\0" * 1_000_000)
            with pytest.raises(websockets.exceptions.ConnectionClosed):
                connection.recv(PATIENCE_S)
        client = client_of(port)
        assert client.connect()["name"] == "recorder"
        client.close()


def test_questions_beyond_the_queue_are_refused_and_waiting_ones_are_answered_together():
    recorder = Recorder()
    recorder.may_go.clear()
    with serving(recorder.served(), most_waiting=3, most_at_once=8) as port:
        come: queue.Queue[tuple[int, object]] = queue.Queue()

        def ask(number: int):
            client = client_of(port)
            client.connect()
            try:
                come.put(
                    (
                        number,
                        client.infer(own_observation(observation(seed=number, words=f"task {number}"))),
                    )
                )
            except ServerError as error:
                come.put((number, error))
            finally:
                client.close()

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
        threads[0].start()
        assert recorder.begun.acquire(timeout=PATIENCE_S)
        for thread in threads[1:]:
            thread.start()
        answers = dict(come.get(timeout=PATIENCE_S) for _ in range(2))
        assert all("busy: 3 questions wait" in str(answer) for answer in answers.values())
        recorder.may_go.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        answers |= dict(come.get(timeout=PATIENCE_S) for _ in range(4))
    assert recorder.batches == [1, 3]
    good = {number: answer for number, answer in answers.items() if isinstance(answer, dict)}
    assert len(good) == 4
    for number, answer in good.items():
        assert answer["reason"] == f"task {number}"
        assert answer["actions"][0, 0] == image(number).mean() / 1e4
        assert (answer["version"], answer["revision"]) == ("7", "abc123")


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def admitted(client: PolicyClient) -> PolicyClient:
    """Connect once the server, which takes one client at a time here, knows that the last one has left."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            client.connect()
        except UserError:
            assert time.monotonic() < until, "the server does not notice who leaves"
        else:
            return client


def test_a_question_of_who_has_left_is_not_asked():
    recorder = Recorder()
    recorder.may_go.clear()
    limits, clock = WireLimits(PATIENCE_S, 0.5), ManualClock(pauses_pass=True)
    one_at_a_time = serving(recorder.served(), most_waiting=8, most_at_once=1, most_connections=1)
    with one_at_a_time as port, ThreadPoolExecutor(1) as pool:
        for number in range(2):
            client = admitted(PolicyClient(Address("127.0.0.1", port), limits, clock=clock))
            called = pool.submit(client.infer, own_observation(observation()))
            assert number or recorder.begun.acquire(timeout=PATIENCE_S)
            clock.await_waiting()  # for the answer
            clock.outlast(called, 0.5)
            with pytest.raises(DeadlineError, match="no answer from"):
                called.result()
        third = admitted(client_of(port))
        recorder.may_go.set()
        assert third.infer(own_observation(observation(words="third")))["reason"] == "third"
        third.close()
    assert len(recorder.batches) == 2, "the second question was taken out of the queue"


def test_a_place_is_free_when_the_conversation_of_who_had_it_has_ended():
    async def two_clients() -> None:
        gone, may_end = asyncio.Event(), asyncio.Event()

        async def converse(connection: ServerConnection) -> None:
            await connection.wait_closed()
            gone.set()
            await may_end.wait()

        listener = Listener(ServingOptions(port=0, most_connections=1), converse, lambda: True)
        async with asyncio.timeout(PATIENCE_S), listener.listening() as port:
            async with websockets.connect(f"ws://127.0.0.1:{port}"):
                pass
            await gone.wait()
            with pytest.raises(InvalidStatus):
                await websockets.connect(f"ws://127.0.0.1:{port}")
            may_end.set()
            while True:
                with suppress(InvalidStatus):
                    async with websockets.connect(f"ws://127.0.0.1:{port}"):
                        break

    asyncio.run(two_clients())


def test_one_question_that_fails_fails_alone_in_one_line():
    recorder = Recorder()
    recorder.may_go.clear()
    with serving(recorder.served(), most_waiting=8) as port:
        results: dict[str, object] = {}

        def ask(words: str):
            client = WebsocketClientPolicy("127.0.0.1", port)
            try:
                results[words] = client.infer(own_observation(observation(words=words)))["reason"]
            except RuntimeError as error:
                results[words] = str(error)
            client._ws.close()

        threads = [threading.Thread(target=ask, args=(words,)) for words in ("first", "fail", "fine")]
        threads[0].start()
        assert recorder.begun.acquire(timeout=PATIENCE_S)
        for thread in threads[1:]:
            thread.start()
        recorder.may_go.set()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert results["first"] == "first"
    assert results["fine"] == "fine"
    assert results["fail"] == "Error in inference server:\nValueError: lines"


def status(port: int, path: str, headers: dict[str, str] | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", path, headers=headers or {})
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_health_needs_no_token_and_questions_do(monkeypatch: pytest.MonkeyPatch):
    with serving(serve_vla(parse_vla("classical-vla")), token="secret") as port:
        assert status(port, "/healthz") == 200
        assert status(port, "/", UPGRADE) == 401
        assert status(port, "/", UPGRADE | {"Authorization": "Api-Key wrong"}) == 401
        assert WebsocketClientPolicy("127.0.0.1", port, api_key="secret").get_server_metadata()
        address = f"openpi://127.0.0.1:{port}"
        with pytest.raises(Exception, match="needs a token"):
            make_vla(parse_vla(address))
        monkeypatch.setenv("POLICY_TOKEN", "secret")
        options = VlaOptions(server=ServerOptions(key_env="POLICY_TOKEN"))
        vla = make_vla(parse_vla(address), options)
        assert vla.info.name == "classical-vla"
        close_subject(vla)


def test_more_clients_than_allowed_are_refused():
    with serving(Recorder().served(), most_connections=1) as port:
        first = client_of(port)
        first.connect()
        late = PolicyClient(Address("127.0.0.1", port), WireLimits(PATIENCE_S, PATIENCE_S, retries=0))
        with pytest.raises(InputError, match="busy"):
            late.infer({})
        first.close()


def dialled(port: int, source: str) -> socket.socket:
    """A TCP connection from a loopback address."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S, source_address=(source, 0))


def shaken(port: int, source: str) -> tuple[socket.socket, int]:
    """A connection from a loopback address after the handshake, and the HTTP status of that."""
    link = dialled(port, source)
    lines = [
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}",
        *(f"{name}: {value}" for name, value in UPGRADE.items()),
    ]
    link.sendall("\r\n".join([*lines, "\r\n"]).encode())
    return link, int(link.recv(4096).split()[1])


def until_closed(link: socket.socket) -> bytes:
    """What a server still sends before it closes the connection."""
    received = b""
    while data := link.recv(4096):
        received += data
    return received


def test_idle_clients_make_room_for_others():
    settings = {"most_connections": 3, "most_per_address": 2, "idle_s": 0.0}
    with serving(Recorder().served(), **settings) as port, ExitStack() as stack:
        idle = [stack.enter_context(shaken(port, "127.0.0.9")[0]) for _ in range(2)]
        for _ in range(20):
            client = admitted(client_of(port))
            assert client.infer(own_observation(observation(words="good")))["reason"] == "good"
            client.close()
        _third, status = shaken(port, "127.0.0.9")
        assert status == 101
        assert b"another client needs the place" in until_closed(idle[0])
        _third.close()


def test_clients_of_one_address_do_not_take_every_place():
    with serving(Recorder().served(), most_connections=4, most_per_address=2) as port, ExitStack() as stack:
        found = [shaken(port, "127.0.0.9") for _ in range(6)]
        for link, _status in found:
            stack.enter_context(link)
        assert [status for _link, status in found] == [101, 101, 503, 503, 503, 503]
        client = client_of(port)
        client.connect()
        assert client.infer(own_observation(observation(words="good")))["reason"] == "good"
        client.close()


def test_a_client_that_does_not_ask_for_a_connection_is_closed():
    with serving(Recorder().served(), handshake_s=0.2) as port, dialled(port, "127.0.0.9") as link:
        link.sendall(b"GET / HT")
        until_closed(link)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "gpu.example"])
def test_other_interfaces_need_a_token(host: str):
    with pytest.raises(UsageError, match="token"):
        ServingOptions(host=host)
    assert ServingOptions(host=host, token="t").host == host


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_told_to_end(number: signal.Signals, tmp_path: Path):
    words = [sys.executable, "-m", "embodied_iqa.cli.main", "serve", "classical-vla", "--port", "0", "--json"]
    with running_program(words, tmp_path, stdout=subprocess.PIPE, text=True) as program:
        told = json.loads(program.process.stdout.readline())
        assert told["name"] == "classical-vla"
        assert status(told["port"], "/healthz") == 200
        client = WebsocketClientPolicy("127.0.0.1", told["port"])
        program.process.send_signal(number)
        assert program.wait(PATIENCE_S) == 0
        assert not program.stderr
        client._ws.close()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nonsense"], "unknown"),
        (["classical-vla", "--host", "0.0.0.0"], "--token-env"),
        (["classical-vla", "--token-env", "NOT_SET_ANYWHERE"], "holds no token"),
        (["classical-vla", "--port", "70000"], "port"),
        (["classical-vla", "--set", "loading"], "option=value"),
        (["classical-vla", "--set", "loading.nonsense=1"], "nonsense"),
        (["classical-vla", "--most-waiting", "0"], "1 or more"),
    ],
)
def test_wrong_words_are_told_in_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture):
    from embodied_iqa.cli.main import main

    assert main(["serve", *words]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert len(error.strip().splitlines()) == 1


# --- our client at servers that are not ours ---


@pytest.mark.parametrize(
    ("convention", "row", "moved"),
    [
        ("pi0-libero", [1.0, 0, 0, 0, 0, 0, 1.0], [-0.05, 0, 0]),
        ("octo-bridge", [0.02, 0, 0, 0, 0, 0, 0.0], [-0.02, 0, 0]),
    ],
)
def test_a_policy_behind_the_reference_server_moves_our_tool(convention: str, row: list, moved: list):
    """The tool points down at home; forward in their base is away from the robot in ours."""
    asked = []

    def policy(message: dict) -> dict:
        asked.append(message)
        return {"actions": np.array([row] * 4), "state": np.zeros(3), "policy_timing": {"infer_ms": 1.0}}

    with reference_server({"reset_pose": [0.0] * 7}, policy) as port:
        options = VlaOptions(policy=PolicyOptions(convention=convention, views="top,wrist"))
        vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"), options)
        assert vla.info.version.startswith("metadata-")
        seen = observation()
        frames = {View.TOP: seen.frames[View.TOP], View.WRIST: seen.frames[View.TOP]}
        both = VlaObservation(frames, "pick", seen.T_base_tool, 0.0, 0)
        chunk = vla.act(both)
        vla.close()
    assert chunk.increments.shape == (4, 7)
    assert np.allclose(seen.T_base_tool[:3, :3] @ chunk.increments[0, :3], moved)
    assert chunk.increments[-1, 6] == 1.0
    assert asked[0]["observation/image"].shape == (224, 224, 3)
    assert asked[0]["prompt"] == "pick"


def test_a_foreign_policy_needs_a_convention_and_the_catalogue_has_them():
    with reference_server({}, lambda _: {"actions": np.zeros((1, 8))}) as port:
        with pytest.raises(UsageError, match="pi0-libero"):
            make_vla(parse_vla(f"openpi://127.0.0.1:{port}"))
        vla = make_vla(parse_vla(f"pi0-droid=openpi://127.0.0.1:{port}"))
        assert vla.info.views == (View.TOP, View.WRIST)
        vla.close()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "no actions"),
        ({"actions": np.zeros((3, 5))}, "not pi0-libero"),
        ({"actions": np.full((3, 7), np.nan)}, "not finite"),
        ({"actions": np.full((1, 7), 1e6)}, "does not fit"),
        ({"actions": "forward"}, "not numbers"),
        ({"actions": [[1, 2], [3]]}, "not numbers|not pi0-libero"),
    ],
)
def test_answers_of_a_lying_policy_never_become_motion(answer: dict, words: str):
    with reference_server({}, lambda _: answer) as port:
        options = VlaOptions(policy=PolicyOptions(convention="pi0-libero", views="top"))
        vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"), options)
        with pytest.raises(InputError, match=words):
            vla.act(observation())
        vla.close()


def test_the_failure_of_a_reference_server_is_told_in_one_line():
    def policy(_message: dict) -> dict:
        raise KeyError("observation/state")

    with reference_server({}, policy) as port:
        options = VlaOptions(policy=PolicyOptions(convention="pi0-libero"))
        vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"), options)
        with pytest.raises(ServerError, match="KeyError") as failure:
            vla.act(observation())
        assert "\n" not in str(failure.value)
        vla.close()


def test_joint_policies_are_told_joints_of_their_own_arm():
    asked = []

    def policy(message: dict) -> dict:
        asked.append(message)
        return {"actions": np.zeros((10, 8))}

    with reference_server({}, policy) as port:
        vla = make_vla(
            parse_vla(f"pi0-droid=openpi://127.0.0.1:{port}"), VlaOptions(policy=PolicyOptions(views="top"))
        )
        chunk = vla.act(observation())
        vla.close()
    assert asked[0]["observation/joint_position"].shape == (7,)
    assert np.abs(chunk.increments[:, :6]).max() < 1e-9
