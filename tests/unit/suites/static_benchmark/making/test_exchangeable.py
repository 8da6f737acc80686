"""Options of made items are exchangeable in wording and order; verbs of stage items are balanced.

Under exchangeability the right option is any of the four with the same chance, given the text. So what a
cue has for it, less the mean over the options, has the mean 0 and a variance that the options alone give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from embodied_iqa.imaging.images.frame import View, image_frame
from embodied_iqa.models.scoring.proportions import simultaneous_z, wilson
from embodied_iqa.models.subjects.subject_options import VlmOptions
from embodied_iqa.suites.static_benchmark.asking import asked_text, read_answer
from embodied_iqa.suites.static_benchmark.items import Dimension
from embodied_iqa.suites.static_benchmark.making.draft import Draft
from embodied_iqa.suites.static_benchmark.making.drafts import draw_draft, draw_slot, slots_of
from embodied_iqa.suites.static_benchmark.making.step_words import WAYPOINT_WORDS
from embodied_iqa.suites.static_benchmark.subjects import load_answerer, parse_subjects
from embodied_iqa.world.scenes.dimensions import CELL_VIEWS
from embodied_iqa.world.tasks.vocabulary import Colour, Kind

SEED = 79
EACH = {Dimension.MACRO: 60, Dimension.MICRO: 240, Dimension.STAGE: 240}
LEVEL = 0.001
"""Chance of a false alarm in each test."""
Cue = Callable[[str, Draft], float]


@cache
def drafts(dimension: Dimension) -> tuple[Draft, ...]:
    rng = np.random.default_rng(SEED)
    views = CELL_VIEWS
    slots = [draw_slot(rng, dimension, views[index % 3]) for index in range(EACH[dimension])]
    return tuple(draw_draft(slot, SEED, index) for index, slot in enumerate(slots))


def _nearness(option: str, draft: Draft) -> float:
    """Return how many words an option has in common with the others."""
    counts = Counter(word for other in draft.options for word in set(other.split()))
    return float(sum(counts[word] for word in set(option.split())))


def _rank(option: str, draft: Draft) -> float:
    return float(sorted(draft.options).index(option))


def _has(word: str) -> Cue:
    return lambda option, _draft: float(word in option.split())


CUES: Mapping[str, Cue] = {
    "characters": lambda option, _draft: float(len(option)),
    "words": lambda option, _draft: float(len(option.split())),
    "alphabet": _rank,
    "nearness": _nearness,
    "first task": lambda option, draft: float(
        len(set(option.split()) & set(draft.question.partition(" or ")[0].split()))
    ),
    "question": lambda option, draft: float(len(set(option.split()) & set(draft.question.split()))),
    **{str(word): _has(str(word)) for word in (*Colour, *Kind)},
}


def z_of(of: Sequence[Draft], cue: Cue) -> float:
    """Return the standard score of the right options by a cue; 0 where it never differs between options."""
    values = np.array([[cue(option, draft) for option in draft.options] for draft in of])
    spread = values.var(axis=1).sum()
    excess = (values[:, 0] - values.mean(axis=1)).sum()
    return float(excess / np.sqrt(spread)) if spread else 0.0


@pytest.mark.parametrize("dimension", Dimension)
def test_no_cue_of_the_wording_tells_the_right_option_from_the_others(dimension: Dimension) -> None:
    limit = norm.isf(LEVEL / 2 / len(CUES))
    scores = {name: z_of(drafts(dimension), cue) for name, cue in CUES.items()}
    assert max(map(abs, scores.values())) < limit, scores
    assert sum(score != 0 for score in scores.values()) > 5


def test_a_right_option_that_is_longer_in_a_third_of_the_items_is_found() -> None:
    of = drafts(Dimension.STAGE)
    longest = [replace(one, options=tuple(sorted(one.options, key=len, reverse=True))) for one in of[::3]]
    whole = [*longest, *of[1::3], *of[2::3]]
    assert z_of(whole, CUES["characters"]) > norm.isf(LEVEL / 2 / len(CUES))


def _orders(of: Sequence[Draft], key: Cue) -> Counter[tuple[int, ...]]:
    """Count the orders of the wrong options by a key, where it differs between all of them."""
    found: Counter[tuple[int, ...]] = Counter()
    for draft in of:
        values = [key(option, draft) for option in draft.options[1:]]
        if len(set(values)) == len(values):
            found[tuple(np.argsort(values).tolist())] += 1
    return found


@pytest.mark.parametrize("dimension", Dimension)
def test_the_wrong_options_have_any_order(dimension: Dimension) -> None:
    """In an order of their own they would show which option was put among them."""
    for key in (_rank, _nearness):
        counts = _orders(drafts(dimension), key)
        if counts.total() >= 30:
            assert chisquare([counts[order] for order in permutations(range(3))]).pvalue > LEVEL, counts
    assert _orders(drafts(dimension), _rank).total() >= 30


def test_numbers_have_any_order() -> None:
    counted = [one for one in drafts(Dimension.MICRO) if one.question.startswith("How many")]
    assert len(counted) >= 20
    assert sum(sorted(one.options[1:]) == list(one.options[1:]) for one in counted) < len(counted) / 2


def test_verbs_and_questions_of_stage_items_are_drawn_with_equal_chances() -> None:
    slots = [slot.stage for slot in slots_of(6000, SEED) if slot.stage is not None]
    assert len(slots) == 4200
    counts = Counter((slot.verbs, slot.is_next) for slot in slots)
    pairs = list(permutations(WAYPOINT_WORDS, 2))
    assert set(counts) <= {(pair, is_next) for pair in pairs for is_next in (False, True)}
    assert chisquare([counts[pair, is_next] for pair in pairs for is_next in (False, True)]).pvalue > LEVEL


@pytest.mark.parametrize("is_next", [False, True])
def test_the_verb_of_the_episode_is_balanced_in_both_questions(is_next: bool) -> None:
    of = [one for one in drafts(Dimension.STAGE) if one.question.endswith("next?") is is_next]
    counts = Counter(draft.cut.instruction.verb for draft in of if draft.cut is not None)
    assert chisquare([counts[verb] for verb in WAYPOINT_WORDS]).pvalue > LEVEL, counts


@pytest.mark.parametrize("name", ["panel-vlm-fine", "panel-vlm-mixer"])
def test_a_subject_that_sees_grey_images_is_at_chance_where_it_answers(name: str) -> None:
    (asked,) = parse_subjects(name)
    answerer = load_answerer(asked, VlmOptions())
    for dimension in Dimension:
        items = [draft.item(index) for index, draft in enumerate(drafts(dimension)[:60])]
        grey = [image_frame(np.full((72, 96, 3), 128, np.uint8), View.TOP)] * len(items)
        texts = [asked_text(item, asked.adapter) for item in items]
        answers = answerer.answers(items, grey, texts)
        read = [
            read_answer(said, item, asked.adapter).letter
            for said, item in zip(answers, items, strict=True)
            if isinstance(said, str)
        ]
        assert len(read) == len(items)
        hits = [letter == item.answer for letter, item in zip(read, items, strict=True) if letter]
        share = wilson(sum(hits), len(hits), simultaneous_z(2 * len(Dimension)))
        assert share.low <= 1 / 4 <= share.high, (dimension, share)
