"""The pages of a run: all tasks and runs, the player, and the images that it shows."""

from __future__ import annotations

import re
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import UsageError
from embodied_iqa.base.resources import shared_file
from embodied_iqa.imaging.images.frame import View, is_view
from embodied_iqa.pages.studio.browse.browser_images import ByteCache, webp
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import Source, SourceKind
from embodied_iqa.pages.studio.watch.open_lane import open_lane
from embodied_iqa.pages.studio.watch.recordings import open_runs

_CACHED = {"Cache-Control": "private, max-age=3600"}
_SIDES = ("clean", "distorted")
_BESIDE = "beside"
_PARTS = 3
_SHIPPED_VIEWS = (View.TOP, View.WRIST)
"""The cameras that the layout names."""
_SHIPPED_VIEW = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(_SHIPPED_VIEWS)})(?![A-Za-z])")


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""

    def overview(request: Request) -> Response:
        source = studio.source(SourceKind.RUN, request)
        found = open_runs(studio).of(source)
        found.update()
        return studio.page(request, "studio_run.html.j2", source=source, found=found)

    def player(request: Request) -> Response:
        source = studio.source(SourceKind.RUN, request)
        task, run = int(request.path_params["task"]), int(request.path_params["run"])
        lanes = [open_lane(studio, source, task, run)]
        beside = request.query_params.get(_BESIDE, "")
        if beside:
            lanes.append(open_lane(studio, *_parsed(studio, beside)))
        return studio.page(
            request,
            "studio_watch.html.j2",
            source=source,
            tasks=open_runs(studio).of(source).tasks,
            task=task,
            run=run,
            lanes=lanes,
            beside=beside,
            others=[one.name for one in studio.sources.all() if one.kind is SourceKind.RUN],
        )

    def image(request: Request) -> Response:
        source = studio.source(SourceKind.RUN, request)
        found = open_runs(studio).of(source)
        task, run, number = (int(request.path_params[name]) for name in ("task", "run", "number"))
        view, side = request.path_params["view"], request.path_params["side"]
        if not is_view(view) or side not in _SIDES:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        data = studio.part(ByteCache).get(
            (id(found), task, run, view, side, number),
            lambda: webp(found.image(task, run, View(view), number, distorted=side == "distorted")),
        )
        return Response(data, media_type="image/webp", headers=_CACHED)

    place = "/run/{name}/{task:int}/{run:int}"
    return [
        Route("/foxglove-layout.json", _layout),
        Route("/run/{name}", overview),
        Route(place, player),
        Route(place + "/{view}/{side}/{number:int}", image),
    ]


def _layout(request: Request) -> Response:
    """Return the layout for Foxglove with a run's first two cameras instead of those of the cell."""
    views = [view for view in request.query_params.get("views", "").split(",") if is_view(view)]
    del views[len(_SHIPPED_VIEWS) :]
    free = [one for one in _SHIPPED_VIEWS if one not in views]
    names = dict(zip(free, [one for one in views if one not in _SHIPPED_VIEWS], strict=False))
    layout = shared_file("config/foxglove/trial.json").read_text(encoding="utf-8")
    own = _SHIPPED_VIEW.sub(lambda found: names.get(View(found[0]), found[0]), layout)
    named = {"Content-Disposition": 'attachment; filename="embodied-iqa-foxglove.json"'}
    return Response(own, media_type="application/json", headers=named)


def _parsed(studio: Studio, text: str) -> tuple[Source, int, int]:
    """Return the run that "NAME/TASK/RUN" names."""
    parts = text.rsplit("/", 2)
    numbers = [part for part in parts[1:] if part.isascii() and part.isdigit() and len(part) < _PARTS * 2]
    if len(parts) != _PARTS or len(numbers) != _PARTS - 1:
        raise UsageError(f"{_BESIDE} is wrong", expected="NAME/TASK/RUN", got=text[:100])
    return studio.sources.get(SourceKind.RUN, parts[0]), int(numbers[0]), int(numbers[1])
