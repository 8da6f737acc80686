"""The first page: all databases, runs and experiments."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.pages.studio.kit.context import Studio


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def home(request: Request) -> Response:
        return studio.page(request, "studio_home.html.j2", sources=studio.sources.all())

    return [Route("/", home)]
