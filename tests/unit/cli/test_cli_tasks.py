"""`embodied-iqa tasks make`."""

from __future__ import annotations

import json

import pytest

from embodied_iqa.cli.main import main
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.resolver import resolve_plan
from embodied_iqa.world.scenes.scene import make_scene
from embodied_iqa.world.tasks.instruction import parse_instruction, shortest_names
from embodied_iqa.world.tasks.task import task_from_row


def test_what_is_printed_is_enough_to_make_the_scene_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "make", "--scenes", "3", "--seed", "4", "--view", "top", "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["scene_seed"] for record in records] == [0, 1, 2]
    for record in records:
        made_from = record["made_from"]
        scene = make_scene(made_from["seed"], parse_instruction(made_from["instruction"]))
        names = shortest_names([item.thing for item in scene.objects])
        assert [str(name) for name in names] == [item["object"] for item in record["objects"]]
        for row in record["tasks"]:
            task = task_from_row(row)
            assert resolve_plan(task.text, scene, view=View.TOP) == task.plan


def test_people_see_a_table_with_the_verb_they_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "make", "--scene-seed", "7", "--verb", "pour"]) == 0
    said = capsys.readouterr().out
    assert "scene 7: " in said
    assert "pour:plain" in said


@pytest.mark.parametrize("words", [["--scenes", "0"], ["--scene-seed", "-1"], []])
def test_bad_numbers_are_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "make", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
