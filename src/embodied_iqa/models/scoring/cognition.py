"""Cognition score: agreement of a VLM's answers on the distorted and the reference image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from embodied_iqa.base.lazy import load
from embodied_iqa.models.scoring.cider import CIDER_MAX, normalised_cider
from embodied_iqa.models.scoring.frequencies import DocumentFrequencies, words

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU

COGNITION_RECIPE: Final = (
    "case-folded words without punctuation; "
    "sentence BLEU-4, effective order, exponential smoothing (sacrebleu); ROUGE-L F1; "
    "CIDEr-D, n = 1..4, document frequencies over the subject's reference answers, divided by the reference "
    "answer's own maximum, with equal weights where that is 0; score = (BLEU + ROUGE + 0.1 CIDEr) / 3; "
    "identical answers score 1; the first 10,000 words count"
)
"""Choices that the paper leaves open, stated in every result file."""

_CIDER_WEIGHT: Final = 0.1
_MOST_WORDS: Final = 10_000
"""Bounds the time of a score; the answers are asked for in about ten words."""


@dataclass(frozen=True, slots=True)
class CognitionScore:
    """The score of one task; higher is better.

    Attributes:
        bleu: Precision, in [0, 1].
        rouge: Recall, in [0, 1].
        cider: Semantics, in [0, 10].
        score: ``(bleu + rouge + 0.1 cider) / 3``, in [0, 1].
    """

    bleu: float
    rouge: float
    cider: float
    score: float


def score_cognition(answer: str, reference_answer: str, frequencies: DocumentFrequencies) -> CognitionScore:
    """Score a VLM's answer on the distorted image against its own on the reference image.

    Answers with the same words score exactly 1, and so do identical answers without a word, such as emoji. An
    empty answer scores 0, even against an empty reference answer, because it shows no understanding. Of a
    longer answer, the first 10,000 words count.

    Args:
        answer: On the distorted image.
        reference_answer: On the reference image, from the same subject for the same task.
        frequencies: Document frequencies over all reference answers of that subject.
    """
    candidate, reference = words(answer), words(reference_answer)
    if candidate == reference and (candidate or answer.split() == reference_answer.split() != []):
        return CognitionScore(1.0, 1.0, CIDER_MAX, 1.0)
    if not candidate or not reference:
        return CognitionScore(0.0, 0.0, 0.0, 0.0)
    candidate, reference = candidate[:_MOST_WORDS], reference[:_MOST_WORDS]
    bleu, rouge = _bleu(candidate, reference), _rouge(candidate, reference)
    cider = normalised_cider(candidate, reference, frequencies)
    return CognitionScore(bleu, rouge, cider, (bleu + rouge + _CIDER_WEIGHT * cider) / 3)


def _bleu(candidate: Sequence[str], reference: Sequence[str]) -> float:
    score = _bleu_metric().sentence_score(" ".join(candidate), [" ".join(reference)])
    return min(1.0, float(score.score) / 100)


def _rouge(candidate: Sequence[str], reference: Sequence[str]) -> float:
    common = _common_words(candidate, reference)
    precision, recall = common / len(candidate), common / len(reference)
    return 2 * precision * recall / (precision + recall) if common else 0.0


def _common_words(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    A row of the table of lengths is the bits of an integer, set where the length does not grow in Crochemore
    et al. (A fast and practical bit-vector algorithm for the longest common subsequence problem, 2001), and
    inverted here.
    """
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    row = 0
    for word in second:
        grown = row | places.get(word, 0)
        row = grown & ~(grown - (row << 1 | 1))
    return row.bit_count()


@cache
def _bleu_metric() -> BLEU:
    metric: BLEU = load("sacrebleu.metrics:BLEU")(effective_order=True, tokenize="none")
    return metric
