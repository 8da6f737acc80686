"""Drafts of items from a seed, in the published proportions; nothing is rendered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from embodied_iqa.base.errors import InternalError
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.suites.static_benchmark.items import Dimension
from embodied_iqa.suites.static_benchmark.making.draft import OPTIONS, Cut, Draft, NoItemError, draw_from
from embodied_iqa.suites.static_benchmark.making.macro import MACRO_VERBS, draw_macro
from embodied_iqa.suites.static_benchmark.making.micro import draw_micro
from embodied_iqa.suites.static_benchmark.making.stage import draw_stage
from embodied_iqa.suites.static_benchmark.making.two_tasks import StageQuestion, draw_question
from embodied_iqa.world.scenes.scene import draw_instruction, make_scene
from embodied_iqa.world.tasks.vocabulary import Verb

SHARES: Final = {Dimension.MACRO: 150, Dimension.MICRO: 150, Dimension.STAGE: 700}
"""Items of each dimension in a thousand."""
FIRST_PERSON: Final = 384
"""Items of the camera at the end effector in a thousand."""
_TRIES: Final = 2000
_TAG: Final = 0x57A7


@dataclass(frozen=True, slots=True)
class Slot:
    """What an item is to be.

    Attributes:
        dimension: What it asks for.
        view: Its camera.
        stage: Verbs and question of a stage item; None for others.
    """

    dimension: Dimension
    view: View
    stage: StageQuestion | None = None


def draw_slot(rng: np.random.Generator, dimension: Dimension, view: View) -> Slot:
    """Draw what is left open of an item before its scene: the verbs and the question of a stage item."""
    return Slot(dimension, view, draw_question(rng) if dimension is Dimension.STAGE else None)


@cache
def slots_of(items: int, seed: int) -> tuple[Slot, ...]:
    """Return dimension and camera of every item, in the published proportions and in a drawn order.

    Stage items have their verbs and their question, too.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, items, _TAG]))
    ends = [round(items * end / 1000) for end in np.cumsum([*SHARES.values()])]
    counts = dict(zip(SHARES, np.diff([0, *ends]).tolist(), strict=True))
    dimensions = [dimension for dimension, count in counts.items() for _ in range(count)]
    # even over the sorted dimensions, so that each of them has the same share of cameras
    first = [round((n + 1) * FIRST_PERSON / 1000) > round(n * FIRST_PERSON / 1000) for n in range(items)]
    thirds = [View.TOP, View.SIDE]
    views = [View.WRIST if is_first else thirds[n % 2] for n, is_first in enumerate(first)]
    order = rng.permutation(items)
    return tuple(draw_slot(rng, dimensions[int(number)], views[int(number)]) for number in order)


def draw_draft(slot: Slot, seed: int, index: int, attempt: int = 0) -> Draft:
    """Draw an item; the same arguments give the same one on every machine.

    Args:
        slot: Its dimension and camera.
        seed: Of the benchmark.
        index: Of the item.
        attempt: Another one for the same index, where the expert fails in physics.

    Raises:
        InternalError: No scene has such an item.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, index, attempt, _TAG]))
    for _ in range(_TRIES):
        try:
            return _draft(rng, slot)
        except NoItemError:
            continue
    raise InternalError(f"no scene has an item: {slot}, seed {seed}, index {index}")


def _draft(rng: np.random.Generator, slot: Slot) -> Draft:
    cut: Cut | None = None
    if slot.stage is not None:
        question, options, scene, cut = draw_stage(rng, slot.stage)
    else:
        verb = draw_from(rng, MACRO_VERBS if slot.dimension is Dimension.MACRO else tuple(Verb))
        instruction = draw_instruction(verb, int(rng.integers(2**31)))
        scene = make_scene(int(rng.integers(2**31)), instruction)
        draw = draw_macro if slot.dimension is Dimension.MACRO else draw_micro
        question, options, scene = draw(rng, scene, slot.view)
    # wrong options in an order of their own, such as that of numbers, would show which one was put among them
    right, *wrong = options
    mixed_up = tuple(wrong[int(number)] for number in rng.permutation(len(wrong)))
    place = int(rng.integers(OPTIONS))
    return Draft(slot.dimension, slot.view, scene, question, (right, *mixed_up), place, cut)
