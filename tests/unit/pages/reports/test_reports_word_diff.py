"""Two answers side by side."""

from __future__ import annotations

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from embodied_iqa.pages.reports.trial.word_diff import MarkedWords, compare_words

TEXT = st.text(alphabet="abc ABC,.é\t\n", max_size=40)


def _text(parts: tuple[MarkedWords, ...]) -> str:
    return " ".join(part.text for part in parts)


@given(TEXT, TEXT)
def test_every_word_is_kept_in_order(reference: str, other: str) -> None:
    left, right = compare_words(reference, other)
    assert _text(left).split() == reference.split()
    assert _text(right).split() == other.split()


@given(TEXT)
def test_an_answer_does_not_differ_from_itself(text: str) -> None:
    left, right = compare_words(text, text)
    assert left == right
    assert not any(part.differs for part in left)


@given(TEXT, TEXT)
def test_unmarked_words_are_the_same_on_both_sides(reference: str, other: str) -> None:
    sides = compare_words(reference, other)
    left, right = (
        [word for part in side if not part.differs for word in part.text.casefold().split()] for side in sides
    )
    stripped = [[word.strip(",.") or word for word in words] for words in (left, right)]
    assert stripped[0] == stripped[1]


def test_case_and_punctuation_do_not_count() -> None:
    left, right = compare_words("A red cube.", "a RED cube, here")
    assert left == (MarkedWords("A red cube.", False),)
    assert right == (MarkedWords("a RED cube,", False), MarkedWords("here", True))


def test_as_many_words_are_equal_as_the_longest_match_has() -> None:
    reference, other = "a red cube left of a blue ball", "a blue cube left of the ball"
    left, _ = compare_words(reference, other)
    same = sum(len(part.text.split()) for part in left if not part.differs)
    blocks = SequenceMatcher(None, reference.split(), other.split(), autojunk=False).get_matching_blocks()
    assert same == sum(block.size for block in blocks) == 5


def test_nothing_said() -> None:
    left, right = compare_words("", "a cube")
    assert left == ()
    assert right == (MarkedWords("a cube", True),)
