"""Seeded part of the images of every reference."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


def drawn_of_each(
    pair_ids: Sequence[str], reference_ids: Sequence[str], most: int, seed: int
) -> NDArray[np.bool_]:
    """Return which pairs are drawn: the same number of each reference, whatever their order.

    Args:
        pair_ids: ``(N,)``, each once.
        reference_ids: ``(N,)``.
        most: Pairs of a reference that are drawn; 0 for all.
        seed: Of the draw; it also depends on the name of the pair, and on nothing else.

    Returns:
        ``(N,)``, true where drawn.
    """
    drawn = np.ones(len(pair_ids), bool)
    if not most:
        return drawn
    rows = defaultdict[str, list[tuple[bytes, int]]](list)
    for row, (pair, reference) in enumerate(zip(pair_ids, reference_ids, strict=True)):
        digest = blake2b(f"{seed}|pictures|{pair}".encode(), digest_size=8).digest()
        rows[reference].append((digest, row))
    for places in rows.values():
        drawn[[row for _, row in sorted(places)[most:]]] = False
    return drawn
