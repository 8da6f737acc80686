"""What goes into a member of the panel and what comes out."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.models.panel.criterion import TOLERANCE_MM, plan_error, would_succeed
from embodied_iqa.models.panel.true_answers import Style, VisibleThing, true_answer
from embodied_iqa.models.subjects.backends.panel.format import (
    BEGIN,
    END,
    MAX_ANSWER_WORDS,
    PAD,
    SMALL_PX,
    UNKNOWN,
    Framing,
    Vocabulary,
    answer_words,
    framed,
    region_of,
    shrink,
    task_words,
)
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.tasks.instruction import Instruction, Thing
from embodied_iqa.world.tasks.vocabulary import Colour, Kind, Mark, Verb

RED_CUBE = Thing(Colour.RED, Kind.CUBE)
BLUE_BOWL = Thing(Colour.BLUE, Kind.BOWL)


def _seen(thing: Thing, u: float, v: float) -> VisibleThing:
    return VisibleThing(thing, thing, u, v, -0.5 + v / 10, u / 10)


def test_unknown_words_become_one_number_and_the_rest_is_padding() -> None:
    words = Vocabulary.of([["pick", "the", "red", "cube"]])
    row = words.encode(task_words("Pick the SHINY cube!"), 6)
    assert row[2] == UNKNOWN
    assert (row[4:] == PAD).all()
    assert (row[[0, 1, 3]] > END).all()
    assert len(set(row[[0, 1, 3]])) == 3


def test_framed_words_begin_and_end_even_where_they_are_cut() -> None:
    words = Vocabulary.of([["a", "b", "c", "d"]])
    row = words.encode(["a", "b", "c", "d"], 4, framed=True)
    assert row[0] == BEGIN
    assert row[-1] == END


def test_an_answer_survives_its_words() -> None:
    text = "The red cube is low left, by the blue bowl; grip and lift it."
    words = Vocabulary.of([answer_words(text)])
    numbers = words.encode(answer_words(text), MAX_ANSWER_WORDS + 1, framed=True)
    assert words.decode(numbers[1:]) == text


def test_an_image_is_shrunk_by_averaging() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (360, 480, 3), dtype=np.uint8)
    small = shrink(image, SMALL_PX)
    assert small.shape == (SMALL_PX[1], SMALL_PX[0], 3)
    block = image[10:12, 20:22].reshape(4, 3).mean(axis=0)
    np.testing.assert_allclose(small[5, 10], block, atol=1)
    assert shrink(small, SMALL_PX) is small


@pytest.mark.parametrize("view", CELL_VIEWS)
def test_a_close_image_is_the_part_where_objects_are(view: View) -> None:
    rng = np.random.default_rng(1)
    image = rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)
    left, top, right, bottom = region_of(view, Framing.CLOSE)
    close = framed(image, view, Framing.CLOSE, SMALL_PX)
    cut = image[round(480 * top) : round(480 * bottom), round(640 * left) : round(640 * right)]
    np.testing.assert_array_equal(close, shrink(cut, SMALL_PX))
    np.testing.assert_array_equal(framed(image, view, Framing.WHOLE, SMALL_PX), shrink(image, SMALL_PX))


@pytest.mark.parametrize("style", Style)
@pytest.mark.parametrize("verb", [Verb.PICK, Verb.PLACE])
def test_answers_have_about_ten_words_and_depend_on_places(style: Style, verb: Verb) -> None:
    goal = BLUE_BOWL if verb is Verb.PLACE else None
    task = Instruction(verb, RED_CUBE, goal)
    left = true_answer(task, [_seen(RED_CUBE, 0.1, 0.1), _seen(BLUE_BOWL, 0.5, 0.5)], style)
    right = true_answer(task, [_seen(RED_CUBE, 0.9, 0.9), _seen(BLUE_BOWL, 0.5, 0.5)], style)
    assert left != right
    assert 7 <= len(left.split()) <= 16
    assert len(answer_words(left)) <= MAX_ANSWER_WORDS


def test_what_the_image_does_not_show_is_said_to_be_missing() -> None:
    task = Instruction(Verb.PICK, RED_CUBE)
    answer = true_answer(task, [_seen(RED_CUBE, -0.2, 0.5), _seen(BLUE_BOWL, 0.5, 0.5)], Style.PLACE)
    assert answer == "I see no red cube in this picture."


def test_a_look_alike_with_another_mark_is_another_object() -> None:
    striped, dotted = (Thing(Colour.RED, Kind.CUBE, mark) for mark in (Mark.STRIPED, Mark.DOTTED))
    answer = true_answer(Instruction(Verb.PICK, striped), [_seen(dotted, 0.5, 0.5)], Style.PLACE)
    assert answer == "I see no striped red cube in this picture."
    both = [_seen(dotted, 0.1, 0.5), _seen(striped, 0.9, 0.5)]
    answer = true_answer(Instruction(Verb.PICK, striped), both, Style.PLACE)
    assert answer == "The striped red cube is right, by the dotted red cube; grip and lift it."


def test_a_plan_is_judged_where_hands_and_objects_meet() -> None:
    expert = np.array([[-0.5, 0.0, 0.12, 0.0, 0.0, 0.4], [-0.5, 0.0, 0.02, 0.0, 0.0, 1.0]])
    assert would_succeed(Verb.PICK, Kind.BALL, plan_error(expert, expert))
    high, low = expert.copy(), expert.copy()
    off_m = 1.2 * TOLERANCE_MM[Verb.PICK] / 1e3
    high[0, 0] += off_m
    low[1, 0] += off_m
    assert would_succeed(Verb.PICK, Kind.BALL, plan_error(high, expert))
    assert not would_succeed(Verb.PICK, Kind.BALL, plan_error(low, expert))
    assert not would_succeed(Verb.PICK, Kind.BALL, plan_error(expert[:1], expert))
    assert not would_succeed(Verb.PICK, Kind.BALL, plan_error(expert[:0], expert))


def test_the_turn_matters_for_cubes_only() -> None:
    expert = np.array([[-0.5, 0.0, 0.02, 0.3, 0.0, 1.0]])
    turned = expert + np.array([0.0, 0.0, 0.0, 0.4, 0.0, 0.0])
    assert would_succeed(Verb.PICK, Kind.BALL, plan_error(turned, expert))
    assert not would_succeed(Verb.PICK, Kind.CUBE, plan_error(turned, expert))
