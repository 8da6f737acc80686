"""The application: pages, assets, errors, and the guard in front of them."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from types import ModuleType
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import UserError
from embodied_iqa.pages.studio.boards import board_page
from embodied_iqa.pages.studio.browse import images_page, pair_page, stored_page, table_page
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.security import Address, App, Guard
from embodied_iqa.pages.studio.kit.sources import NotFoundError
from embodied_iqa.pages.studio.people import (
    agreement_page,
    annotate_page,
    edits_page,
    judge_page,
    person,
    spot_page,
    verify_page,
)
from embodied_iqa.pages.studio.watch import gate_page, live_page, run_page

_LOOK: Final = (table_page, pair_page, images_page, stored_page, board_page, run_page, live_page, gate_page)
_WORK: Final = (person, annotate_page, verify_page, spot_page, agreement_page, edits_page, judge_page)
PAGES: Final[tuple[ModuleType, ...]] = (*_LOOK, *_WORK)
"""Modules with pages behind the first one, each with ``routes(studio) -> list[Route]``."""

_STYLE: Final = "text/css; charset=utf-8"
_SCRIPT: Final = "text/javascript; charset=utf-8"
_ASSETS: Final = {"studio.css": _STYLE, "people.css": _STYLE} | dict.fromkeys(
    ("studio.js", "watch.js", "live.js", "gate.js", "people.js"), _SCRIPT
)


def create_app(studio: Studio, address: Address) -> App:
    """Return the ASGI application of a studio that listens at an address."""
    routes = [route for module in PAGES for route in module.routes(studio)]

    def home(request: Request) -> Response:
        """Return the first page: all databases, runs, experiments and images, and what cannot be read."""
        sources = studio.sources.all()
        return studio.page(
            request, "studio_home.html.j2", sources=sources, faults=stored_page.faults(studio, sources)
        )

    def failed(request: Request, error: Exception) -> Response:
        return _failure(studio, request, error)

    handlers: Any = {UserError: failed, HTTPException: failed}
    app = Starlette(
        routes=[Route("/", home), *routes, Route("/assets/{file}", _asset)], exception_handlers=handlers
    )
    return Guard(app, address, studio.token, studio.csrf)


def _failure(studio: Studio, request: Request, error: Exception) -> Response:
    """Return the page of an error that the user can correct; other errors are bugs and stay errors."""
    status = HTTPStatus.BAD_REQUEST
    if isinstance(error, NotFoundError):
        status = HTTPStatus.NOT_FOUND
    elif isinstance(error, HTTPException):
        status = HTTPStatus(error.status_code)
    text = str(error) if isinstance(error, UserError) else status.phrase
    return studio.page(request, "studio_error.html.j2", status, status=status.value, message=text)


def _asset(request: Request) -> Response:
    name = request.path_params["file"]
    if name not in _ASSETS:
        raise HTTPException(HTTPStatus.NOT_FOUND)
    data = files("embodied_iqa.pages.studio").joinpath("assets", name).read_bytes()
    return Response(data, media_type=_ASSETS[name], headers={"Cache-Control": "private, max-age=600"})
