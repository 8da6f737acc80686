"""Chapter: images of the pairs with the lowest and the highest decision scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UserError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.analysis.grid import Group
from embodied_iqa.data.analysis.study import Study
from embodied_iqa.data.database.database_images import distorted_rgb, reference_frame
from embodied_iqa.data.database.schema import Pair, Reference
from embodied_iqa.data.database.store import DatabaseStore
from embodied_iqa.pages.reports.kit.formatting import distortion_label, number
from embodied_iqa.pages.reports.kit.image_encoding import data_uri
from embodied_iqa.pages.reports.kit.page import Chapter, ImageCard, Part

_SHOWN: Final = 6
_BYTES: Final = 24_000
_GROUPS: Final = (Group.DECISION, Group.COGNITION)
_LEAD: Final = (
    "Reference and distorted image of the pairs that subjects of this kind answer worst and best, one of "
    "each distortion; of equal scores the higher level comes first."
)


def chapter(study: Study, store: DatabaseStore) -> Chapter:
    """Return the chapter; an image that cannot be read is replaced by the reason."""
    group = next((group for group in _GROUPS if group in study.groups), None)
    if group is None:
        return Chapter("extremes", "The worst and the best pairs", "Nothing was scored.", "", ())
    opinion, levels = study.groups[group].opinion.raw, study.pairs.levels
    known = np.flatnonzero(np.isfinite(opinion))
    worst = known[np.lexsort((known, -levels[known], opinion[known]))]
    best = known[np.lexsort((known, -levels[known], -opinion[known]))]
    chosen = [_of_each_distortion(order, study.pairs.distortion_ids) for order in (worst, best)]
    pairs = _pairs(store, study.pairs.pair_ids[[*chosen[0], *chosen[1]]].tolist())
    parts = []
    for title, rows in zip(("Lowest", "Highest"), chosen, strict=True):
        found = [(pairs[study.pairs.pair_ids[row]], float(opinion[row])) for row in rows]
        cards = tuple(_card(store, pair, reference, score) for (pair, reference), score in found)
        parts.append(Part(f"{title} {group}", (), images=cards))
    return Chapter("extremes", "The worst and the best pairs", _LEAD, "", tuple(parts))


def _of_each_distortion(order: NDArray[np.intp], distortion_ids: NDArray[np.str_]) -> list[int]:
    first: dict[str, int] = {}
    for row in order.tolist():
        first.setdefault(str(distortion_ids[row]), row)
    return list(first.values())[:_SHOWN]


def _pairs(store: DatabaseStore, names: Iterable[str]) -> dict[str, tuple[Pair, Reference]]:
    wanted = set(names)
    table = store.pairs()
    pairs = rows_of(Pair, table.filter([name in wanted for name in table["pair_id"].to_pylist()]))
    owners = {pair.reference_id for pair in pairs}
    table = store.references()
    rows = rows_of(Reference, table.filter([name in owners for name in table["reference_id"].to_pylist()]))
    references = {row.reference_id: row for row in rows}
    return {pair.pair_id: (pair, references[pair.reference_id]) for pair in pairs}


def _card(store: DatabaseStore, pair: Pair, reference: Reference, score: float) -> ImageCard:
    title = f"{distortion_label(pair.distortion_id)}, level {pair.level}: {number(score)}"
    try:
        first = reference_frame(store.path, reference).rgb
        second = distorted_rgb(store.path, reference, pair)
    except UserError as error:
        reason = str(error).replace(str(store.path), "").lstrip("/")
        return ImageCard(title, "", (f"no image: {reason}",))
    return ImageCard(title, data_uri(np.hstack([first, second]), _BYTES), (f"{reference.view} camera",))
