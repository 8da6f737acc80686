"""CIDEr-D: how much two answers agree on the words that matter.

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

from embodied_iqa.scoring.frequencies import MAX_ORDER, DocumentFrequencies, ngrams

__all__ = ["CIDER_MAX", "cider_d", "normalised_cider"]

CIDER_MAX: Final = 10.0
_LENGTH_SIGMA: Final = 6.0


@dataclass(frozen=True, slots=True)
class _Vector:
    """The tf-idf vector of an answer, cut by order (index 0: single words)."""

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
    theirs = reference.weights[order]
    shared = candidate.weights[order].keys() & theirs.keys()
    return math.fsum(min(candidate.weights[order][g], theirs[g]) * theirs[g] for g in shared) / norm


def cider_d(candidate: Sequence[str], reference: Sequence[str], frequencies: DocumentFrequencies) -> float:
    """Return CIDEr-D of one candidate against one reference, both cut into words.

    Returns:
        In [0, 10], higher is better. Below 10 even for identical answers where they are shorter than four
        words or where all their n-grams of some order occur in every document.
    """
    ours, theirs = _vector(candidate, frequencies), _vector(reference, frequencies)
    distance = ours.n_bigrams - theirs.n_bigrams
    penalty = math.exp(-(distance**2) / (2 * _LENGTH_SIGMA**2))
    cosines = [_clipped_cosine(ours, theirs, order) for order in range(MAX_ORDER)]
    return CIDER_MAX * penalty * math.fsum(cosines) / MAX_ORDER


def normalised_cider(
    candidate: Sequence[str], reference: Sequence[str], frequencies: DocumentFrequencies
) -> float:
    """Return CIDEr-D as a share of what the reference reaches against itself, times 10.

    A short or commonplace reference cannot reach 10 in plain CIDEr-D; divided by its own maximum, identical
    answers always score 10. Where that maximum is 0 (every n-gram of the reference occurs in every document,
    so that none tells anything) the score is 10 for identical answers and 0 for all others.

    Returns:
        In [0, 10], higher is better; 0 where either answer is empty.
    """
    if not candidate or not reference:
        return 0.0
    if tuple(candidate) == tuple(reference):
        return CIDER_MAX
    best = cider_d(reference, reference, frequencies)
    if best == 0.0:
        return 0.0
    return CIDER_MAX * min(1.0, cider_d(candidate, reference, frequencies) / best)
