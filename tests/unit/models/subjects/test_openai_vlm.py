"""A VLM behind a server: asked as the protocol says, and bounded whatever the server does.

Deadlines and pauses are on a clock of the test's own.
"""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import cv2
import numpy as np
import pytest
from vlm_frames import frame_of

from chat_server import MODEL, ChatServer, Handler, completion
from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.models.subjects.backends.openai import OpenAiVlm, make
from embodied_iqa.models.subjects.prompt import QUESTION_PROMPT
from embodied_iqa.models.subjects.reference import parse_vlm
from embodied_iqa.models.subjects.registry import make_vlm
from embodied_iqa.models.subjects.subject_options import (
    CacheOptions,
    DecodingOptions,
    LoadingOptions,
    ServerOptions,
    VlmOptions,
    VlmRequest,
)
from embodied_iqa.models.subjects.wire.errors import WireError
from manual_clock import PATIENCE_S, ManualClock
from wire_servers import closed_port

KEY = "sk-very-secret-0123456789"
DEADLINE_S = 60.0
OPTIONS = VlmOptions(
    server=ServerOptions(deadline_s=DEADLINE_S, retries=2, max_answer_bytes=20_000),
    cache=CacheOptions(enabled=False),
    decoding=DecodingOptions(max_new_tokens=20),
)
TASK = "pick the red cube"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(pauses_pass=True)


def reach(
    server: ChatServer, options: VlmOptions = OPTIONS, clock: ManualClock | None = None, prompt: str = ""
) -> OpenAiVlm:
    """Connect; without a clock of the test, no deadline passes."""
    clock = clock or ManualClock(pauses_pass=True)
    return make(VlmRequest(parse_vlm(server.reference), options, prompt=prompt, clock=clock))


def with_server(**changes: object) -> VlmOptions:
    return replace(OPTIONS, server=replace(OPTIONS.server, **changes))


def test_a_question_without_words_around_it_stands_behind_its_image(server: ChatServer) -> None:
    vlm = reach(server, prompt=QUESTION_PROMPT)
    assert vlm.info.version != reach(server).info.version
    vlm.answer(frame_of(3), "Question: where?\nA. left\nAnswer with a letter.")
    content = server.requests[-1]["messages"][0]["content"]
    assert [part["type"] for part in content] == ["image_url", "text"]
    assert content[1]["text"] == "Question: where?\nA. left\nAnswer with a letter."


def test_the_question_is_as_the_protocol_says_and_the_image_whole(server: ChatServer) -> None:
    vlm, frame = reach(server), frame_of(3)
    assert vlm.answer(frame, TASK) == "a red cube"
    (body,) = server.requests
    assert (body["model"], body["max_tokens"], body["temperature"]) == (MODEL, 20, 0.0)
    text, image = body["messages"][0]["content"]
    assert TASK in text["text"]
    assert "10 words" in text["text"]
    head, _, data = image["image_url"]["url"].partition(",")
    assert head == "data:image/png;base64"
    decoded = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR_RGB)
    assert np.array_equal(decoded, frame.rgb)
    assert "Authorization" not in server.headers[0]
    assert vlm.info.name == server.reference
    assert vlm.info.version.startswith("lab-model-")
    assert vlm.info.any_view


def test_several_questions_are_asked_at_once_and_kept_in_order(server: ChatServer) -> None:
    together = threading.Barrier(3, timeout=PATIENCE_S)

    def behave(handler: Handler) -> None:
        together.wait()
        question = server.requests[-1]["messages"][0]["content"][0]["text"]
        handler.say(200, completion(question))

    server.behave = behave
    vlm = reach(server, with_server(deadline_s=DEADLINE_S))
    answers = vlm.answer_batch([(frame_of(n), f"push cube {n}") for n in range(3)])
    assert len(answers) == 3


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("  two\n\nlines\x00 ", "two lines"),
        (None, ""),
        ([{"type": "text", "text": "in"}, {"type": "text", "text": "parts"}], "in parts"),
        ("\ud83d", "?"),
    ],
)
def test_answers_are_one_printable_line(server: ChatServer, content: object, answer: str) -> None:
    server.behave = lambda handler: handler.say(200, completion(content))
    assert reach(server).answer(frame_of(0), TASK) == answer


def finished(reason: str, **message: object) -> dict[str, object]:
    whole = {"role": "assistant", "content": None, **message}
    return {"choices": [{"index": 0, "finish_reason": reason, "message": whole}]}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (finished("length", reasoning_content="so B"), r"limit of 20 tokens.*max_new_tokens"),
        (finished("length", content=" "), r"limit of 20 tokens.*max_new_tokens"),
        (finished("length", content="<think>the cube is"), r"limit of 20 tokens.*max_new_tokens"),
        (finished("content_filter", content=""), "content filter"),
        (finished("content_filter", content="a red"), "content filter"),
    ],
)
def test_an_answer_that_never_came_is_an_error(server: ChatServer, value: object, reason: str) -> None:
    server.behave = lambda handler: handler.say(200, value)
    with pytest.raises(WireError, match=reason):
        reach(server).answer(frame_of(0), TASK)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (finished("stop", content=""), ""),
        (finished("length", content="grasp the red cube and"), "grasp the red cube and"),
        (finished("stop", refusal="I can't help with that."), "I can't help with that."),
        (finished("stop", content="", refusal="No."), "No."),
        (finished("stop", content="a cube", refusal=None), "a cube"),
    ],
)
def test_what_the_model_said_is_its_answer(server: ChatServer, value: object, answer: str) -> None:
    server.behave = lambda handler: handler.say(200, value)
    assert reach(server).answer(frame_of(0), TASK) == answer


def test_options_that_a_model_refuses_are_replaced_from_then_on(server: ChatServer) -> None:
    complaints = {
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
    }

    def behave(handler: Handler) -> None:
        for key, words in complaints.items():
            if key in server.requests[-1]:
                handler.say(400, {"error": {"message": words}})
                return
        handler.say(200, completion("a red cube"))

    server.behave = behave
    vlm = reach(server)
    assert [vlm.answer(frame_of(0), TASK) for _ in range(2)] == ["a red cube", "a red cube"]
    assert len(server.requests) == 3
    sent = server.requests[-1]
    assert sent["max_completion_tokens"] == 20
    assert "max_tokens" not in sent


def at(temperature: float) -> VlmOptions:
    return replace(OPTIONS, decoding=replace(OPTIONS.decoding, temperature=temperature, seed=3))


@pytest.mark.parametrize(("temperature", "key"), [(0.0, "temperature"), (0.7, "temperature"), (0.7, "seed")])
def test_sampling_that_the_version_names_is_not_left_out(
    server: ChatServer, temperature: float, key: str
) -> None:
    words = f"Unsupported value: '{key}' does not support this. Only the default (1) value is supported."
    server.behave = lambda handler: handler.say(400, {"error": {"message": words}})
    with pytest.raises(WireError, match=rf"does not take {key}; expected decoding\.temperature=-1: the serv"):
        reach(server, at(temperature)).answer(frame_of(0), TASK)
    assert len(server.requests) == 1


def test_a_server_samples_as_it_does_under_a_version_of_its_own(server: ChatServer) -> None:
    server.behave = lambda handler: handler.say(200, completion("a red cube"))
    own = reach(server, at(-1.0))
    assert own.answer(frame_of(0), TASK) == "a red cube"
    assert not {"temperature", "seed"} & server.requests[-1].keys()
    others = [reach(server, at(temperature)).info.version for temperature in (0.0, 1.0)]
    assert len({own.info.version, *others}) == 3


@pytest.mark.parametrize("temperature", [-0.5, 2.1, float("nan")])
def test_another_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(UsageError, match=r"wrong decoding\.temperature; expected 0 to 2, or -1"):
        DecodingOptions(temperature=temperature)


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_value_is_reported(server: ChatServer, status: int) -> None:
    problem = {"error": {"message": "max_tokens is too large: 20. This model takes at most 16."}}
    server.behave = lambda handler: handler.say(status, problem)
    with pytest.raises(WireError, match="too large"):
        reach(server).answer(frame_of(0), TASK)
    assert len(server.requests) == 1


# --- keys -------------------------------------------------------------------------------------------------


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    vlm = reach(server, with_server(key_env="LAB_KEY"))
    vlm.answer(frame_of(0), TASK)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in repr((vlm.info, vlm.__dict__))
    server.behave = lambda handler: handler.say(401, {"error": {"message": f"Incorrect API key: {KEY}"}})
    with pytest.raises(WireError, match=r"status 401: Incorrect API key: \(the key\)"):
        vlm.answer(frame_of(0), TASK)


@pytest.mark.parametrize(
    ("name", "words"),
    [("LAB_KEY", "LAB_KEY holds no token"), (KEY, "is it the key itself"), ("A B", "not a name")],
)
def test_a_key_that_is_not_there_is_told_without_telling_it(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.delenv("LAB_KEY", raising=False)
    with pytest.raises(UsageError, match=words) as caught:
        reach(server, with_server(key_env=name))
    assert KEY not in str(caught.value)


def test_a_public_service_takes_consent_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"sends images to https://api\.openai\.com/v1.*allow_network"):
        make_vlm(parse_vlm("gpt-4o"), OPTIONS)
    with pytest.raises(UsageError, match="OPENAI_API_KEY holds no token"):
        make_vlm(parse_vlm("gpt-4o"), replace(OPTIONS, loading=LoadingOptions(allow_network=True)))


def test_a_redirection_is_not_followed(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", KEY)
    vlm = reach(server, with_server(key_env="LAB_KEY"))
    with ChatServer() as thief:
        server.behave = lambda handler: handler.say(307, {}, Location=f"{thief.url}/chat/completions")
        with pytest.raises(WireError, match="status 307"):
            vlm.answer(frame_of(0), TASK)
        assert not thief.requests


# --- servers that misbehave -------------------------------------------------------------------------------


def never(handler: Handler) -> None:
    handler.server_of_test.end.wait(PATIENCE_S)


def drip_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    drip(handler, b"X: y\r\n")


def drip_body(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    drip(handler, b" ")


def drip(handler: Handler, piece: bytes) -> None:
    while not handler.server_of_test.end.wait(0.01):
        handler.wfile.write(piece)
        handler.wfile.flush()


def flood(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    while not handler.server_of_test.end.is_set():
        handler.wfile.write(chunk)


def flood_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.server_of_test.end.is_set():
        handler.wfile.write(b"X: " + b"a" * 1000 + b"\r\n")


def lie_about_length(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}")
    handler.close_connection = True


def speak_otherwise(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0-nobody\r\n")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (flood, "too long an answer; expected at most 20000 bytes"),
        (flood_headers, "gives no HTTP answer"),
        (lie_about_length, "cut its answer short"),
        (speak_otherwise, "gives no HTTP answer"),
        (lambda handler: handler.say(200, b"<html>"), "gives no chat completion"),
        (lambda handler: handler.say(200, b"[" * 15_000), "gives no chat completion"),
        (lambda handler: handler.say(200, {"choices": []}), "gives no chat completion"),
        (lambda handler: handler.say(200, completion(17)), "gives no chat completion"),
        (lambda handler: handler.say(200, completion("word " * 500)), "does not keep to 20 tokens"),
        (lambda handler: handler.say(400, {"error": {"message": "no\nimages"}}), "status 400: no images"),
        (lambda handler: handler.say(404, b""), "status 404"),
    ],
)
def test_whatever_a_server_does_ends_before_the_deadline(
    server: ChatServer, clock: ManualClock, behave: Callable[[Handler], None], words: str
) -> None:
    vlm = reach(server, clock=clock)
    server.behave = behave
    began_s = clock.now_s()
    with pytest.raises(WireError, match=words):
        vlm.answer(frame_of(0), TASK)
    assert clock.now_s() - began_s < DEADLINE_S
    assert len(server.requests) <= OPTIONS.server.retries + 1


@pytest.mark.parametrize(("behave", "looks"), [(never, 1), (drip_headers, 20), (drip_body, 20)])
def test_a_server_without_an_end_costs_one_deadline(
    server: ChatServer, clock: ManualClock, behave: Callable[[Handler], None], looks: int
) -> None:
    vlm = reach(server, clock=clock)
    server.behave = behave
    with ThreadPoolExecutor(1) as pool:
        called = pool.submit(vlm.answer, frame_of(0), TASK)
        server.end.await_looks(looks)
        clock.outlast(called, DEADLINE_S)
        with pytest.raises(WireError, match="no answer from 127"):
            called.result()
    assert len(server.requests) == 1


def test_a_dead_server_is_told_in_configure() -> None:
    with closed_port() as port:
        refused = f"nobody answers at 127.0.0.1:{port}: connection refused"
        with pytest.raises(InputError, match=refused):
            make_vlm(parse_vlm(f"openai:http://127.0.0.1:{port}/v1#{MODEL}"), OPTIONS)


def test_a_server_that_accepts_and_says_nothing_is_told_in_time(clock: ManualClock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as pool:
        reference = parse_vlm(f"openai:http://127.0.0.1:{silent.getsockname()[1]}/v1#{MODEL}")
        called = pool.submit(make, VlmRequest(reference, OPTIONS, clock=clock))
        connection, _ = silent.accept()
        with connection:
            assert connection.recv(1) == b"G"
            clock.outlast(called, DEADLINE_S)
        with pytest.raises(InputError, match="no answer from 127"):
            called.result()


@pytest.mark.parametrize(
    ("models", "fits"),
    [
        ({"data": [{"id": "another"}]}, False),
        ({"data": []}, True),
        ({"object": "list"}, True),
        ({"data": [{"id": MODEL}, {"id": "another"}]}, True),
    ],
)
def test_a_model_that_the_server_lacks_is_told_in_configure(
    server: ChatServer, models: object, fits: bool
) -> None:
    server.models = models
    if fits:
        reach(server)
        return
    with pytest.raises(InputError, match="has no model of this name; got 'lab/model'; available: another"):
        reach(server)


# --- asking again -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server: ChatServer, clock: ManualClock, status: int) -> None:
    vlm = reach(server, with_server(deadline_s=DEADLINE_S), clock)
    server.behave = lambda handler: (
        handler.say(status, {"error": "busy"})
        if len(server.requests) < 3
        else handler.say(200, completion("at last"))
    )
    assert vlm.answer(frame_of(0), TASK) == "at last"
    assert len(server.requests) == 3


def test_asking_again_has_an_end(server: ChatServer, clock: ManualClock) -> None:
    vlm = reach(server, with_server(deadline_s=DEADLINE_S), clock)
    server.behave = lambda handler: handler.say(503, {"error": {"message": "starting"}})
    with pytest.raises(WireError, match="status 503: starting"):
        vlm.answer(frame_of(0), TASK)
    assert len(server.requests) == 3


def test_a_wait_that_is_longer_than_the_deadline_is_not_waited_for(
    server: ChatServer, clock: ManualClock
) -> None:
    vlm = reach(server, clock=clock)
    server.behave = lambda handler: handler.say(429, {"error": "quota"}, Retry_After="3600")
    began_s = clock.now_s()
    with pytest.raises(WireError, match="status 429: quota"):
        vlm.answer(frame_of(0), TASK)
    assert clock.now_s() == began_s
    assert len(server.requests) == 1
