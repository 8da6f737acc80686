"""Clients of OpenVLA's server through the proxy: the policy's answer on PASS, and never an action without."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embodied_iqa.arm.verdict import GateMode
from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.wire import json_arrays
from embodied_iqa.quality.gate.calibration_file import save_calibrations
from embodied_iqa.quality.gate.proxy.gated_policy import ProxyOptions
from embodied_iqa.quality.gate.proxy.hold_answers import HoldKind, HoldOptions
from embodied_iqa.quality.gate.proxy.live_view import LIVE_PATH
from embodied_iqa.quality.gate.proxy.observed_images import ProxyCamera
from embodied_iqa.quality.gate.proxy.proxy_server import GateSetting
from embodied_iqa.quality.gate.statistics_judge import StatisticsJudge
from gated_policies import calibrations, covered, openvla_proxying, rules, scene_image
from live_process import running_program
from manual_clock import PATIENCE_S
from openvla_server import deploy, json_numpy
from wire_servers import closed_port

ACTION = np.array([0.01, 0.02, 0.03, 0.1, -0.2, 0.3, 1.0], np.float32)
CAMERAS = (ProxyCamera("image", View.TOP),)


def good() -> dict[str, Any]:
    return {"image": scene_image(100), "instruction": "pick the red cube", "state": np.arange(7.0)}


def bad() -> dict[str, Any]:
    return {**good(), "image": covered(scene_image(100))}


def setting(mode: GateMode = GateMode.ON, **options: Any) -> GateSetting:
    return GateSetting(StatisticsJudge(calibrations()), rules(mode), ProxyOptions(CAMERAS, **options))


def post(
    port: int, body: bytes, *, path: str = "/act", method: str = "POST", **headers: str
) -> tuple[int, Any, dict[str, Any]]:
    """Return status, content and the gate's part of an answer."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        link.request(method, path, body, {"Content-Type": "application/json", **named})
        answer = link.getresponse()
        content = json_arrays.unpack(answer.read(), 1 << 20)
        return answer.status, content, json.loads(answer.headers.get("gate", "{}"))
    finally:
        link.close()


def ask(port: int, seen: dict[str, Any], **more: Any) -> tuple[int, Any, dict[str, Any]]:
    return post(port, json_arrays.pack(seen), **more)


@contextmanager
def served(
    answer: Callable[[dict], object] = lambda _: json_numpy(ACTION), mode: GateMode = GateMode.ON, **more: Any
) -> Iterator[tuple[int, list]]:
    """Give the port of the proxy, and what the policy was asked."""
    made = setting(mode, **{name: more.pop(name) for name in ("hold", "always") if name in more})
    with deploy(answer) as (policy, asked), openvla_proxying(made, policy, **more) as port:
        yield port, asked


def test_an_answer_comes_as_the_policy_gave_it_and_a_covered_camera_gives_none():
    with served() as (port, asked):
        status, action, gate = ask(port, good())
        assert (status, action.dtype, action.tolist()) == (200, np.float32, ACTION.tolist())
        assert (gate["verdict"], gate["answer"]) == ("PASS", "policy")
        assert gate["views"]["top"]["reason"] == ""
        status, said, gate = ask(port, bad())
        assert status == 409
        assert said.startswith("HeldError: the gate holds: top: ")
        assert gate["verdict"] != "PASS"
        assert [one[2]["instruction"] for one in asked] == ["pick the red cube"]
        assert ask(port, good())[0] == 200, "an answer depends on its own observation alone"


def test_json_inside_of_json_is_answered_in_its_own_form():
    with served(hold=HoldOptions(HoldKind.REPEAT, state=("state",))) as (port, asked):
        double = [{"encoded": json_arrays.pack(seen).decode()} for seen in (good(), bad())]
        passed, held = (ask(port, seen)[1] for seen in double)
        assert json_arrays.unpack(passed, 1 << 20).tolist() == ACTION.tolist()
        assert json_arrays.unpack(held, 1 << 20).tolist() == list(range(7))
        assert set(asked[0][2]) == {"image", "instruction", "state"}, "the policy gets what was judged"


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        (json_numpy(ACTION), np.arange(7, dtype=np.float32)),
        (json_numpy(np.stack([ACTION] * 2)), np.stack([np.arange(7, dtype=np.float32)] * 2)),
        (json.dumps(json_numpy(ACTION)), np.arange(7, dtype=np.float32)),
        ([json_numpy(ACTION)] * 2, [np.arange(7.0)] * 2),
        ([ACTION.tolist()] * 2, [list(np.arange(7.0))] * 2),
        (ACTION.tolist(), list(np.arange(7.0))),
    ],
)
def test_an_answer_of_a_hold_has_the_form_of_the_policy(answer: object, held: object):
    with served(lambda _: answer, hold=HoldOptions(HoldKind.REPEAT, state=("state",))) as (port, _):
        assert "has not answered yet" in ask(port, bad())[1]
        assert ask(port, good())[0] == 200
        status, actions, gate = ask(port, bad())
    assert (status, gate["answer"]) == (200, "repeat")
    assert type(actions) is type(held)
    assert json_arrays.pack(actions) == json_arrays.pack(held)


def test_the_last_answer_is_that_of_the_same_client():
    with served(hold=HoldOptions(HoldKind.LAST, last_s=60.0)) as (port, _):
        assert ask(port, good(), gate_client="left")[0] == 200
        assert ask(port, bad(), gate_client="left")[1].tolist() == ACTION.tolist()
        assert ask(port, bad(), gate_client="right")[0] == 409
        assert ask(port, bad())[0] == 409
        assert ask(port, bad(), gate_client="x" * 65)[0] == 400


def test_shadow_lets_everything_through():
    with served(mode=GateMode.SHADOW) as (port, _):
        status, _, gate = ask(port, bad())
    assert (status, gate["verdict"], gate["mode"]) == (200, "REJECT", "shadow")


def test_a_policy_that_keeps_a_state_is_asked_during_a_hold_and_its_answer_is_not_released():
    with served(always=True) as (port, asked):
        assert ask(port, bad())[0] == 409
        assert len(asked) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("error", "its log says why"),
        ({"a": 1}, "no actions"),
        ([[1], [1, 2]], "no rows"),
        (None, "no actions"),
    ],
)
def test_what_is_no_action_is_never_released(answer: object, words: str):
    with served(lambda _: answer, hold=HoldOptions(HoldKind.LAST, last_s=60.0)) as (port, _):
        status, said, _ = ask(port, good())
        assert (status, words in said) == (502, True)
        assert ask(port, bad())[0] == 409


def test_a_policy_that_is_gone_is_an_error():
    with closed_port() as gone, openvla_proxying(setting(), gone) as port:
        status, said, _ = ask(port, good())
        assert status in {502, 504}
        assert "nobody answers" in said or "cannot connect" in said or "refused" in said


def test_a_policy_that_never_answers_is_an_error_at_the_deadline():
    end = threading.Event()
    with deploy(lambda _: end.wait(PATIENCE_S)) as (policy, _):
        with openvla_proxying(setting(), policy, answer_s=0.2) as port:
            status, said, _ = ask(port, good())
        end.set()
    assert (status, "within 0.2 s" in said) == (504, True)


def test_what_the_proxy_says_about_itself():
    with served() as (port, asked):
        assert post(port, b"", path="/healthz", method="GET")[:2] == (200, "OK")
        status, about, _ = post(port, b"", path="/gate", method="GET")
        assert (status, about["gate"]["cameras"]["image"]["view"]) == (200, "top")
        assert post(port, b"{}", path="/other")[0] == 404
        assert post(port, b"", method="GET")[0] == 405
        assert post(port, b"", method="DELETE")[0] == 405
        assert not asked


def test_a_token_is_asked_of_clients():
    with served(token="secret") as (port, asked):
        assert ask(port, good())[0] == 401
        assert ask(port, good(), Authorization="Bearer other")[0] == 401
        assert not asked
        assert ask(port, good(), Authorization="Bearer secret")[0] == 200
        assert post(port, b"", path="/healthz", method="GET")[0] == 200


def test_connections_and_messages_are_bounded():
    with served(most_connections=4, most_per_address=4, idle_s=1e6, most_bytes=1 << 16) as (port, asked):
        with ExitStack() as open_ones:
            for _ in range(4):
                link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
                open_ones.callback(link.close)
                link.request("GET", "/gate")
                assert link.getresponse().read()
            assert ask(port, good())[0] == 503
        link = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        with link:
            head = b"POST /act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n"
            link.sendall(head + bytes(70000))
            assert b" 413 " in link.recv(100)
        assert not asked


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not readable JSON"),
        (b"[]", "a question is a map"),
        (b"[" * 5000, "nested too deeply"),
        (b'{"encoded": "{}", "image": 1}', "one text and nothing else"),
        (b'{"encoded": 3}', "one text and nothing else"),
        (b'{"image": {"__numpy__": "AAAA", "dtype": "|O", "shape": [1]}}', "not allowed"),
        (b'{"image": {"__numpy__": "AAAA", "dtype": "|u1", "shape": [9, 9, 3]}}', "needs 243 bytes"),
    ],
)
def test_questions_that_are_none_are_refused(body: bytes, words: str):
    with served() as (port, asked):
        status, said, _ = post(port, body)
        assert (status, words in said) == (400, True), said
        assert not asked


def test_what_is_no_http_ends_its_connection_and_the_next_client_is_served():
    random = np.random.default_rng(2)
    lines = [random.bytes(int(random.integers(1, 300))) for _ in range(200)]
    lines += [
        b"POST /act HTTP/1.1\r\n" + b"a: b\r\n" * 5000,
        b"POST /act HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ]
    lines += [b"POST /act HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"]
    with served() as (port, asked):
        for line in lines:
            with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as link:
                link.sendall(line)
                link.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: link.recv(1 << 16), b""))
                assert not answer or answer.startswith(b"HTTP/1.1 4")
        assert not asked
        assert ask(port, good())[0] == 200


def test_a_client_that_sends_no_request_loses_its_connection():
    with served(handshake_s=0.05) as (port, _), socket.create_connection(("127.0.0.1", port)) as link:
        link.settimeout(PATIENCE_S)
        link.sendall(b"POST /act HTTP/1.1\r\n")
        assert link.recv(1) == b""


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Host": "evil.example:8001"},
        {"Host": "[:8001"},
        {"Origin": "null"},
    ],
)
def test_a_page_of_another_site_asks_nothing(headers: dict[str, str]):
    with served() as (port, asked):
        assert ask(port, good(), **headers)[0] == 403
        assert post(port, b"", path=LIVE_PATH, method="GET", **headers)[0] == 403
        assert not asked
        for host in ("localhost", f"127.0.0.1:{port}", f"[::1]:{port}"):
            assert ask(port, good(), Host=host)[0] == 200


def test_a_health_check_without_a_token_keeps_no_connection():
    with served(token="secret") as (port, _), socket.create_connection(("127.0.0.1", port)) as link:
        link.settimeout(PATIENCE_S)
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        answer = b"".join(iter(lambda: link.recv(1 << 16), b""))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"\r\nConnection: close\r\n" in answer


def test_the_command_serves_until_it_is_interrupted(tmp_path: Path):
    save_calibrations(calibrations(), tmp_path / "mine.yaml")
    with deploy(lambda _: json_numpy(ACTION)) as (policy, _):
        words = ["gate", "proxy", "--policy", f"openvla+http://127.0.0.1:{policy}", "--port", "0"]
        words += ["--calibration", str(tmp_path / "mine.yaml"), "--view", "image=top", "--json"]
        command = [sys.executable, "-m", "embodied_iqa.cli.main", *words]
        with running_program(command, tmp_path / "logs", stdout=subprocess.PIPE, text=True) as program:
            told = json.loads(program.process.stdout.readline())
            assert told["address"] == f"http://127.0.0.1:{told['port']}/act"
            assert ask(told["port"], good())[0] == 200
            program.process.send_signal(signal.SIGINT)
            assert program.wait(PATIENCE_S) == 0
            assert program.stderr.splitlines() == ["client 127.0.0.1 connected", "1 query: 1 passed, 0 held"]


def test_a_server_without_the_path_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save_calibrations(calibrations(), tmp_path / "mine.yaml")
    with served() as (port, _):
        words = [
            "gate",
            "proxy",
            "--policy",
            f"openvla+http://127.0.0.1:{port}/other",
            "--view",
            "image=top",
        ]
        assert main([*words, "--calibration", str(tmp_path / "mine.yaml")]) == 1
    assert "has no /other" in capsys.readouterr().err
