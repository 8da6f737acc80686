"""Addresses of the images of a database: thumbnails, and images of full size without loss."""

from __future__ import annotations

from enum import StrEnum
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.pages.studio.browse.browser_images import ByteCache, PairImages, Which, png, thumbnail
from embodied_iqa.pages.studio.browse.lookup import pair_of
from embodied_iqa.pages.studio.browse.overview import overviews
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import SourceKind

CACHED = {"Cache-Control": "private, max-age=86400"}


class Size(StrEnum):
    """Size of an image."""

    THUMBNAIL = "thumbnail"
    FULL = "full"


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the images."""

    def image(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        try:
            which, size = Which(request.path_params["which"]), Size(request.path_params["size"])
        except ValueError:
            raise HTTPException(HTTPStatus.NOT_FOUND) from None
        pair, reference = pair_of(overviews(studio).of(source), request.path_params["pair"])
        images = PairImages(source.path, reference, pair)
        sha256 = pair.sha256 if which is Which.DISTORTED else reference.sha256
        encode = thumbnail if size is Size.THUMBNAIL else png
        data = studio.part(ByteCache).get(
            (source.name, sha256, pair.pair_id, which, size), lambda: encode(images.rgb(which))
        )
        kind = "image/webp" if size is Size.THUMBNAIL else "image/png"
        return Response(data, media_type=kind, headers=CACHED)

    return [Route("/db/{name}/pair/{pair}/{which}/{size}", image)]
