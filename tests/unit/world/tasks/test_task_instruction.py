"""Instructions: canonical forms and synonyms are parsed, and errors name the cause."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import UsageError
from embodied_iqa.world.tasks.instruction import Instruction, Thing, parse_instruction
from embodied_iqa.world.tasks.vocabulary import (
    CATEGORY_OF_KIND,
    DESTINATIONS_OF_VERB,
    KINDS_OF_VERB,
    Category,
    Colour,
    Kind,
    Verb,
)

ALL = [
    Instruction(verb, Thing(colour, kind), None if goal is None else Thing(other, goal))
    for verb in Verb
    for kind in KINDS_OF_VERB[verb]
    for goal in (DESTINATIONS_OF_VERB[verb] or (None,))
    for colour in Colour
    for other in Colour
    if other is not colour
]


@given(task=st.sampled_from(ALL), polite=st.booleans(), loud=st.booleans(), bare=st.booleans())
@settings(deadline=None)
def test_a_task_in_words_means_itself(task: Instruction, polite: bool, loud: bool, bare: bool):
    words = str(task).replace("the ", "") if bare else str(task)
    words = f"Please {words}!" if polite else words
    assert parse_instruction(words.upper() if loud else words) == task


@pytest.mark.parametrize(
    ("words", "canonical"),
    [
        ("pick up the red block", "pick the red cube"),
        ("Could you grab the violet sphere, please?", "pick the purple ball"),
        ("put the red cube into the blue dish", "place the red cube in the blue bowl"),
        ("put the red cube on the blue mat", "move the red cube to the blue mat"),
        ("put the red peg in the green hole", "insert the red peg in the green socket"),
        ("put the red lid on the green pot", "cover the green pot with the red lid"),
        ("close the green pan with the red cap", "cover the green pot with the red lid"),
        ("pour the beads from the red mug into the blue bowl", "pour the red cup into the blue bowl"),
        ("fill the blue bowl from the red cup", "pour the red cup into the blue bowl"),
        ("open the yellow drawer", "pull the yellow drawer"),
        ("turn the green dial", "twist the green knob"),
        ("push the blue switch down", "press the blue button"),
        ("slide the blue cylinder away", "push the blue cylinder"),
        ("slide the blue cylinder to the red pad", "move the blue cylinder to the red mat"),
        ("move the blue cylinder away", "push the blue cylinder"),
    ],
)
def test_other_words_mean_the_same(words: str, canonical: str):
    assert str(parse_instruction(words)) == canonical


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("", "a verb and an object"),
        ("please", "a verb and an object"),
        ("juggle the red cube", "unknown verb"),
        ("pick the pink cube", "unknown colour"),
        ("pick the red unicorn", "unknown kind"),
        ("pick the cube", "needs its colour"),
        ("pick", "one or two objects"),
        ("pick the red", "one or two objects"),
        ("place the red cube", "needs a second object"),
        ("press the red cube", "cannot be used with press"),
        ("pick the red cube in the blue bowl", "not a destination for pick"),
        ("place the red cube in the blue pot", "not a destination for place"),
        ("place the red cube in the red bowl", "differ in colour"),
        ("place the red cube in the blue bowl on the green mat", "one or two objects"),
        ("pick the red cube quickly", "unknown colour"),
    ],
)
def test_unknown_words_are_reported(words: str, complaint: str):
    with pytest.raises(UsageError, match=complaint):
        parse_instruction(words)


def test_every_kind_has_a_category_and_is_of_use_to_a_verb():
    assert set(CATEGORY_OF_KIND) == set(Kind)
    assert set(CATEGORY_OF_KIND.values()) == set(Category)
    used = {kind for kinds in (*KINDS_OF_VERB.values(), *DESTINATIONS_OF_VERB.values()) for kind in kinds}
    assert used == set(Kind)
