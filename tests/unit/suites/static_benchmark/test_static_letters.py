"""Reading answers: a table of answers as models write them, and the adapter of ten-word answers."""

from __future__ import annotations

import pytest

from embodied_iqa.suites.static_benchmark.asking import Adapter, asked_text, nearest_option, read_answer
from embodied_iqa.suites.static_benchmark.items import Item
from embodied_iqa.suites.static_benchmark.letters import Reading, read_letter

COLOURS = ("red", "green", "blue", "dark green")
NUMBERS = ("1", "10", "2", "12")
SENTENCES = ("Pick up the cup.", "Open the drawer.", "Press the button", "Wait")

U, R, E = Reading.UNPARSED, Reading.REFUSED, Reading.EMPTY

ANSWERS: list[tuple[str, tuple[str, ...], str | Reading]] = [
    ("B", COLOURS, "B"),
    ("b", COLOURS, "B"),
    (" B.", COLOURS, "B"),
    ("(B)", COLOURS, "B"),
    ("(b)", COLOURS, "B"),
    ("B)", COLOURS, "B"),
    ("B: green", COLOURS, "B"),
    ("B. green", COLOURS, "B"),
    ("**B**", COLOURS, "B"),
    ("**B. green**", COLOURS, "B"),
    ("`C`", COLOURS, "C"),
    ("```\nC\n```", COLOURS, "C"),
    ('```json\n{"answer": "C"}\n```', COLOURS, "C"),
    ('{"answer": "C", "reason": "A blue cube"}', COLOURS, "C"),
    ('{"answer": "D. dark green"}', COLOURS, "D"),
    ('{"option": "(A)"}', COLOURS, "A"),
    (r"\boxed{C}", COLOURS, "C"),
    (r"$\boxed{\text{C}}$", COLOURS, "C"),
    ("<b>D</b>", COLOURS, "D"),
    ("The answer is B", COLOURS, "B"),
    ("The answer is B.", COLOURS, "B"),
    ("The answer is (B).", COLOURS, "B"),
    ("The correct answer is: B", COLOURS, "B"),
    ("The correct answer is **B. green**.", COLOURS, "B"),
    ("Answer: C", COLOURS, "C"),
    ("answer:C", COLOURS, "C"),
    ("ANSWER - C", COLOURS, "C"),
    ("Final answer: option D", COLOURS, "D"),
    ("The answer is option D, dark green.", COLOURS, "D"),
    ("My choice is the letter A", COLOURS, "A"),
    ("I choose B because it looks green.", COLOURS, "B"),
    ("I would go with C", COLOURS, "C"),
    ("Option A is correct.", COLOURS, "A"),
    ("A is the correct option", COLOURS, "A"),
    ("(A) is correct, (B) is wrong.", COLOURS, "A"),
    ("Let me see. A. red B. green C. blue. The answer is C.", COLOURS, "C"),
    ("<think>A? Or the answer is B.</think>C", COLOURS, "C"),
    ("<think>\nThe answer is A\n</think>\n\nThe answer is D.", COLOURS, "D"),
    ("so it may be A</think>B", COLOURS, "B"),
    ("<think>The answer is A, or is it", COLOURS, E),
    ("A cube stands left, so C", COLOURS, "C"),
    ("A green cube", COLOURS, "B"),
    ("A small thing that I know", COLOURS, U),
    ("The object is green", COLOURS, "B"),
    ("It is dark green.", COLOURS, "D"),
    ("It is not red but green", COLOURS, "B"),
    ("red or green", COLOURS, U),
    ("A or B", COLOURS, U),
    ("The answer is A. The answer is B.", COLOURS, U),
    ("(A) (B)", COLOURS, U),
    ("A. red\nB. green\nC. blue", COLOURS, U),
    ("The answer is E", COLOURS, U),
    ("(F)", COLOURS, U),
    ("not B", COLOURS, U),
    ("The answer is not B", COLOURS, U),
    ("It isn't B, it is C", COLOURS, "C"),
    ("B is wrong. C", COLOURS, "C"),
    ("greenish", COLOURS, U),
    ("yellow", COLOURS, U),
    ("10", NUMBERS, "B"),
    ("1", NUMBERS, "A"),
    ("There are 12 objects", NUMBERS, "D"),
    ("There are 100", NUMBERS, U),
    ("The count is 10, which is more than 2", NUMBERS, U),
    ("pick up the cup", SENTENCES, "A"),
    ("The robot should open the drawer now", SENTENCES, "B"),
    ("PRESS THE BUTTON!", SENTENCES, "C"),
    ("Press the\nbutton", SENTENCES, "C"),
    ("await", SENTENCES, U),
    ("", COLOURS, E),
    ("  \n ", COLOURS, E),
    ("I'm sorry, but I can't help with that.", COLOURS, R),
    ("I cannot determine this from the image.", COLOURS, R),
    ("As an AI I do not see images.", COLOURS, R),
    ("I am unable to tell", COLOURS, R),
    ("It cannot be determined", COLOURS, R),
    ("I'm sorry, the answer is B", COLOURS, "B"),
    ("x" * 100_000 + "\nThe answer is B", COLOURS, "B"),
    ("答案是 B", COLOURS, "B"),
    ("Antwort: B", COLOURS, "B"),
    ("B, since option A is closer", COLOURS, "B"),
    ("B because A is closer", COLOURS, "B"),
    ("B. As A is too far away, nothing else fits.", COLOURS, "B"),
    ("The answer is A or maybe B", COLOURS, U),
    ("The answer is A, B or C.", COLOURS, U),
    ("Answer: a or b", COLOURS, U),
    ("The answer is A and not B", COLOURS, "A"),
    ("The answer is b", COLOURS, "B"),
    ("The answer is b, as option C is hidden.", COLOURS, "B"),
    ("Answer: (b)", COLOURS, "B"),
    ("The correct answer is d.", COLOURS, "D"),
    ("The answer is a", COLOURS, "A"),
    ("The answer is a green cube", COLOURS, "B"),
    ("The answer is x.", COLOURS, U),
    ('{"answer": "b"}', COLOURS, "B"),
    ("{'answer': 'B'}", COLOURS, "B"),
    ("{'answer': 'b', 'reason': 'A is far'}", COLOURS, "B"),
    ("B\n\nExplanation: A is too far away.", COLOURS, "B"),
    ("A. red\nB. green\nC. blue\n\nB", COLOURS, "B"),
    ("A\nB", COLOURS, U),
    ("Option A: wrong. Option B: wrong. Option C: right.", COLOURS, "C"),
    ("A: incorrect. B: correct.", COLOURS, "B"),
    ("\N{FULLWIDTH LATIN CAPITAL LETTER B}", COLOURS, "B"),
    ("The answer is \N{FULLWIDTH LATIN CAPITAL LETTER C}", COLOURS, "C"),
]


@pytest.mark.parametrize(("text", "options", "expected"), ANSWERS)
def test_an_answer_reads_as_a_person_reads_it(
    text: str, options: tuple[str, ...], expected: str | Reading
) -> None:
    found = read_letter(text, options)
    if isinstance(expected, Reading):
        assert (found.reading, found.letter) == (expected, "")
    else:
        assert (found.reading, found.letter) == (Reading.LETTER, expected)


def test_the_table_is_large_and_environment_variables_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(ANSWERS) >= 60
    before = [read_letter(text, options) for text, options, _ in ANSWERS]
    monkeypatch.setenv("VERBOSE", "0")
    assert [read_letter(text, options) for text, options, _ in ANSWERS] == before


def item(*options: str) -> Item:
    return Item(0, 0, "Where is the red cube?", options, "A", hint="The image shows a table.")


def test_the_nearest_option_shares_most_words_besides_those_of_all_options() -> None:
    asked = item("the cube left of the bowl", "the cube right of the bowl", "the cube behind the bowl")
    assert nearest_option("the red cube is right of the bowl, pick it", asked).letter == "B"
    assert nearest_option("the cube of the bowl", asked).reading is Reading.UNPARSED
    assert nearest_option("left or right", asked).reading is Reading.UNPARSED
    assert nearest_option("", asked).reading is Reading.EMPTY
    assert read_answer("left", asked, Adapter.NEAREST_OPTION).letter == "A"


def test_the_asked_text_lists_the_options_only_for_letters() -> None:
    text = asked_text(item("left", "right"), Adapter.LETTER)
    assert text.splitlines()[:5] == [
        "Hint: The image shows a table.",
        "Question: Where is the red cube?",
        "Options:",
        "A. left",
        "B. right",
    ]
    assert asked_text(item("left", "right"), Adapter.NEAREST_OPTION) == "Where is the red cube?"
