"""Cognition score: agreement of a VLM's answers on the distorted and the reference picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from embodied_iqa.lazy import load
from embodied_iqa.scoring.cider import CIDER_MAX, normalised_cider
from embodied_iqa.scoring.frequencies import DocumentFrequencies, words

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import BLEU

COGNITION_RECIPE: Final = (
    "case-folded words without punctuation; "
    "sentence BLEU-4, effective order, exponential smoothing (sacrebleu); ROUGE-L F1 (rouge-score); "
    "CIDEr-D, n = 1..4, document frequencies over the subject's reference answers, divided by the reference "
    "answer's own maximum; score = (BLEU + ROUGE + 0.1 CIDEr) / 3"
)
"""Choices that the paper leaves open, stated in every result file."""

_CIDER_WEIGHT: Final = 0.1


@dataclass(frozen=True, slots=True)
class CognitionScore:
    """The score of one task; higher is better.

    Attributes:
        bleu: Precision, in [0, 1].
        rouge: Recall, in [0, 1].
        cider: Semantics, in [0, 10].
        score: ``(bleu + rouge + 0.1 cider) / 3``, in [0, 1]. Five tasks sum to at most 5.
    """

    bleu: float
    rouge: float
    cider: float
    score: float


def score_cognition(answer: str, reference_answer: str, frequencies: DocumentFrequencies) -> CognitionScore:
    """Score a VLM's answer on the distorted picture against its own on the reference picture.

    Answers with the same words score exactly 1. An empty answer scores 0, even against an empty reference
    answer, because it shows no understanding.

    Args:
        answer: On the distorted picture.
        reference_answer: On the reference picture, from the same subject for the same task.
        frequencies: Document frequencies over all reference answers of that subject.
    """
    candidate, reference = words(answer), words(reference_answer)
    if not candidate or not reference:
        return CognitionScore(0.0, 0.0, 0.0, 0.0)
    if candidate == reference:
        return CognitionScore(1.0, 1.0, CIDER_MAX, 1.0)
    bleu, rouge = _bleu(candidate, reference), _rouge(candidate, reference)
    cider = normalised_cider(candidate, reference, frequencies)
    return CognitionScore(bleu, rouge, cider, (bleu + rouge + _CIDER_WEIGHT * cider) / 3)


def _bleu(candidate: Sequence[str], reference: Sequence[str]) -> float:
    score = _bleu_metric().sentence_score(" ".join(candidate), [" ".join(reference)])
    return min(1.0, float(score.score) / 100)


def _rouge(candidate: Sequence[str], reference: Sequence[str]) -> float:
    scores = _rouge_scorer().score(" ".join(reference), " ".join(candidate))
    return float(scores["rougeL"].fmeasure)


@cache
def _bleu_metric() -> BLEU:
    metric: BLEU = load("sacrebleu.metrics:BLEU")(effective_order=True, tokenize="none")
    return metric


class _Words:
    """Tokeniser for text that is already split; ROUGE's own keeps only a to z."""

    def tokenize(self, text: str) -> list[str]:
        return text.split(" ")


@cache
def _rouge_scorer() -> RougeScorer:
    scorer: RougeScorer = load("rouge_score.rouge_scorer:RougeScorer")(["rougeL"], tokenizer=_Words())
    return scorer
