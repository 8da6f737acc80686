"""Tasks drawn at random: a verb with objects that afford it."""

from __future__ import annotations

import numpy as np

from embodied_iqa.tasks.instruction import (
    DESTINATIONS_OF_VERB,
    KINDS_OF_VERB,
    Colour,
    Instruction,
    Thing,
    Verb,
)

__all__ = ["draw_instruction"]


def draw_instruction(verb: Verb, seed: int) -> Instruction:
    """Draw kinds and colours for a verb; the same seed gives the same task.

    Args:
        verb: What to do.
        seed: Any integer from 0; `make_scene` with it and the task gives a scene for the task.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, list(Verb).index(verb), 0x7A5C]))
    first, second = (list(Colour)[index] for index in rng.permutation(len(Colour))[:2])
    kinds, destinations = KINDS_OF_VERB[verb], DESTINATIONS_OF_VERB[verb]
    thing = Thing(first, kinds[rng.integers(len(kinds))])
    if not destinations:
        return Instruction(verb, thing)
    return Instruction(verb, thing, Thing(second, destinations[rng.integers(len(destinations))]))
