"""Tasks in anybody's words: any sentence, which every subject gets exactly as it was typed."""

from __future__ import annotations

import unicodedata
from typing import Final

from embodied_iqa.base.errors import UsageError

MAX_TEXT_CHARACTERS: Final = 500
_FORBIDDEN: Final = {
    "Cc": "control character",
    "Cs": "character that is not text",
    "Zl": "line separator",
    "Zp": "paragraph separator",
}
"""Unicode categories that a sentence has no use for and that damage tables, logs and protocols. Format
characters are allowed: Persian and emoji need them."""


def check_sentence(text: str) -> str:
    """Return a task unchanged if it is a sentence: 1 to 500 characters of any script, on one line.

    Raises:
        UsageError: It is empty, too long, or has control characters.
    """
    if not text.strip():
        raise UsageError("empty task", expected=f"a sentence of 1 to {MAX_TEXT_CHARACTERS} characters")
    if len(text) > MAX_TEXT_CHARACTERS:
        raise UsageError("long task", expected=f"at most {MAX_TEXT_CHARACTERS} characters", got=len(text))
    for place, sign in enumerate(text):
        if (kind := _FORBIDDEN.get(unicodedata.category(sign))) is not None:
            raise UsageError(
                f"a task has a {kind} at character {place + 1}",
                expected="one line of letters, digits, signs and spaces",
                got=ascii(text[max(0, place - 10) : place + 10]),
            )
    return text
