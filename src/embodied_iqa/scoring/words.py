"""Answers as words: one way of cutting them up for every text score."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["words"]

_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> tuple[str, ...]:
    """Cut a text into case-folded runs of letters and digits; punctuation is dropped.

    BLEU, ROUGE and CIDEr see the same words, as in the COCO caption evaluation (Chen et al. 2015, section
    3.1), so that a full stop or a capital letter never costs a picture a point. Languages that are written
    without spaces come out as one word a clause.
    """
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
