"""CIDEr-D: agreement of two answers in tf-idf-weighted n-grams.

Vedantam, Zitnick, Parikh: CIDEr, Consensus-based Image Description Evaluation, CVPR 2015, equations 1 to 4
with the clipping and the length penalty of section 6. The numbers equal those of ``pycocoevalcap``, which
takes the number of bigrams as an answer's length.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from embodied_iqa.models.scoring.frequencies import MAX_ORDER, DocumentFrequencies, ngrams

CIDER_MAX: Final = 10.0
_LENGTH_SIGMA: Final = 6.0
_EQUAL_WEIGHTS: Final = DocumentFrequencies(2, {})


@dataclass(frozen=True, slots=True)
class _Vector:
    """Tf-idf vector of an answer, split by n-gram order (index 0: single words)."""

    weights: tuple[dict[tuple[str, ...], float], ...]
    norms: tuple[float, ...]
    n_bigrams: int


def _vector(tokens: Sequence[str], frequencies: DocumentFrequencies) -> _Vector:
    log_documents = math.log(frequencies.n_documents)
    weights: tuple[dict[tuple[str, ...], float], ...] = tuple({} for _ in range(MAX_ORDER))
    for ngram, count in Counter(ngrams(tokens)).items():
        inverse_frequency = log_documents - math.log(max(1, frequencies.count(ngram)))
        weights[len(ngram) - 1][ngram] = count * inverse_frequency
    norms = tuple(math.sqrt(math.fsum(weight**2 for weight in part.values())) for part in weights)
    return _Vector(weights, norms, max(0, len(tokens) - 1))


def _clipped_cosine(candidate: _Vector, reference: _Vector, order: int) -> float:
    norm = candidate.norms[order] * reference.norms[order]
    if norm == 0.0:
        return 0.0
    weights, reference_weights = candidate.weights[order], reference.weights[order]
    shared = weights.keys() & reference_weights.keys()
    return math.fsum(min(weights[g], reference_weights[g]) * reference_weights[g] for g in shared) / norm


def cider_d(candidate: Sequence[str], reference: Sequence[str], frequencies: DocumentFrequencies) -> float:
    """Return CIDEr-D of one candidate against one reference, both as words.

    Returns:
        In [0, 10], higher is better. Identical answers score below 10 if they have fewer than four words or
        if all their n-grams of some order occur in every document.
    """
    vector, reference_vector = _vector(candidate, frequencies), _vector(reference, frequencies)
    distance = vector.n_bigrams - reference_vector.n_bigrams
    penalty = math.exp(-(distance**2) / (2 * _LENGTH_SIGMA**2))
    cosines = [_clipped_cosine(vector, reference_vector, order) for order in range(MAX_ORDER)]
    return CIDER_MAX * penalty * math.fsum(cosines) / MAX_ORDER


def normalised_cider(
    candidate: Sequence[str], reference: Sequence[str], frequencies: DocumentFrequencies
) -> float:
    """Return CIDEr-D divided by the score of the reference against itself, times 10.

    A short or common reference cannot reach 10 in plain CIDEr-D; with this normalisation identical answers
    always score 10. Where every n-gram of the reference occurs in every document (a corpus of one answer, or
    of equal ones), the frequencies weigh nothing and CIDEr is undefined: all n-grams then weigh the same.

    Returns:
        In [0, 10], higher is better; 0 if either answer is empty.
    """
    if not candidate or not reference:
        return 0.0
    if tuple(candidate) == tuple(reference):
        return CIDER_MAX
    best = cider_d(reference, reference, frequencies)
    if best == 0.0:
        frequencies = _EQUAL_WEIGHTS
        best = cider_d(reference, reference, frequencies)
    return CIDER_MAX * min(1.0, cider_d(candidate, reference, frequencies) / best)
