"""A task in anybody's words is left alone or refused, never rewritten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError, UsageError
from embodied_iqa.world.tasks.sentence import MAX_TEXT_CHARACTERS, check_sentence
from embodied_iqa.world.tasks.task import Task, task_from_row, task_row

WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=500)


@given(WORDS.filter(str.strip))
def test_every_sentence_stays_as_it_was_typed(text: str) -> None:
    assert check_sentence(text) is text
    task = Task("t1", 1, text)
    assert task_from_row(task_row(task)) == task


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty task; expected a sentence of 1 to 500 characters"),
        (" \t", "empty task"),
        ("\u00a0\u3000", "empty task"),
        ("open\nthe door", "control character at character 5"),
        ("open\tthe door", "control character"),
        ("go\x1b[31m", "control character at character 3"),
        ("\x85go", "control character"),
        ("go\u2028on", "line separator"),
        ("go\u2029on", "paragraph separator"),
        ("go \udcff", "character that is not text"),
        ("x" * (MAX_TEXT_CHARACTERS + 1), "at most 500 characters; got 501"),
    ],
)
def test_what_is_no_sentence_is_refused_in_printable_words(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_sentence(text)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_stored_task_that_is_no_sentence_is_refused() -> None:
    row = task_row(Task("t1", 1, "open the microwave")) | {"text": "open\x00"}
    with pytest.raises(InputError, match="control character"):
        task_from_row(row)
