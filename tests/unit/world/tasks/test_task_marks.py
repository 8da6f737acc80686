"""Marks in the words of a task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.tasks.instruction import Instruction, Thing, parse_instruction
from embodied_iqa.world.tasks.vocabulary import MARKED_KINDS, Colour, Kind, Mark, Verb

MARKS = st.none() | st.sampled_from(Mark)


@given(st.sampled_from(MARKED_KINDS[:3]), MARKS, st.sampled_from([Verb.PICK, Verb.PUSH]))
def test_a_marked_thing_is_parsed_from_its_own_words(kind: Kind, mark: Mark | None, verb: Verb) -> None:
    task = Instruction(verb, Thing(Colour.RED, kind, mark))
    assert parse_instruction(str(task)) == task


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("press the yellow button marked 3", Thing(Colour.YELLOW, Kind.BUTTON, Mark.THREE)),
        ("Pick up the SPOTTED blue ball!", Thing(Colour.BLUE, Kind.BALL, Mark.DOTTED)),
        ("take the violet block marked a", Thing(Colour.PURPLE, Kind.CUBE, Mark.A)),
        ("pick the red cube", Thing(Colour.RED, Kind.CUBE)),
    ],
)
def test_words_of_marks(text: str, thing: Thing) -> None:
    assert parse_instruction(text).object == thing


def test_a_mark_belongs_to_the_object_that_it_stands_by() -> None:
    task = parse_instruction("put the red cube marked 1 in the blue bowl")
    assert (task.object.mark, task.destination) == (Mark.ONE, Thing(Colour.BLUE, Kind.BOWL))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("twist the striped red knob", "a knob has no mark"),
        ("pick the red cube marked", "unknown mark"),
        ("pick the red cube marked 9", "unknown mark in the task.*'?9"),
        ("pick the striped cube", "needs its colour"),
    ],
)
def test_what_cannot_be_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_instruction(text)


def test_a_description_without_a_mark_fits_every_mark() -> None:
    red = Thing(Colour.RED, Kind.CUBE)
    for mark in (None, *Mark):
        assert red.fits(Thing(Colour.RED, Kind.CUBE, mark))
        assert Thing(Colour.RED, Kind.CUBE, Mark.A).fits(Thing(Colour.RED, Kind.CUBE, mark)) == (
            mark is Mark.A
        )
