"""In how many reference answers each n-gram occurs: what CIDEr weighs words by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from embodied_iqa.errors import InputError
from embodied_iqa.scoring.words import words

__all__ = ["MAX_ORDER", "DocumentFrequencies", "document_frequencies", "ngrams"]

MAX_ORDER: Final = 4
"""N-grams of one to four words."""


def ngrams(tokens: Sequence[str], max_order: int = MAX_ORDER) -> Iterator[tuple[str, ...]]:
    """Every n-gram of ``tokens``, from single words up to ``max_order`` words, as often as it occurs."""
    for order in range(1, max_order + 1):
        for start in range(len(tokens) - order + 1):
            yield tuple(tokens[start : start + order])


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """Document frequencies of one subject's reference answers; every answer is one document.

    Attributes:
        counts: N-gram, its words joined by single spaces, to the number of answers that hold it. Read-only.
        n_documents: Number of answers, at least 1.
    """

    counts: Mapping[str, int]
    n_documents: int

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
        object.__setattr__(self, "counts", MappingProxyType(dict(sorted(self.counts.items()))))

    def count(self, ngram: tuple[str, ...]) -> int:
        """Return how many answers hold ``ngram``; 0 where none does."""
        return self.counts.get(" ".join(ngram), 0)

    def to_json(self) -> dict[str, object]:
        """Return what :meth:`from_json` reads."""
        return {"n_documents": self.n_documents, "counts": dict(self.counts)}

    @classmethod
    def from_json(cls, value: object) -> DocumentFrequencies:
        """Read what :meth:`to_json` gave.

        Raises:
            InputError: It is something else.
        """
        match value:
            case {"n_documents": int(n_documents), "counts": dict(counts), **rest} if not rest:
                if all(isinstance(key, str) and type(count) is int for key, count in counts.items()):
                    return cls(counts, n_documents)
        raise InputError("not document frequencies", expected="n_documents and counts, whole numbers")


def document_frequencies(answers: Iterable[str]) -> DocumentFrequencies:
    """Count over all reference answers of a subject; empty answers are documents too.

    Raises:
        InputError: There are no answers.
    """
    documents = [set(ngrams(words(answer))) for answer in answers]
    counts = Counter(ngram for document in documents for ngram in document)
    return DocumentFrequencies({" ".join(ngram): n for ngram, n in counts.items()}, len(documents))
