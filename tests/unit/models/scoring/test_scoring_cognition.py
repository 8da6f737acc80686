"""Text scores: equal to independent derivations, exact where the rule is exact, never NaN."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.records import structure, unstructure
from embodied_iqa.models.scoring.cider import cider_d, normalised_cider
from embodied_iqa.models.scoring.cognition import score_cognition
from embodied_iqa.models.scoring.frequencies import DocumentFrequencies, document_frequencies, words

CORPUS = [
    "Pick up the red cube left of the bowl.",
    "The red cube is behind the green ball.",
    "Move the gripper above the blue cylinder and close it.",
    "Push the yellow bowl to the right edge of the table.",
    "Press the purple button in the middle of the table.",
    "I cannot see an orange ball.",
]
FREQUENCIES = document_frequencies(CORPUS)
VOCABULARY = ["the", "red", "cube", "is", "left", "of", "bowl", "green", "ball", "unseen"]
answers = st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join)


def cider_by_dense_vectors(candidate: list[str], reference: list[str], corpus: list[list[str]]) -> float:
    """CIDEr-D from its equations with one dense vector an order, sharing nothing with the product."""
    similarities = []
    for order in range(1, 5):

        def grams(tokens: list[str], order: int = order) -> list[str]:
            return ["|".join(tokens[i : i + order]) for i in range(len(tokens) - order + 1)]

        axes = sorted({g for tokens in [candidate, reference, *corpus] for g in grams(tokens)})
        frequency = np.array([sum(axis in grams(document) for document in corpus) for axis in axes])
        inverse = np.log(len(corpus) / np.maximum(1, frequency)) if axes else np.zeros(0)
        c, r = (np.array([grams(t).count(axis) for axis in axes]) * inverse for t in (candidate, reference))
        norms = np.linalg.norm(c) * np.linalg.norm(r)
        similarities.append(np.minimum(c, r) @ r / norms if norms > 0 else 0.0)
    delta = max(0, len(candidate) - 1) - max(0, len(reference) - 1)
    return float(10 * np.mean(similarities) * np.exp(-(delta**2) / 72))


def test_cider_equals_a_dense_derivation():
    corpus = [list(words(answer)) for answer in CORPUS]
    shortened = [document[::2] for document in corpus] + [document[:3] for document in corpus]
    for candidate, reference in itertools.product([*corpus, *shortened, []], corpus):
        expected = cider_by_dense_vectors(candidate, reference, corpus)
        assert cider_d(candidate, reference, FREQUENCIES) == pytest.approx(expected, abs=1e-9)


@given(answers, answers)
@settings(max_examples=100, deadline=None)
def test_cider_equals_a_dense_derivation_on_any_words(candidate: str, reference: str):
    corpus = [list(words(answer)) for answer in CORPUS]
    expected = cider_by_dense_vectors(candidate.split(), reference.split(), corpus)
    assert cider_d(candidate.split(), reference.split(), FREQUENCIES) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("index", "candidate", "expected"),
    [
        (0, "pick up the red cube", 5.351700520563835),
        (1, "the red cube is behind the blue ball", 6.601027563513649),
        (2, "move the gripper above the cylinder and close it", 7.129733751876966),
        (3, "the bowl", 0.21707827109601063),
        (4, "press the purple button in the middle of the table", 10.0),
        (5, "i see an orange ball", 6.308349938056528),
    ],
)
def test_cider_equals_pycocoevalcap(index: int, candidate: str, expected: float):
    """Expected: ``CiderScorer(n=4, sigma=6.0)`` of pycocoevalcap 1.2 over CORPUS, cut into words as here."""
    reference = words(CORPUS[index])
    assert cider_d(candidate.split(), reference, FREQUENCIES) == pytest.approx(expected, abs=1e-9)


def rouge_l_f1(candidate: list[str], reference: list[str]) -> float:
    """F1 of the longest common subsequence, found by trying the subsequences of the candidate."""

    def within(part: tuple[str, ...]) -> bool:
        rest = iter(reference)
        return all(word in rest for word in part)

    longest = next(
        n
        for n in range(len(candidate), -1, -1)
        if any(within(part) for part in itertools.combinations(candidate, n))
    )
    return 2 * longest / (len(candidate) + len(reference))


@given(
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7),
    st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=7),
)
@settings(max_examples=60, deadline=None)
def test_rouge_is_the_f1_of_the_longest_common_subsequence(candidate: list[str], reference: list[str]):
    score = score_cognition(" ".join(candidate), " ".join(reference), FREQUENCIES)
    assert score.rouge == pytest.approx(rouge_l_f1(candidate, reference), abs=1e-12)


long_answers = st.lists(st.sampled_from([*VOCABULARY, "gr\u00fcn"]), min_size=1, max_size=150)


@given(long_answers, long_answers)
@settings(max_examples=60, deadline=None)
def test_rouge_equals_rouge_score(candidate: list[str], reference: list[str]):
    from rouge_score.rouge_scorer import RougeScorer  # loads slowly, for this test alone

    class Split:
        def tokenize(self, text: str) -> list[str]:
            return text.split()

    published = RougeScorer(["rougeL"], tokenizer=Split()).score(" ".join(reference), " ".join(candidate))
    score = score_cognition(" ".join(candidate), " ".join(reference), FREQUENCIES)
    assert score.rouge == (1.0 if candidate == reference else published["rougeL"].fmeasure)


def test_only_the_first_ten_thousand_words_count():
    rng = np.random.default_rng(3)
    first, second = (" ".join(rng.choice(VOCABULARY, 10_000)) for _ in range(2))
    score = score_cognition(first, second, FREQUENCIES)
    assert 0.4 < score.rouge < 0.6
    assert score_cognition(first + " cube" * 50_000, second + " ball" * 90_000, FREQUENCIES) == score


@pytest.mark.parametrize("answer", ["\U0001f44d", "\U0001f916 \u27a1\ufe0f \U0001f7e5", "...", "?!"])
def test_identical_answers_without_a_word_score_one(answer: str):
    score = score_cognition(answer, f" {answer}\n", FREQUENCIES)
    assert (score.bleu, score.rouge, score.cider, score.score) == (1.0, 1.0, 10.0, 1.0)
    for other in ("", " ", "\U0001f44e", "cube"):
        assert score_cognition(answer, other, FREQUENCIES).score == 0.0
        assert score_cognition(other, answer, FREQUENCIES).score == 0.0


def test_bleu_by_hand():
    score = score_cognition("the red cube is left", "the red cube is right", FREQUENCIES)
    assert score.bleu == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4))


def test_bleu_without_a_common_4_gram_counts_half_of_one():
    """Exponential smoothing, as the recipe states: 4/4, 2/3, 1/2 and 1/2 of 1; four words for six."""
    score = score_cognition("pick the red cube", "pick up the red cube now", FREQUENCIES)
    assert score.bleu == pytest.approx((2 / 3 * 1 / 2 * 1 / 2) ** (1 / 4) * math.exp(1 - 6 / 4))


def test_a_score_by_hand():
    """Words that each occur in one of the two answers of the subject: all weigh ln 2."""
    frequencies = document_frequencies(["red cube", "green ball"])
    score = score_cognition("red ball", "red cube", frequencies)
    # One of two words in common, and no bigram: 1/2 of 1 for BLEU. CIDEr has two orders of the four.
    assert score.bleu == pytest.approx((1 / 2 * 1 / 2) ** (1 / 2))
    assert score.rouge == pytest.approx(1 / 2)
    assert score.cider == pytest.approx(10 * (1 / 2) / 2)
    assert score.score == pytest.approx((score.bleu + score.rouge + 0.1 * score.cider) / 3)


def test_cider_is_divided_by_the_references_own_maximum():
    """Two words reach 5 of 10 in plain CIDEr-D: two of the four orders are empty."""
    frequencies = document_frequencies(["red cube", "green ball"])
    red_cube = ["red", "cube"]
    assert cider_d(red_cube, red_cube, frequencies) == pytest.approx(5.0)
    assert cider_d(["red", "ball"], red_cube, frequencies) == pytest.approx(1.25)
    assert normalised_cider(["red", "ball"], red_cube, frequencies) == pytest.approx(2.5)
    assert normalised_cider(["red"], red_cube, frequencies) == pytest.approx(
        10 * math.exp(-1 / 72) * math.sqrt(1 / 2) / 2
    )
    assert normalised_cider([], red_cube, frequencies) == normalised_cider(red_cube, [], frequencies) == 0.0


def test_frequencies_count_answers_and_not_words():
    frequencies = document_frequencies(["red red cube", "red", ""])
    assert frequencies.n_documents == 3
    assert {ngram: frequencies.count(ngram) for ngram in (("red",), ("red", "red"), ("cube",), ("no",))} == {
        ("red",): 2, ("red", "red"): 1, ("cube",): 1, ("no",): 0,
    }  # fmt: skip
    assert DocumentFrequencies(1, {"red": 1}).count(("red",)) == 1
    for n_documents, counts in ((0, {}), (2, {"red": 0}), (2, {"red": 3})):
        with pytest.raises(InputError):
            DocumentFrequencies(n_documents, counts)


def test_bleu_of_two_words_uses_two_orders():
    score = score_cognition("red cube", "red cube left of it", FREQUENCIES)
    assert score.bleu == pytest.approx(math.exp(1 - 5 / 2))


@given(answers.filter(bool))
@settings(max_examples=60, deadline=None)
def test_identical_answers_score_exactly_one(answer: str):
    score = score_cognition(answer, answer, FREQUENCIES)
    assert (score.bleu, score.rouge, score.cider, score.score) == (1.0, 1.0, 10.0, 1.0)


@given(answers, answers)
@settings(max_examples=150, deadline=None)
def test_scores_stay_in_range_and_only_equal_words_score_one(answer: str, reference: str):
    score = score_cognition(answer, reference, FREQUENCIES)
    assert 0.0 <= score.bleu <= 1.0
    assert 0.0 <= score.rouge <= 1.0
    assert 0.0 <= score.cider <= 10.0
    assert score.score == pytest.approx((score.bleu + score.rouge + 0.1 * score.cider) / 3)
    assert (score.score == 1.0) == (answer == reference != "")


@pytest.mark.parametrize(("answer", "reference"), [("", "red"), ("red", ""), ("", ""), (" .!\n", "red")])
def test_an_empty_answer_scores_nothing(answer: str, reference: str):
    assert score_cognition(answer, reference, FREQUENCIES).score == 0.0


def test_punctuation_and_capitals_cost_nothing():
    assert score_cognition("the RED cube", "The red cube!", FREQUENCIES).score == 1.0


def test_words_beyond_ascii_count():
    assert words("Schiebe die gr\u00fcne Schale, \u00c9TAGE_2") == (
        "schiebe",
        "die",
        "gr\u00fcne",
        "schale",
        "\u00e9tage",
        "2",
    )
    assert 0 < score_cognition("gr\u00fcne Schale", "gr\u00fcne Kugel", FREQUENCIES).rouge < 1


def test_where_frequencies_weigh_nothing_all_words_weigh_the_same():
    frequencies = document_frequencies(["red cube", "red cube"])
    assert cider_d(["red", "cube"], ["red", "cube"], frequencies) == 0.0
    assert normalised_cider(["red", "cube"], ["red", "cube"], frequencies) == 10.0
    assert normalised_cider(["blue", "ball"], ["red", "cube"], frequencies) == 0.0
    # By hand: of one word in common, the cosine is 1 / (1 * sqrt 2), of two orders; the maximum is 2 / 4
    # of 10, and the lengths differ by one bigram.
    expected = 10 * (1 / np.sqrt(2)) / 2 * np.exp(-1 / 72)
    assert normalised_cider(["red"], ["red", "cube"], frequencies) == pytest.approx(expected)
    alone = document_frequencies(["red cube"])
    assert normalised_cider(["red"], ["red", "cube"], alone) == pytest.approx(expected)


def test_rare_words_weigh_more_than_common_ones():
    reference = words("the purple button of the table")
    keeps_rare = normalised_cider(words("a purple button of a table"), reference, FREQUENCIES)
    keeps_common = normalised_cider(words("the green ball of the table"), reference, FREQUENCIES)
    assert keeps_rare > keeps_common


def test_document_frequencies_count_answers_not_occurrences():
    frequencies = document_frequencies(["red red cube", "Red ball.", ""])
    assert frequencies.n_documents == 3
    assert frequencies.count(("red",)) == 2
    assert frequencies.count(("red", "red")) == 1
    assert frequencies.count(("blue",)) == 0


def test_document_frequencies_survive_json():
    assert structure(DocumentFrequencies, unstructure(FREQUENCIES), "test") == FREQUENCIES


@pytest.mark.parametrize(
    "value",
    [None, {}, {"n_documents": 2, "counts": {"a": 3}}, {"n_documents": 2, "counts": {"a": "1"}}, {"n": 1}],
)
def test_broken_document_frequencies_are_refused(value: object):
    with pytest.raises(InputError):
        structure(DocumentFrequencies, value, "test")


def test_no_answers_are_refused():
    with pytest.raises(InputError, match="at least one"):
        document_frequencies([])


def test_threads_get_the_same_numbers():
    pairs = list(itertools.product(CORPUS, CORPUS)) * 4
    alone = [score_cognition(a, b, FREQUENCIES) for a, b in pairs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda pair: score_cognition(*pair, FREQUENCIES), pairs))
    assert together == alone
