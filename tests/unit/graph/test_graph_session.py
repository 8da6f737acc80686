"""What a session is asked to do is checked before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from embodied_iqa.distortions import DistortionSpec
from embodied_iqa.errors import UsageError
from embodied_iqa.graph.node_table import resolve
from embodied_iqa.graph.session_options import (
    DEFAULT_DISTORTIONS,
    DEFAULT_TASKS,
    SessionSettings,
    check_distortions,
    check_subjects,
    check_tasks,
)


def test_tasks_get_their_plain_form() -> None:
    assert check_tasks((" pick RED  cube ",)) == ("pick the red cube",)


def test_two_words_for_one_task_are_one_task() -> None:
    with pytest.raises(UsageError, match=r"twice.*pick the red cube"):
        check_tasks(("pick the red cube", "pick red cube"))


@pytest.mark.parametrize("word", ["fling the red cube", "pick the mauve cube", "pick the red teapot", ""])
def test_an_unknown_word_is_told_with_what_there_is(word: str) -> None:
    with pytest.raises(UsageError, match=r"available|expected"):
        check_tasks((word,))


def test_distortions_carry_the_sessions_seed() -> None:
    assert check_distortions(("19:5", "2:1"), seed=4) == (
        DistortionSpec("19", 5, seed=4),
        DistortionSpec("02", 1, seed=4),
    )


@pytest.mark.parametrize("word", ["99:1", "19", "19:0", "19:6", "19:x", ":", ""])
def test_a_wrong_distortion_is_refused(word: str) -> None:
    with pytest.raises(UsageError):
        check_distortions((word,), seed=0)


def test_the_defaults_are_right_and_use_every_verb() -> None:
    assert {task.split()[0] for task in check_tasks(DEFAULT_TASKS)} == {"pick", "push", "press"}
    assert len(check_distortions(DEFAULT_DISTORTIONS, seed=0)) == 3


def test_one_task_lies_in_the_runs_folder_several_in_one_each() -> None:
    graph, root = resolve(), Path("runs/x")
    one = SessionSettings(("pick the red cube",), 1, (), graph).folders(root)
    assert [folder.folder for folder in one] == [root]
    several = SessionSettings(DEFAULT_TASKS, 1, (), graph).folders(root)
    assert len({folder.recording for folder in several}) == 3
    assert all(folder.folder.parent == root for folder in several)


@pytest.mark.parametrize(("name", "what"), [("vlm_node", "VLM"), ("vla_node", "VLA")])
def test_a_subject_that_does_not_exist_is_refused(name: str, what: str) -> None:
    assert check_subjects(resolve()).nodes == resolve().nodes
    with pytest.raises(UsageError, match=rf"unknown {what}.*'gpt'.*available: classical"):
        check_subjects(resolve((), {f"{name}.subject": "gpt"}))
