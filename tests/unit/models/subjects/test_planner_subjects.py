"""Planners: conversations with several images, through a server and through transformers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from chat_server import MODEL, ChatServer, Handler, completion
from embodied_iqa.base.errors import UsageError
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.models.subjects.planner_cache import conversation_hash
from embodied_iqa.models.subjects.reference import parse_planner, parse_reference, parse_vla
from embodied_iqa.models.subjects.registry import PLANNER_OPTIONS, make_planner
from embodied_iqa.models.subjects.subject_options import CacheOptions, DecodingOptions, VlmOptions
from embodied_iqa.models.subjects.wire.errors import ServerError
from embodied_iqa.world.protocols import Message, Speaker, SubjectInfo, close_subject
from tiny_vlms import save_tiny

OPTIONS = replace(PLANNER_OPTIONS, cache=CacheOptions(enabled=False))
SCHEMA = '{"type": "object"}'
IMAGES = [np.random.default_rng(seed).integers(0, 256, (20, 30, 3), np.uint8) for seed in range(3)]
MESSAGES = [
    Message(Speaker.SYSTEM, ("the rules",)),
    Message(Speaker.USER, ("before", IMAGES[0])),
    Message(Speaker.ASSISTANT, ("an answer",)),
    Message(Speaker.USER, ("front", IMAGES[1], "wrist", IMAGES[2])),
]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def test_a_conversation_reaches_the_server_whole(server: ChatServer) -> None:
    planner = make_planner(parse_planner(server.reference), OPTIONS)
    assert planner.plan(MESSAGES, SCHEMA) == "a red cube"
    (body,) = server.requests
    assert (body["model"], body["max_tokens"], body["temperature"]) == (MODEL, 2048, 0.0)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    parts = body["messages"][-1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url"]
    data = parts[3]["image_url"]["url"].partition(",")[2]
    decoded = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR_RGB)
    assert np.array_equal(decoded, IMAGES[2])
    assert body["response_format"]["json_schema"]["schema"] == json.loads(SCHEMA)
    assert planner.info.name == server.reference
    close_subject(planner)


def test_a_server_without_schemas_is_asked_once_more_and_then_without(server: ChatServer) -> None:
    def behave(handler: Handler) -> None:
        if "response_format" in server.requests[-1]:
            handler.say(400, {"error": {"message": "response_format is not supported"}})
        else:
            handler.say(200, completion("text\nof two lines"))

    server.behave = behave
    planner = make_planner(parse_planner(server.reference), OPTIONS)
    assert planner.plan(MESSAGES, SCHEMA) == "text\nof two lines"
    assert planner.plan(MESSAGES, SCHEMA) == "text\nof two lines"
    assert ["response_format" in body for body in server.requests] == [True, False, False]


def test_another_complaint_is_an_error(server: ChatServer) -> None:
    server.behave = lambda handler: handler.say(400, {"error": {"message": "the context is too long"}})
    with pytest.raises(ServerError, match="context is too long"):
        make_planner(parse_planner(server.reference), OPTIONS).plan(MESSAGES, SCHEMA)
    assert len(server.requests) == 1


def test_the_same_conversation_is_asked_once(server: ChatServer, tmp_path: Path) -> None:
    options = replace(PLANNER_OPTIONS, cache=CacheOptions(folder=str(tmp_path)))
    for _ in range(2):
        planner = make_planner(parse_planner(server.reference), options)
        assert planner.plan(MESSAGES, SCHEMA) == "a red cube"
        close_subject(planner)
    assert len(server.requests) == 1
    make_planner(parse_planner(server.reference), options).plan(MESSAGES[1:], SCHEMA)
    assert len(server.requests) == 2


def test_every_part_of_a_conversation_counts_in_its_hash() -> None:
    info = SubjectInfo("a", "1", "", ())
    user = [Message(Speaker.USER, ("one", "two"))]
    joined = [Message(Speaker.USER, ("onetwo",))]
    other = [Message(Speaker.ASSISTANT, ("one", "two"))]
    turned = [Message(Speaker.USER, (IMAGES[0].transpose(1, 0, 2),))]
    plain = [Message(Speaker.USER, (IMAGES[0],))]
    hashes = {conversation_hash(info, one, "") for one in (user, joined, other, turned, plain)}
    hashes |= {conversation_hash(replace(info, version="2"), user, ""), conversation_hash(info, user, SCHEMA)}
    assert len(hashes) == 7


def test_a_vlm_of_the_catalogue_can_plan_and_a_vla_cannot() -> None:
    assert parse_planner("qwen2.5-vl-7b@main").role is Role.PLANNER
    assert parse_reference("openai:http://gpu:8000/v1#m").role is Role.VLM
    assert parse_planner("openai:http://gpu:8000/v1#m").role is Role.PLANNER
    with pytest.raises(UsageError, match="is a VLA, not a PLANNER"):
        parse_planner("classical-vla")
    with pytest.raises(UsageError, match="cannot plan"):
        parse_planner("classical-vlm")
    with pytest.raises(UsageError, match="reaches no VLA"):
        parse_vla("openai:http://gpu:8000/v1#m")
    with pytest.raises(UsageError, match="reaches no PLANNER"):
        parse_planner("openpi://gpu:8000")


def test_a_checkpoint_plans_from_every_image(tmp_path: Path) -> None:
    folder = save_tiny("qwen2_5_vl", tmp_path / "tiny")
    options = VlmOptions(cache=CacheOptions(enabled=False), decoding=DecodingOptions(max_new_tokens=8))
    planner = make_planner(parse_planner(f"transformers:{folder}"), options)
    answer = planner.plan(MESSAGES, SCHEMA)
    assert answer == planner.plan(MESSAGES, "")
    assert answer
    dark = Message(Speaker.USER, ("front", np.zeros_like(IMAGES[1]), "wrist", np.zeros_like(IMAGES[2])))
    assert answer != planner.plan([*MESSAGES[:-1], dark])
