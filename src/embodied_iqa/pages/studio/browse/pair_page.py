"""The page of one pair: both images, all answers, scores, and its neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.tables import rows_of
from embodied_iqa.data.database.schema import Reference, ReferenceTask
from embodied_iqa.pages.studio.browse.browser_images import PairImages
from embodied_iqa.pages.studio.browse.filters import Filters, filters_from
from embodied_iqa.pages.studio.browse.lookup import pair_of
from embodied_iqa.pages.studio.browse.measures import StatisticRow, measures_of
from embodied_iqa.pages.studio.browse.overview import Overview, overviews
from embodied_iqa.pages.studio.browse.pair_answers import subject_views
from embodied_iqa.pages.studio.browse.selection import Selection
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import SourceKind

_TASK = "task"
_ATTRIBUTES = ("luminance", "contrast", "chrominance", "sharpness", "spatial_information")
_LEVELS = """
    SELECT pair_id, reference_id, level, decision, cognition, version FROM overview
    WHERE distortion_id = ? AND view = ?
    QUALIFY row_number() OVER (PARTITION BY level ORDER BY reference_id <> ?, pair_id) = 1 ORDER BY level
"""
_PLACE = """
    SELECT * FROM (
        SELECT pair_id, row_number() OVER w AS number, count(*) OVER () AS count,
            lag(pair_id) OVER w AS before, lead(pair_id) OVER w AS after
        {rows} WINDOW w AS (ORDER BY {order})
    ) WHERE pair_id = ?
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Place of a pair among those that the filters select; before and after are None at the ends."""

    number: int
    count: int
    before: str | None
    after: str | None


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def page(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        overview = overviews(studio).of(source)
        pair, reference = pair_of(overview, request.path_params["pair"])
        parameters = dict(request.query_params)
        rank = parameters.pop(_TASK, "1")
        tasks = _tasks(overview, reference)
        task = next((task for task in tasks if str(task.rank) == rank), None)
        if task is None and (tasks or rank != "1"):
            raise UsageError("no such task", got=rank[:20], available=[str(task.rank) for task in tasks])
        filters = filters_from(parameters, overview.choices)
        return studio.page(
            request,
            "studio_pair.html.j2",
            source=source,
            overview=overview,
            filters=filters,
            pair=pair,
            reference=reference,
            tasks=tasks,
            task=task,
            subjects=subject_views(overview, pair, reference, task.task_id if task else ""),
            place=_place(overview, filters, pair.pair_id),
            levels=overview.rows(_LEVELS, [pair.distortion_id, reference.view, reference.reference_id]),
            row=overview.rows("SELECT * FROM overview WHERE pair_id = ?", [pair.pair_id])[0],
            attributes=[StatisticRow(n, getattr(reference, n), getattr(pair, n)) for n in _ATTRIBUTES],
        )

    def statistics(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        overview = overviews(studio).of(source)
        pair, reference = pair_of(overview, request.path_params["pair"])
        measures = measures_of(overview, PairImages(source.path, reference, pair))
        return studio.page(request, "studio_statistics.html.j2", measures=measures)

    place = "/db/{name}/pair/{pair}"
    return [Route(place, page), Route(f"{place}/statistics", statistics)]


def _tasks(overview: Overview, reference: Reference) -> list[ReferenceTask]:
    table = overview.table(
        "SELECT * FROM tasks WHERE reference_id = ? ORDER BY rank", [reference.reference_id]
    )
    return rows_of(ReferenceTask, table)


def _place(overview: Overview, filters: Filters, pair_id: str) -> Place | None:
    """Return None where the filters do not select the pair."""
    selection = Selection.of(filters, overview.choices)
    query = _PLACE.format(rows=selection.rows, order=selection.order)
    for row in overview.rows(query, [*selection.values, pair_id]):
        return Place(row["number"], row["count"], row["before"], row["after"])
    return None
