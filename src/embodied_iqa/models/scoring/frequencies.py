"""Tokenisation of answers, and the document frequencies with which CIDEr weights n-grams."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.base.errors import InputError

MAX_ORDER: Final = 4
"""N-grams of one to four words."""
_WORD = re.compile(r"[^\W_]+")


def words(text: str) -> tuple[str, ...]:
    """Split a text into case-folded runs of letters and digits without punctuation.

    BLEU, ROUGE and CIDEr use the same words, as in the COCO caption evaluation (Chen et al. 2015, sec. 3.1):
    punctuation and capital letters do not change a score. In languages without spaces a clause is one word.
    """
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def ngrams(tokens: Sequence[str], max_order: int = MAX_ORDER) -> Iterator[tuple[str, ...]]:
    """Yield every n-gram of 1 to ``max_order`` words, once for each occurrence."""
    for order in range(1, max_order + 1):
        for start in range(len(tokens) - order + 1):
            yield tuple(tokens[start : start + order])


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """Document frequencies of one subject's reference answers; every answer is one document.

    Attributes:
        n_documents: Number of answers, at least 1.
        counts: Number of answers that contain an n-gram, by its words joined with single spaces.
    """

    n_documents: int
    counts: Mapping[str, int]

    def __post_init__(self) -> None:
        if self.n_documents < 1:
            raise InputError("no reference answers", expected="at least one", got=self.n_documents)
        for ngram, count in self.counts.items():
            if not 1 <= count <= self.n_documents:
                raise InputError(
                    f"document frequency of {ngram!r} is impossible",
                    expected=f"1 to {self.n_documents}",
                    got=count,
                )
        object.__setattr__(self, "counts", dict(sorted(self.counts.items())))

    def count(self, ngram: tuple[str, ...]) -> int:
        """Return the number of answers that contain ``ngram``."""
        return self.counts.get(" ".join(ngram), 0)


def document_frequencies(answers: Iterable[str]) -> DocumentFrequencies:
    """Count over all reference answers of a subject, including empty ones.

    Raises:
        InputError: No answers are given.
    """
    documents = [set(ngrams(words(answer))) for answer in answers]
    counts = Counter(ngram for document in documents for ngram in document)
    return DocumentFrequencies(len(documents), {" ".join(ngram): n for ngram, n in counts.items()})
