"""Rows of one pair."""

from __future__ import annotations

from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.schema import Pair, Reference
from embodied_iqa.pages.studio.browse.overview import Overview
from embodied_iqa.pages.studio.kit.sources import NotFoundError


def pair_of(overview: Overview, pair_id: str) -> tuple[Pair, Reference]:
    """Return a pair and its reference.

    Raises:
        NotFoundError: The database has no such pair.
    """
    pairs = overview.table("SELECT * FROM pairs WHERE pair_id = ?", [pair_id])
    if not len(pairs):
        raise NotFoundError("no such pair", got=pair_id[:80])
    pair = rows_of(Pair, pairs)[0]
    references = overview.table("SELECT * FROM refs WHERE reference_id = ?", [pair.reference_id])
    return pair, rows_of(Reference, references)[0]
