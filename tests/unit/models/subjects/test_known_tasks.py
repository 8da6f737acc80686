"""Models and servers take any sentence; embedded subjects refuse by name what they cannot parse."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import Frame, Intrinsics, View
from embodied_iqa.models.panel.true_answers import Style, true_answer
from embodied_iqa.models.subjects.backends.classical.vlm import ClassicalVlm
from embodied_iqa.models.subjects.catalogue import Backend, Role, names_of
from embodied_iqa.models.subjects.known_tasks import check_parses, names_no_target
from embodied_iqa.models.subjects.reference import SubjectReference, parse_vla, parse_vlm
from embodied_iqa.runs.experiment.experiment_plan import TASKS
from embodied_iqa.world.scenes.language.five_tasks import draw_task_scene, make_tasks
from embodied_iqa.world.tasks.instruction import parse_instruction

FREE = ("open the microwave", "öffne die Tür", "把杯子放进微波炉", "red cube")
EMBEDDED = (
    *map(parse_vla, names_of(Role.VLA, Backend.EMBEDDED)),
    *map(parse_vlm, names_of(Role.VLM, Backend.EMBEDDED)),
)
FOREIGN = (
    parse_vla("openpi://127.0.0.1:8000"),
    parse_vla("pi0-droid=openpi://127.0.0.1:8000"),
    parse_vlm("openai:http://127.0.0.1:8000/v1#any"),
    parse_vlm("qwen2.5-vl-7b"),
)


@pytest.mark.parametrize("subject", EMBEDDED, ids=str)
@pytest.mark.parametrize("task", FREE)
def test_an_embedded_subject_names_itself_the_task_and_what_it_knows(
    subject: SubjectReference, task: str
) -> None:
    with pytest.raises(UsageError) as caught:
        check_parses(subject, task)
    said = str(caught.value)
    assert said.startswith(f"{subject} cannot parse {task!r}")
    assert "verbs cover, insert" in said
    assert "objects cube" in said


@pytest.mark.parametrize("subject", EMBEDDED, ids=str)
def test_an_embedded_subject_knows_the_tasks_of_the_cell(subject: SubjectReference) -> None:
    for task in (*TASKS, "Please put the violet block into the blue dish", "push the red ball marked 3"):
        check_parses(subject, task)


def test_the_panel_knows_the_sentences_that_it_was_trained_on() -> None:
    sentences = [task.text for seed in range(20) for task in make_tasks(draw_task_scene(seed)[0], seed)]
    for subject in EMBEDDED:
        if subject.text.startswith("panel"):
            for sentence in sentences:
                check_parses(subject, sentence)


@pytest.mark.parametrize("subject", FOREIGN, ids=str)
@pytest.mark.parametrize("task", FREE)
def test_any_other_subject_takes_any_sentence(subject: SubjectReference, task: str) -> None:
    check_parses(subject, task)


def test_policies_that_take_turns_are_asked_one_by_one() -> None:
    with pytest.raises(UsageError, match="classical-vla cannot parse"):
        check_parses(parse_vla("openpi://127.0.0.1:8000 or classical-vla"), "open the microwave")


def test_answers_that_name_no_target_are_known_by_their_words() -> None:
    task = parse_instruction("pick the red cube")
    assert all(names_no_target(true_answer(task, (), style)) for style in Style)
    lens, T_base_camera = Intrinsics(640, 480, 600.0, 600.0, 319.5, 239.5), np.diag([1.0, -1.0, -1.0, 1.0])
    T_base_camera[:3, 3] = (-0.5, 0.0, 1.0)
    nothing = Frame(View.TOP, 0, np.full((480, 640, 3), 128, np.uint8), lens, T_base_camera)
    assert names_no_target(ClassicalVlm().answer(nothing, "pick the red cube"))
    assert names_no_target("I see the red mug, on the left, but no red cube.")
    for named in ("The red cube is on the left, but I see no bowl.", "I see two that may be the cube.", ""):
        assert not names_no_target(named)
