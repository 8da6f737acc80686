"""How long to look for the topics of a cell: discovery takes its time, longer on a busy machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from embodied_iqa.base.clock import MONOTONIC, Clock

DISCOVERY_S: Final = 10.0
"""Nobody publishes what is not discovered by then."""
_SETTLED_S: Final = 1.0
"""Further cameras, and the calibrations beside the images, are discovered this much later at most."""
_SLICE_S: Final = 0.05


def await_topics(
    look: Callable[[], Mapping[str, str]],
    pause: Callable[[float], None],
    wanted: Collection[str] = (),
    *,
    deadline_s: float = DISCOVERY_S,
    clock: Clock = MONOTONIC,
) -> dict[str, str]:
    """Return the topics once there are some, all wanted ones among them, and no more come.

    Args:
        look: Returns the topics that are known, each with its type.
        pause: Lets discovery work for so long [s].
        wanted: Topics that must be there.
        deadline_s: What is known after this time is returned [s].
        clock: Of the deadline.
    """
    began_s = changed_s = clock.now_s()
    known: dict[str, str] = {}
    while True:
        present, now_s = dict(look()), clock.now_s()
        if present != known:
            known, changed_s = present, now_s
        is_whole = bool(known) and known.keys() >= set(wanted) and now_s - changed_s >= _SETTLED_S
        if is_whole or now_s - began_s >= deadline_s:
            return known
        pause(_SLICE_S)
