"""What sentences mean, on a table that is written down here."""

from __future__ import annotations

import pytest
from test_task_language import a_scene

from embodied_iqa.base.errors import UsageError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.world.scenes.language.resolver import resolve, resolve_plan

# For the wrist camera, which looks along -x with +y to the right:
#
#   far    |  yellow cube                 purple bowl
#          |            green bowl
#   near   |  blue ball             red cube   orange button
TABLE = a_scene(
    ("red", "cube", -0.40, 0.14),
    ("green", "bowl", -0.52, 0.0),
    ("blue", "ball", -0.41, -0.20),
    ("yellow", "cube", -0.65, -0.20),
    ("purple", "bowl", -0.64, 0.20),
    ("orange", "button", -0.38, 0.25),
)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("pick the red cube", "pick the red cube"),
        ("Robot, could you grab the red block, please?", "pick the red cube"),
        ("push the leftmost cube", "push the yellow cube"),
        ("push the toy furthest to the right", "push the red cube"),
        ("press the control", "press the orange button"),
        ("pick the cube nearest to you", "pick the red cube"),
        ("pick the cube farthest away from you", "pick the yellow cube"),
        ("push the cube that is left of the green bowl", "push the yellow cube"),
        ("push the cube to the right of the blue ball", "push the red cube"),
        ("pick the cube behind the blue ball", "pick the yellow cube"),
        ("pick the ball in front of the yellow cube", "pick the blue ball"),
        ("take the toy closest to the orange button", "pick the red cube"),
        ("push the object between the yellow cube and the red cube", "push the green bowl"),
        ("lift the cube that is not yellow", "pick the red cube"),
        ("lift the toy which is not a cube", "pick the blue ball"),
        ("grasp the toy that is neither blue nor red", "pick the yellow cube"),
        ("push the red thing", "push the red cube"),
        ("put the blue ball into the bowl that is not green", "place the blue ball in the purple bowl"),
        ("into the purple dish, drop the leftmost cube", "place the yellow cube in the purple bowl"),
        (
            "place the cube left of the green bowl in the purple bowl",
            "place the yellow cube in the purple bowl",
        ),
    ],
)
def test_meaning(said: str, meant: str) -> None:
    assert str(resolve(said, TABLE, view=View.WRIST)) == meant


@pytest.mark.parametrize(
    "said",
    [
        "press the orange button, then pick the red cube",
        "first press the orange button, then pick the red cube",
        "please press the orange button and pick the red cube",
        "before you pick the red cube, press the orange button",
        "hit the orange switch, and after that lift the red cube, please",
    ],
)
def test_order_of_two_steps(said: str) -> None:
    assert [str(step) for step in resolve_plan(said, TABLE)] == [
        "press the orange button",
        "pick the red cube",
    ]


def test_it_refers_to_the_previous_object() -> None:
    steps = resolve_plan("pick the red cube and place it in the green bowl", TABLE)
    assert [str(step) for step in steps] == ["pick the red cube", "place the red cube in the green bowl"]


def test_left_depends_on_the_view() -> None:
    said = "push the cube that is left of the green bowl"
    assert str(resolve(said, TABLE, view=View.WRIST)) == "push the yellow cube"
    assert str(resolve(said, TABLE, view=View.TOP)) == "push the red cube"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("pick the cube", "exactly one"),
        ("pick the orange cube", "nothing fits"),
        ("push the toy that is left of the red cube", "exactly one"),
        ("push the object nearest to the yellow cube", "exactly one"),
        ("pick the cube that is not green", "exactly one"),
        ("pick the leftmost object", "exactly one"),
        ("press the red cube", "cannot be used with press"),
        ("place the red cube in the orange button", "not a destination"),
        ("pick it", "begins with an object"),
        ("frobnicate the red cube", "a verb"),
        ("pick the red unicorn", "a kind of object"),
        ("pick the cube that is pretty", "a clause that identifies the object"),
        ("pick the cube that is not pretty", "a colour or a kind"),
        ("pick the red cube whistling", "the end of the task"),
        ("pick the red cube and", "a verb"),
        ("pick", "'the'"),
        ("", "a verb"),
    ],
)
def test_unclear_tasks_are_refused_in_one_line(said: str, why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        resolve(said, TABLE, view=View.WRIST)
    assert "\n" not in str(refused.value)


def test_a_sentence_without_its_anchor_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing fits"):
        resolve("push the cube that is left of the orange bowl", TABLE)
