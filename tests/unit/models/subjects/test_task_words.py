"""A task reaches VLMs and VLAs behind servers byte for byte as it was typed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_openvla_http import deploy

from chat_server import ChatServer
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.subjects.prompt import PROMPTS, prompt_of
from embodied_iqa.models.subjects.reference import parse_vla, parse_vlm
from embodied_iqa.models.subjects.registry import make_vla, make_vlm
from embodied_iqa.models.subjects.subject_options import CacheOptions, PolicyOptions, VlaOptions, VlmOptions
from embodied_iqa.world.protocols import VlaObservation
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from wire_servers import reference_server

SENTENCES = (
    "open the microwave",
    "Öffne die Mikrowelle, bitte!",
    "把杯子放进微波炉。",
    " two  spaces, a stop. ",
    "Wait...",
    '={x}{task} "quoted" <b>bold</b> [red] \\n %s 👩‍🔧 مایکروویو را باز کن',
)
FRAME = Frame(
    View.TOP, 1, np.zeros((48, 64, 3), np.uint8), Intrinsics(64, 48, 50.0, 50.0, 31.5, 23.5), np.eye(4)
)


@pytest.mark.parametrize("task", SENTENCES)
@pytest.mark.parametrize("template", list(PROMPTS))
def test_a_prompt_contains_the_task_as_it_was_typed(template: str, task: str) -> None:
    prompt = prompt_of(template, task, 10)
    assert task.encode() in prompt.encode()
    bare = PROMPTS[template].replace("{task}", "").replace("{words}", "10")
    assert len(prompt) - len(task) in {len(bare), len(bare) - 1}, "at most a full stop less"
    assert ".." not in prompt.replace(task, "")
    assert f"{task}." not in prompt or not task.endswith(".")


def test_a_vlm_behind_a_server_gets_the_task_as_it_was_typed() -> None:
    with ChatServer() as server:
        vlm = make_vlm(parse_vlm(server.reference), VlmOptions(cache=CacheOptions(enabled=False)))
        for task in SENTENCES:
            vlm.answer(FRAME, task)
        asked = [json.dumps(request["messages"], ensure_ascii=False) for request in server.requests]
    for task, text in zip(SENTENCES, asked, strict=True):
        assert json.dumps(task, ensure_ascii=False)[1:-1].encode() in text.encode()


def test_a_policy_behind_openpis_server_gets_the_task_as_it_was_typed() -> None:
    prompts: list[str] = []

    def policy(question: dict) -> dict:
        prompts.append(question["prompt"])
        return {"actions": np.zeros((1, 7))}

    chosen = VlaOptions(policy=PolicyOptions(convention="pi0-libero"))
    with reference_server({}, policy) as port:
        vla = make_vla(parse_vla(f"openpi://127.0.0.1:{port}"), chosen)
        frames = {view: Frame(view, 1, FRAME.rgb, FRAME.intrinsics, np.eye(4)) for view in CELL_VIEWS}
        for task in SENTENCES:
            vla.act(VlaObservation(frames, task, np.eye(4), 0.0, 0))
        vla.close()
    assert [prompt.encode() for prompt in prompts] == [task.encode() for task in SENTENCES]


def test_a_policy_behind_openvlas_server_gets_the_task_as_it_was_typed() -> None:
    chosen = VlaOptions(policy=PolicyOptions(convention="openvla-bridge"))
    with deploy(lambda _body: [0.0] * 7) as (port, requests):
        vla = make_vla(parse_vla(f"openvla+http://127.0.0.1:{port}/act"), chosen)
        for task in SENTENCES:
            vla.act(VlaObservation({View.TOP: FRAME}, task, np.eye(4), 0.0, 0))
    assert [body["instruction"].encode() for _, _, body in requests] == [task.encode() for task in SENTENCES]
