"""The text of made items does not give the answer away: a reader trained on it stays at chance.

With `EMBODIED_IQA_STATIC_ITEMS=10000` in the environment it is trained on 5,000 items and tested on 5,000.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from embodied_iqa.models.scoring.proportions import wilson
from embodied_iqa.suites.static_benchmark.items import LETTERS, Dimension, Item
from embodied_iqa.suites.static_benchmark.making.drafts import draw_draft, slots_of

COUNT = max(300, int(os.environ.get("EMBODIED_IQA_STATIC_ITEMS", "300")))
SEED = 78
OPTIONS = 4
pytestmark = pytest.mark.timeout(max(900, COUNT))
_SLOTS = 2**15
_PENALTY = 1e-2


@cache
def items() -> tuple[Item, ...]:
    return tuple(
        draw_draft(slot, SEED, index).item(index) for index, slot in enumerate(slots_of(COUNT, SEED))
    )


def _cues(item: Item, place: int) -> Iterator[str]:
    """Yield what a reader may go by: words, pairs of words, their place, the question, the other options."""
    lines = [option.split() for option in item.options]
    words, asked = lines[place], item.question.split()
    counts = Counter(word for line in lines for word in set(line))
    kind = " ".join(re.sub('".+"', "", item.question).split()[-4:])
    yield f"letter {place}"
    yield f"length {len(words) - min(map(len, lines))}"
    yield f"shared {sum(counts[word] for word in set(words)) - min(_shared(line, counts) for line in lines)}"
    yield from _cues_of_order(lines, counts, place)
    for cue in [*words, *(f"{one} {two}" for one, two in pairwise(words))]:
        yield f"word {cue}"
        yield f"word {cue} of {kind}"
        yield f"word {cue} in {counts[cue]}"
        yield f"word {cue} with {asked.count(cue)}"
    for word in set(words):
        yield from (f"pair {word} {other}" for other in set(asked))


def _cues_of_order(lines: Sequence[Sequence[str]], counts: Counter[str], place: int) -> Iterator[str]:
    """Yield the order of the other options: by alphabet, and by the words that they share."""
    others = [line for number, line in enumerate(lines) if number != place]
    yield f"others by alphabet {np.argsort([' '.join(line) for line in others]).tolist()}"
    yield f"others by words {np.argsort([_shared(line, counts) for line in others], kind='stable').tolist()}"


def _shared(line: Sequence[str], counts: Counter[str]) -> int:
    return sum(counts[word] for word in set(line))


def _matrix(of: Sequence[Item]) -> csr_matrix:
    rows, columns = [], []
    for number, (item, place) in enumerate((item, place) for item in of for place in range(OPTIONS)):
        cues = {crc32(cue.encode()) % _SLOTS for cue in _cues(item, place)}
        rows += [number] * len(cues)
        columns += cues
    shape = (OPTIONS * len(of), _SLOTS)
    return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)


def _truth(of: Sequence[Item]) -> NDArray[np.intp]:
    return np.array([LETTERS.index(item.answer) for item in of])


def _trained(of: Sequence[Item]) -> NDArray[np.float64]:
    """Fit a multinomial choice between the options (McFadden 1974), with a quadratic penalty."""
    cues, right = _matrix(of), _truth(of) + OPTIONS * np.arange(len(of))
    one_hot = np.zeros(cues.shape[0])
    one_hot[right] = 1.0

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = (cues @ weights).reshape(-1, OPTIONS)
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        value = -np.log(shares.ravel()[right]).mean() + _PENALTY * float(weights @ weights)
        return value, cues.T @ (shares.ravel() - one_hot) / len(of) + 2 * _PENALTY * weights

    found = minimize(loss, np.zeros(_SLOTS), jac=True, method="L-BFGS-B", options={"maxiter": 60})
    return np.asarray(found.x)


def _hits(weights: NDArray[np.float64], of: Sequence[Item]) -> int:
    chosen = (_matrix(of) @ weights).reshape(-1, OPTIONS).argmax(axis=1)
    return int((chosen == _truth(of)).sum())


@pytest.mark.parametrize("dimension", Dimension)
def test_a_reader_trained_on_the_text_alone_stays_at_chance(dimension: Dimension) -> None:
    of = [item for item in items() if item.dimension is dimension]
    middle = len(of) // 2
    share = wilson(_hits(_trained(of[:middle]), of[middle:]), len(of) - middle)
    assert share.low <= 1 / OPTIONS <= share.high, share


def _given_away(item: Item) -> Item:
    """Return the item with the first option in the alphabet right in four of five."""
    first = item.options.index(min(item.options))
    return item if item.index % 5 == 0 else replace(item, answer=LETTERS[first])


def _in_order(item: Item) -> Item:
    """Return the item with its wrong options by alphabet, and the right one where it was."""
    right = LETTERS.index(item.answer)
    wrong = sorted(option for place, option in enumerate(item.options) if place != right)
    return replace(item, options=(*wrong[:right], item.options[right], *wrong[right:]))


@pytest.mark.parametrize("leak", [_given_away, _in_order])
def test_the_reader_finds_what_a_text_gives_away(leak: Callable[[Item], Item]) -> None:
    of = [leak(item) for item in items() if item.dimension is Dimension.STAGE]
    middle = len(of) // 2
    share = wilson(_hits(_trained(of[:middle]), of[middle:]), len(of) - middle)
    assert share.low > 1 / OPTIONS, share
