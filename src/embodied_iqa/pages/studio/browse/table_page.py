"""The table of the pairs of a database: filters, order, pages, thumbnails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.pages.studio.browse.filters import (
    COLUMNS,
    LEVELS,
    PER_PAGE,
    SCORE,
    VERDICT,
    Filters,
    filters_from,
)
from embodied_iqa.pages.studio.browse.overview import Overview, overviews
from embodied_iqa.pages.studio.browse.selection import Selection
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import SourceKind


@dataclass(frozen=True, slots=True)
class TablePage:
    """A page of the table.

    Attributes:
        rows: Columns of the index, and `score` of the chosen subject.
        count: Of all pages.
        pages: Number of pages.
        means: `decision` and `cognition` over all pages.
    """

    rows: list[dict[str, Any]]
    count: int
    pages: int
    means: dict[str, float | None]


def find(overview: Overview, filters: Filters) -> TablePage:
    """Return the pairs of one page; a page beyond the last is empty."""
    selection = Selection.of(filters, overview.choices)
    values = selection.values
    means = overview.rows(
        "SELECT count(*) AS count, avg(decision) AS decision, avg(cognition) AS cognition " + selection.rows,
        values,
    )[0]
    part = f"ORDER BY {selection.order} LIMIT {PER_PAGE} OFFSET {(filters.page - 1) * PER_PAGE}"
    rows = overview.rows(f"SELECT * {selection.rows} {part}", values)
    count = means.pop("count")
    return TablePage(rows, count, max(1, -(-count // PER_PAGE)), means)


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def table(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        overview = overviews(studio).of(source)
        filters = filters_from(request.query_params, overview.choices)
        shown = {
            name: title for name, title in COLUMNS.items() if name != VERDICT or overview.choices.verdicts
        }
        columns = shown | ({SCORE: filters.subject} if filters.subject else {})
        return studio.page(
            request,
            "studio_table.html.j2",
            source=source,
            overview=overview,
            filters=filters,
            found=find(overview, filters),
            columns=columns,
            levels=LEVELS,
        )

    return [Route("/db/{name}", table)]
