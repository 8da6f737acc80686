"""openpi's own client through the proxy: each has a gate, and nothing is released when something breaks."""

from __future__ import annotations

import argparse
import http.client
import json
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import websockets.sync.client
from openpi_client import msgpack_numpy
from openpi_client.websocket_client_policy import WebsocketClientPolicy

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.base.errors import UsageError
from embodied_iqa.cli.gate import proxying as proxying_command
from embodied_iqa.cli.gate.proxy_options import configure
from embodied_iqa.cli.main import main
from embodied_iqa.cli.parser import with_present_names
from embodied_iqa.models.subjects.wire.errors import WireError
from embodied_iqa.models.subjects.wire.policy_client import PolicyClient, WireLimits
from embodied_iqa.models.subjects.wire.sockets import Address
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.proxy.gated_policy import GATE
from embodied_iqa.quality.gate.proxy.hold_answers import HoldKind, HoldOptions
from embodied_iqa.quality.gate.proxy.proxy_server import GateSetting, PolicyPlace, stranger_in_words
from gate_files import write_gate
from gated_policies import KEY, WRIST, calibrations, covered, observation, proxying, scene_image, setting
from live_process import running_program
from manual_clock import PATIENCE_S
from wire_servers import greet, raw_server, read_message, reference_server

METADATA = {"name": "pi0", "reset_pose": [0.0, 1.0]}


def bad() -> dict[str, Any]:
    return {**observation(), KEY: covered(scene_image(100))}


class Policy:
    """Answers with the sum of the state; waits for permission where a prompt says so."""

    def __init__(self) -> None:
        self.asked = 0
        self.begun = threading.Semaphore(0)
        self.may_go = threading.Event()

    def __call__(self, seen: dict[str, Any]) -> dict[str, Any]:
        self.asked += 1
        if seen["prompt"] == "fail":
            raise ValueError("no such arm")
        if seen["prompt"] == "wait":
            self.begun.release()
            assert self.may_go.wait(PATIENCE_S)
        rows = np.full((4, 8), float(seen["observation/joint_position"].sum()))
        return {"actions": rows, "server_timing": {"infer_ms": 7.0}}


@contextmanager
def served(policy: Policy, mode: GateMode = GateMode.ON, **more: Any) -> Iterator[int]:
    hold = more.pop("hold", HoldOptions())
    with (
        reference_server(METADATA, policy) as port,
        proxying(setting(mode, hold=hold), port, **more) as proxy,
    ):
        yield proxy


def test_the_reference_client_works_and_a_covered_camera_makes_it_raise():
    policy = Policy()
    with served(policy) as port:
        client = WebsocketClientPolicy("127.0.0.1", port)
        metadata = client.get_server_metadata()
        assert {key: metadata[key] for key in METADATA} == METADATA
        assert metadata[GATE]["cameras"][KEY] == {"view": "top", "rotated_deg": 0}
        answer = client.infer(observation())
        assert np.array_equal(answer["actions"], np.full((4, 8), 21.0))
        assert answer["server_timing"] == {"infer_ms": 7.0}
        assert answer[GATE]["verdict"] == "PASS"
        with pytest.raises(RuntimeError, match="the gate holds: top: "):
            client.infer(bad())
        assert policy.asked == 1
        assert client.infer(observation())[GATE]["verdict"] == "PASS", "the connection outlives a hold"


def test_the_reference_client_gets_the_state_of_a_hold():
    keys = ("observation/joint_position", "observation/gripper_position")
    with served(Policy(), hold=HoldOptions(HoldKind.REPEAT, state=keys)) as port:
        client = WebsocketClientPolicy("127.0.0.1", port)
        client.infer(observation())
        answer = client.infer(bad())
        assert np.array_equal(answer["actions"], np.tile([*np.arange(7.0), 0.5], (4, 1)))
        assert answer[GATE]["answer"] == "repeat"


def test_shadow_lets_everything_through():
    with served(Policy(), GateMode.SHADOW) as port:
        told = WebsocketClientPolicy("127.0.0.1", port).infer(bad())[GATE]
        assert (told["verdict"], told["mode"]) == ("REJECT", "shadow")


def test_a_gate_that_is_off_judges_nothing():
    with served(Policy(), GateMode.OFF) as port:
        told = WebsocketClientPolicy("127.0.0.1", port).infer(bad())[GATE]
        assert (told["verdict"], told["mode"], told["answer"]) == ("PASS", "off", "policy")


def test_former_options_of_the_proxy_work(capsys: pytest.CaptureFixture[str]):
    parser = argparse.ArgumentParser()
    configure(parser)
    words = ["gate", "proxy", "--policy", "openpi://gpu:8000", "--calibration", "mine.yaml"]
    found = parser.parse_args(with_present_names([*words, "--listen", "[::1]:9000", "--shadow"])[2:])
    assert (found.host, found.port, found.mode) == ("::1", 9000, "shadow")
    present = "--listen HOST:PORT is called --host HOST --port PORT; 0.2 no longer knows it"
    shadow = "--shadow is called --mode=shadow; 0.2 no longer knows it"
    assert capsys.readouterr().err == f"embodied-iqa: {shadow}\nembodied-iqa: {present}\n"


def test_an_error_of_the_policy_is_passed_on():
    with served(Policy()) as port, pytest.raises(RuntimeError, match=r"ServerError: .*no such arm"):
        WebsocketClientPolicy("127.0.0.1", port).infer({**observation(), "prompt": "fail"})


def test_two_clients_at_once_have_gates_and_policies_of_their_own():
    """One client waits for the policy; the other is held meanwhile, and its hold is not the first one's."""
    policy = Policy()
    with served(policy) as port, ThreadPoolExecutor(1) as pool:
        first, second = (WebsocketClientPolicy("127.0.0.1", port) for _ in range(2))
        waiting = pool.submit(first.infer, {**observation(), "prompt": "wait"})
        assert policy.begun.acquire(timeout=PATIENCE_S)
        with pytest.raises(RuntimeError, match="the gate holds"):
            second.infer(bad())
        assert not waiting.done()
        policy.may_go.set()
        assert waiting.result(PATIENCE_S)[GATE]["verdict"] == "PASS"


def test_a_hundred_clients_are_bounded_and_the_admitted_are_served():
    with served(Policy(), most_connections=8, most_per_address=8) as port, ExitStack() as open_ones:
        admitted, refused = [], []
        for _ in range(100):
            try:
                one = websockets.sync.client.connect(f"ws://127.0.0.1:{port}", compression=None)
                admitted.append(open_ones.enter_context(one))
            except websockets.exceptions.InvalidStatus as error:
                refused.append(error.response.status_code)
        assert len(admitted) == 8
        assert refused == [503] * 92
        for one in admitted:
            one.recv(PATIENCE_S)
            one.send(msgpack_numpy.packb(observation()))
            assert msgpack_numpy.unpackb(one.recv(PATIENCE_S))[GATE]["verdict"] == "PASS"


def test_the_health_check_answers_on_the_same_port():
    with served(Policy()) as port:
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        link.request("GET", "/healthz")
        assert link.getresponse().status == 200
        link.close()


def test_a_policy_that_is_gone_is_an_error_and_never_an_action():
    policy = Policy()
    with ExitStack() as stack:
        with reference_server(METADATA, policy) as policy_port:
            port = stack.enter_context(
                proxying(setting(hold=HoldOptions(HoldKind.LAST, last_s=60.0)), policy_port, connect_s=1.0)
            )
            client = WebsocketClientPolicy("127.0.0.1", port)
            client.infer(observation())
        with pytest.raises(RuntimeError, match=r"ConnectionLostError|DeadlineError"):
            client.infer(observation())
        late = WebsocketClientPolicy("127.0.0.1", port)
        assert late.get_server_metadata()["name"] == "pi0", "the connection stands until the policy is back"
        for _ in range(2):
            with pytest.raises(RuntimeError, match="ConnectionLostError: nobody answers"):
                late.infer(observation())


def test_a_policy_that_never_answered_closes_the_connection_with_the_reason():
    with reference_server(METADATA, Policy()) as gone:
        pass
    with proxying(setting(), gone, connect_s=0.2) as port:
        early = websockets.sync.client.connect(f"ws://127.0.0.1:{port}", compression=None)
        with early, pytest.raises(websockets.exceptions.ConnectionClosedError, match="no policy server"):
            early.recv(PATIENCE_S)


def test_another_policy_than_the_greeting_named_is_an_error():
    with reference_server(METADATA, Policy()) as first:
        place, _ = PolicyPlace(Address("127.0.0.1", first)).reached(PATIENCE_S)
    with reference_server({"name": "other"}, Policy()) as second:
        client = PolicyClient(Address("127.0.0.1", second), WireLimits())
        assert client.expect(place.greeting)["name"] == "pi0"
        with pytest.raises(WireError, match="serves another policy than before"):
            client.infer(observation())
        client.close()


@pytest.mark.parametrize("address", ["openpi://127.0.0.1:{}", "openvla+http://127.0.0.1:{}/act"])
def test_the_command_waits_for_either_policy_as_long(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str
):
    with reference_server(METADATA, Policy()) as gone:
        pass
    record = tmp_path / "seen.mcap"
    more = ("--policy", address.format(gone), "--wait", "0.2", "--record", str(record))
    assert main(_words(tmp_path, gone, *more)) == 1
    waiting, none, said = capsys.readouterr().err.splitlines()
    assert waiting.startswith("waiting for ")
    assert none == f"{record}: not kept: nothing was judged"
    assert f"no policy server answers at 127.0.0.1:{gone} within 0.2 s: " in said
    assert not record.exists()
    record.touch()
    assert main(_words(tmp_path, gone, *more)) == 1
    assert "exists" in capsys.readouterr().err, "before the wait"


def test_clients_that_left_are_not_connected_to_a_policy_that_hangs():
    """Else their attempts pile up, and the next client waits behind all of them."""
    begun, well, clients = [], threading.Event(), 60

    def hang(connection: socket.socket, stop: threading.Event) -> None:
        begun.append(connection)
        if well.is_set():
            greet(connection, METADATA)
            stop.wait()
        assert well.wait(PATIENCE_S)  # and hangs up

    with raw_server(hang) as policy_port, proxying(setting(), policy_port, threads=2) as port:
        address = f"ws://127.0.0.1:{port}"
        for _ in range(clients):
            websockets.sync.client.connect(address, compression=None).close()
        well.set()
        with websockets.sync.client.connect(address, compression=None) as late:
            assert msgpack_numpy.unpackb(late.recv(PATIENCE_S))["name"] == "pi0"
        assert len(begun) < clients


@pytest.mark.parametrize(
    ("once", "times"),
    [(False, 3), (True, 1)],
    ids=["again", "once"],
)
def test_a_policy_that_dies_over_a_question_is_an_error(once: bool, times: int):
    """Each connection is greeted and breaks at its first question; no answer of the proxy is an action."""
    asked = []

    def die(connection: socket.socket, _stop: threading.Event) -> None:
        greet(connection, METADATA)
        asked.append(read_message(connection))

    with raw_server(die) as policy_port, proxying(setting(), policy_port, asks_once=once) as port:
        client = WebsocketClientPolicy("127.0.0.1", port)
        with pytest.raises(RuntimeError, match="ConnectionLostError"):
            client.infer(observation())
        assert len(asked) == times


@pytest.mark.parametrize("more", [(), ("--always",)])
def test_the_command_asks_a_policy_with_state_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
):
    places = []

    class Proxy:
        def __init__(self, _setting: object, place: PolicyPlace, _serving: object) -> None:
            places.append(place)

        def run(self, _ready: object) -> None:
            pass

    monkeypatch.setattr(proxying_command, "GateProxy", Proxy)
    with reference_server(METADATA, Policy()) as port:
        assert main(_words(tmp_path, port, *more)) == 0
    assert [place.limits.asks_once for place in places] == [bool(more)]


def test_a_policy_that_never_answers_is_an_error_at_the_deadline():
    def sleep(connection: socket.socket, stop: threading.Event) -> None:
        greet(connection, METADATA)
        stop.wait()

    with raw_server(sleep) as policy_port, proxying(setting(), policy_port, answer_s=0.2) as port:
        client = WebsocketClientPolicy("127.0.0.1", port)
        with pytest.raises(RuntimeError, match=r"no answer from .* within 0\.2 s"):
            client.infer(observation())


def test_hostile_messages_get_an_error_and_the_next_client_is_served():
    policy, random = Policy(), np.random.default_rng(1)
    left: queue.Queue[str] = queue.Queue()

    def attend(_client: str, /, *, is_here: bool, why: str = "") -> None:
        if not is_here:
            left.put(why)

    gate = replace(setting(), attend=attend)
    with (
        reference_server(METADATA, policy) as policy_port,
        proxying(gate, policy_port, most_bytes=1 << 20) as port,
    ):
        with websockets.sync.client.connect(f"ws://127.0.0.1:{port}", compression=None) as one:
            one.recv(PATIENCE_S)
            messages = ["text", b"", b"\xc1", b"\x80", b"\xdf\xff\xff\xff\xff", b"\x91" * 500]
            messages += [random.bytes(int(random.integers(1, 300))) for _ in range(300)]
            for message in messages:
                one.send(message)
                assert isinstance(one.recv(PATIENCE_S), str)
            one.send(bytes((1 << 20) + 1))
            with pytest.raises(websockets.exceptions.ConnectionClosedError):
                one.recv(PATIENCE_S)
        why = "its message is longer than 1 MiB (--most-mib), so the connection is closed"
        assert left.get(timeout=PATIENCE_S) == why
        assert policy.asked == 0
        assert WebsocketClientPolicy("127.0.0.1", port).infer(observation())[GATE]["verdict"] == "PASS"


def test_numbered_questions_get_their_own_numbers_back():
    """Our protocol on both sides: the proxy counts for the policy, the client for itself."""

    def policy(seen: dict[str, Any]) -> dict[str, Any]:
        return {"actions": np.zeros((1, 7)), "request": seen["request"]}

    with (
        reference_server({"protocol": "embodied-iqa/1"}, policy) as policy_port,
        proxying(setting(), policy_port) as port,
    ):
        client = PolicyClient(Address("127.0.0.1", port), WireLimits(answer_s=PATIENCE_S))
        client.connect()
        with pytest.raises(Exception, match="the gate holds"):
            client.infer(bad())
        assert client.infer(observation())["request"] == 2
        client.close()
        assert "request" not in WebsocketClientPolicy("127.0.0.1", port).infer(observation())


def test_a_token_is_asked_of_clients():
    with served(Policy(), token="secret") as port:
        refused = pytest.raises(websockets.exceptions.InvalidStatus, match="401")
        with refused, websockets.sync.client.connect(f"ws://127.0.0.1:{port}"):
            pass
        client = WebsocketClientPolicy("127.0.0.1", port, api_key="secret")
        assert client.infer(observation())[GATE]["verdict"] == "PASS"


def _words(tmp_path: Path, port: int, *more: str) -> list[str]:
    save_calibrations(calibrations(), tmp_path / "mine.yaml")
    return [
        *("gate", "proxy", "--policy", f"openpi://127.0.0.1:{port}", "--port", "0"),
        *("--calibration", str(tmp_path / "mine.yaml"), "--view", f"{KEY}=top", *more),
    ]


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path):
    with reference_server(METADATA, Policy()) as port:
        words = _words(tmp_path, port, "--view", f"{WRIST}=wrist:rot180", "--json")
        command = [sys.executable, "-m", "embodied_iqa.cli.main", *words]
        with running_program(command, tmp_path / "logs", stdout=subprocess.PIPE, text=True) as program:
            told = json.loads(program.process.stdout.readline())
            assert told["cameras"][WRIST] == "camera wrist, 64x64, rotated by 180 degrees"
            client = WebsocketClientPolicy("127.0.0.1", told["port"])
            seen = {**observation(), WRIST: scene_image(5)[::-1, ::-1]}
            assert client.infer(seen)[GATE]["verdict"] == "PASS"
            with pytest.raises(RuntimeError, match="the gate holds"):
                client.infer({**seen, KEY: covered(scene_image(100))})
            program.process.send_signal(signal.SIGINT)
            assert program.wait(PATIENCE_S) == 0
            assert not program.process.stdout.read(), "nothing but the JSON of the start"
            came, hold, left, counts = program.stderr.splitlines()
            assert came.startswith("client 127.0.0.1:")
            assert ": hold: top: " in hold
            assert left.endswith(" left")
            assert counts == "2 queries: 1 passed, 1 held (top 1)"


def test_the_command_names_the_policy_of_a_fit_before_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    told = []

    class Proxy:
        def __init__(self, gate: GateSetting, _place: object, _serving: object) -> None:
            told.append(gate.metadata["fitted_to"])

        def run(self, _ready: object) -> None:
            pass

    monkeypatch.setattr(proxying_command, "GateProxy", Proxy)
    more = ("--calibration", str(write_gate(tmp_path)), "--judge")
    with reference_server(METADATA, Policy()) as port:
        words = _words(tmp_path, port)
        assert main([*words, *more, "learned"]) == 0
        assert "note: the judge was fitted to a policy, and" in capsys.readouterr().err
        assert main([*words, *more, "statistics"]) == 0
    assert "fitted" not in capsys.readouterr().err
    assert told == [["a policy"], []]


@pytest.mark.parametrize(
    ("fitted", "metadata", "words"),
    [
        ("pi0", {"name": "pi0"}, ""),
        ("other or pi0", {"name": "pi0"}, ""),
        ("pi0=openpi://a:1", {"name": "pi0"}, ""),
        ("pi0@main=openpi://a:1", {"name": "pi0", "revision": "main"}, ""),
        ("openpi://gpu:8000", {"name": "own"}, ""),
        ("own=openpi://gpu:8000", {}, ""),
        ("pi0 (acts always)", {"name": "pi0", "version": "3-always"}, ""),
        ("own=openpi://gpu:8000/", {"name": "other"}, ""),
        ("openpi://gpu:8000 (acts always)", {}, ""),
        ("pi0 (acts always)", {"name": "pi0"}, "pi0 (acts always), and promises nothing of others"),
        ("python:own:make", {"name": "o\nwn"}, "python:own:make, and promises nothing of others; the"),
        ("python:own:make", {"name": "own"}, "; the server calls itself own"),
        ("python:own:make", {"name": 3}, "; the server does not say its name"),
        ("@", {}, "; the server does not say its name"),
    ],
)
def test_names_of_policies_are_compared(fitted: str, metadata: dict[str, Any], words: str):
    said = stranger_in_words([fitted], "openpi://gpu:8000", metadata)
    assert bool(said) == bool(words)
    assert words in said
    assert "\n" not in said


def test_openvlas_path_makes_no_other_place_and_one_fit_of_two_may_be_anothers():
    for address in ("openvla+http://gpu:8000", "openvla+http://gpu:8000/act"):
        assert not stranger_in_words(["openvla+http://gpu:8000/act"], address, {})
    said = stranger_in_words(["pi0", "mine"], "openpi://gpu:8000", {"name": "pi0"})
    assert said.startswith("the judge was for some cameras or sizes fitted to mine, and promises nothing")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--view", "a=nowhere"), "no such camera"),
        (("--listen", "8001"), "wrong --listen"),
        (("--host", "0.0.0.0"), "--token-env NAME"),
        (("--port", "65536"), "argument --port: expected 0 to 65535"),
        (("--policy", "http://gpu:8000"), "wrong --policy"),
        (("--policy", "openpi://me:secret@gpu:8000"), "--policy-token-env NAME"),
        (("--policy", "http://me:secret@gpu:x"), "--policy-token-env NAME"),
        (("--most-clients", "0"), "argument --most-clients: expected 1 to 1024"),
        (("--deadline", "0"), "wrong --deadline; expected above 0"),
        (("--recover", "0"), "argument --recover: expected 1 to 1000"),
        (("--judge", "other"), "unknown judge"),
        (("--on-hold", "repeat"), "--state-key KEY"),
        (("--on-hold", "zero", "--absolute", "x"), "wrong --absolute"),
        (("--on-hold", "zero", "--absolute", "7=a", "--absolute", "7=b"), "names a column twice; got 7"),
        (("--on-hold", "last", "--last-s", "0"), "argument --last-s: expected 0.001 to 60; got 0.0"),
        (("--last-s", "3"), "--last-s is for --on-hold last; got 'error'"),
        (("--record-mib", "9"), "--record-mib is for --record FILE"),
        (("--record", "seen.txt"), "expected a file that ends in .mcap; got 'seen.txt'"),
        (("--mode", "shadow", "--on-hold", "zero"), "--mode shadow holds nothing: --on-hold zero has no"),
        (("--mode", "shadow", "--always"), "--always has no effect"),
        (("--mode", "off", "--recover", "2"), "--mode off holds nothing: --recover has no effect"),
        (("--mode", "off", "--record", "seen.mcap"), "--mode off judges nothing to record"),
        (("--mode", "of"), "did you mean off?"),
        (("--view", f"{KEY}x=top"), "two cameras have one view; got 'top, top'"),
    ],
)
def test_wrong_arguments_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], words: str
):
    assert main(_words(tmp_path, 9, *more)) == UsageError.exit_code
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert words in said
    assert "secret" not in said
