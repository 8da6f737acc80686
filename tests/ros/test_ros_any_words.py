"""A trial without an arm in anybody's words: the models hear them as they were typed, live and rescored."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chat_server import ChatServer
from embodied_iqa.cli.main import main
from embodied_iqa.data.recording.trial_reading import read_trial
from embodied_iqa.imaging.images.codecs import write_image
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.subjects.prompt import DEFAULT_PROMPT, prompt_of
from live_process import TRIAL_S, completed
from wire_servers import reference_server

TASK = ' Open the microwave, then wait: <b>“öffnen”</b> 打开微波炉 "=1+1" [red] 👩‍🔧.'
METADATA = {"version": "1", "convention": "pi0-libero"}


@dataclass
class Told:
    """A finished trial in a cell without a camera `top`, and what the two servers were asked."""

    folder: Path
    scores: dict[str, Any]
    prompts: list[str]
    questions: list[str]


def _policy(prompts: list[str], message: dict[str, Any]) -> dict[str, Any]:
    """Move by the mean of the image."""
    prompts.append(message["prompt"])
    return {"actions": np.full((2, 7), message["observation/image"].mean() / 25500)}


@pytest.fixture(scope="module")
def told(ros_domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    folder, prompts = tmp_path_factory.mktemp("words"), []
    for view in (View("front"), View.WRIST):
        rgb = np.random.default_rng(len(view)).integers(0, 256, (48, 64, 3), np.uint8)
        (folder / "images" / view).mkdir(parents=True)
        write_image(folder / "images" / view / "0.png", rgb)
    with (
        ChatServer() as vlm,
        reference_server(METADATA, lambda message: _policy(prompts, message)) as port,
    ):
        words = ["--task", TASK, "--robot", "none", "--camera", "files", "--gate", "off", "--json"]
        words += ["--camera-path", str(folder / "images"), "--view", "front", "--view", "wrist"]
        words += ["--vlm", vlm.reference, "--vla", f"openpi://127.0.0.1:{port}", "--distortion", "19:5"]
        words += ["--out", str(folder / "run")]
        words += ["--set", "vlm_node.cache.enabled=false", "--set", "vla_node.policy.views=front,wrist"]
        command = [sys.executable, "-m", "embodied_iqa.cli.main", "trial", *words]
        out = completed(command, folder / "logs", TRIAL_S, {"ROS_DOMAIN_ID": str(ros_domain)})
        asked = [part["text"] for part in _texts(vlm)]
        yield Told(folder / "run", json.loads(out.stdout), prompts, asked)


def _texts(vlm: ChatServer) -> Iterator[dict[str, str]]:
    for request in vlm.requests:
        yield from (part for part in request["messages"][0]["content"] if part["type"] == "text")


def test_both_models_get_the_sentence_byte_for_byte(told: Told) -> None:
    assert {prompt.encode() for prompt in told.prompts} == {TASK.encode()}
    assert {text.encode() for text in told.questions} == {prompt_of(DEFAULT_PROMPT, TASK, 10).encode()}
    assert TASK in told.questions[0]


def test_the_recording_the_scores_and_the_report_hold_the_sentence(told: Told) -> None:
    assert read_trial(told.folder / "trial.mcap").task == TASK
    assert {run["task"] for run in told.scores["runs"]} == {TASK}
    page = (told.folder / "report.html").read_text(encoding="utf-8")
    assert "<b>“öffnen”</b>" not in page
    assert html.unescape(page).count("打开微波炉") >= 1


def test_a_model_for_any_images_is_shown_the_first_camera_of_the_cell(told: Told) -> None:
    views = [answer.view for run in read_trial(told.folder / "trial.mcap").runs for answer in run.answers]
    assert set(views) == {"front"}


def test_nothing_that_needs_the_cells_grammar_is_made_up(told: Told) -> None:
    reference, distorted = told.scores["runs"]
    assert [run["execution"]["outcome"] for run in (reference, distorted)] == [None, None]
    assert {run["execution"]["score"] for run in (reference, distorted)} == {None}


def test_rescoring_asks_in_the_same_words_and_gives_the_same_numbers(told: Told, tmp_path: Path) -> None:
    before = len(told.prompts), len(told.questions)
    assert main(["rescore", str(told.folder / "trial.mcap"), "--out", str(tmp_path / "again")]) == 0
    again = json.loads((tmp_path / "again" / "scores.json").read_text(encoding="utf-8"))
    assert again["runs"] == told.scores["runs"]
    assert len(told.prompts) > before[0]
    assert {prompt.encode() for prompt in told.prompts} == {TASK.encode()}
