"""Annotate: five tasks of rising difficulty, labels, rejection."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from embodied_iqa.base.errors import UsageError, UserError
from embodied_iqa.data.database.database_images import inside
from embodied_iqa.data.database.edits import labels_of
from embodied_iqa.data.database.standings import Standing
from embodied_iqa.data.journal.changes import Reject, WriteLabels, WriteTasks, WrittenTask
from embodied_iqa.data.journal.journal import ConflictError, unchanged_since
from embodied_iqa.imaging.images.codecs import read_image
from embodied_iqa.pages.studio.browse.browser_images import ByteCache, webp
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.rendering import path_segment
from embodied_iqa.pages.studio.people.annotate_view import (
    FROM_SENTENCE,
    Place,
    annotate_view,
    overview_view,
    place_of,
)
from embodied_iqa.pages.studio.people.person import Form, named, posted, see
from embodied_iqa.world.scenes.language.advice import advise, verb_of
from embodied_iqa.world.tasks.sentence import MAX_TEXT_CHARACTERS
from embodied_iqa.world.tasks.task import MAX_RANK
from embodied_iqa.world.tasks.vocabulary import Verb


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""
    pages, base, one = _Pages(studio), "/db/{name}/annotate", "/db/{name}/annotate/{reference}"
    return [
        Route(base, pages.overview),
        Route(one, named(pages.page)),
        Route(one, posted(pages.save), methods=["POST"]),
        Route(one + "/advice", pages.advice),
        Route(one + "/image", pages.image),
        Route(one + "/reject", posted(pages.reject), methods=["POST"]),
        Route(one + "/reserve", posted(pages.reserve), methods=["POST"]),
    ]


class _Pages:
    def __init__(self, studio: Studio) -> None:
        self._studio = studio

    def overview(self, request: Request) -> Response:
        return overview_view(self._studio, request)

    def page(self, request: Request) -> Response:
        return annotate_view(self._studio, request)

    def advice(self, request: Request) -> Response:
        place = place_of(self._studio, request)
        texts = [request.query_params.get(f"text{rank}", "") for rank in range(1, MAX_RANK + 1)]
        around = place.work.surroundings(place.reference)
        found = advise([text[:MAX_TEXT_CHARACTERS] for text in texts], around)
        return JSONResponse([asdict(item) for item in found])

    def image(self, request: Request) -> Response:
        place = place_of(self._studio, request)
        file = inside(place.work.store.path, place.reference.image)
        key = place.source.name, place.name, place.reference.sha256, "whole"
        data = self._studio.part(ByteCache).get(key, lambda: webp(read_image(file)))
        return Response(data, media_type="image/webp")

    def save(self, request: Request, form: Form) -> Response:
        place = place_of(self._studio, request)
        try:
            _save(place, form)
        except UserError as error:
            return annotate_view(self._studio, request, form, error)
        return see(_next(place, form.person))

    def reject(self, request: Request, form: Form) -> Response:
        place = place_of(self._studio, request)
        try:
            _append(place, Reject(place.name, form.text("other") or form.text("reason")), form)
        except UserError as error:
            return annotate_view(self._studio, request, form, error)
        return see(_next(place, form.person))

    def reserve(self, request: Request, form: Form) -> Response:
        place = place_of(self._studio, request)
        try:
            place.work.reservations.reserve(place.name, form.person, time.time_ns())
        except ConflictError as error:
            return JSONResponse({"problem": str(error)})
        return JSONResponse({"problem": "", "last": place.work.journal.view().reference(place.name).last})


def _save(place: Place, form: Form) -> None:
    """Write the tasks and labels that the person has changed.

    Raises:
        UserError: A field is wrong, or somebody else has edited the reference.
    """
    tasks = tuple(
        WrittenTask(rank, form.text(f"text{rank}"), _verb(form, rank))
        for rank in range(1, MAX_RANK + 1)
        if form.text(f"text{rank}")
    )
    now = labels_of(place.reference, place.work.journal.view())
    labels = WriteLabels(
        place.name, *(_label(form, name) for name in ("main_object", "main_kind", "background"))
    )
    changes: list[Any] = []
    if tasks != place.work.tasks(place.name):
        changes.append(WriteTasks(place.name, tasks))
    if labels != now:
        changes.append(labels)
    for change in changes:
        form.texts["last"] = str(_append(place, change, form))


def _append(place: Place, change: Any, form: Form) -> int:
    place.work.reservations.check_free(place.name, form.person, time.time_ns())
    check = unchanged_since(place.name, form.number("last"))
    return place.work.journal.append(change, form.person, form.origin, check).sequence


def _verb(form: Form, rank: int) -> Verb | None:
    word = form.text(f"verb{rank}")
    if word in {FROM_SENTENCE, ""}:
        return verb_of(form.text(f"text{rank}")) if word else None
    if word not in set(Verb):
        raise UsageError("unknown verb", got=word[:40], available=list(Verb))
    return Verb(word)


def _label(form: Form, name: str) -> str | None:
    text = form.optional(name)
    return None if text is None else text.lower()


def _next(place: Place, person: str) -> str:
    """Return the next page of work after a reference: what nobody else holds and is to be written."""
    place.work.reservations.release(place.name, person, time.time_ns())
    standings, held = place.work.standings(), place.work.reservations.active(time.time_ns())
    names = list(standings)
    at = names.index(place.name)
    for name in (*names[at + 1 :], *names[:at]):
        open_one = standings[name] in {Standing.WRITE, Standing.RETURNED}
        if open_one and (name not in held or held[name].person == person):
            return f"{place.base}/annotate/{path_segment(name)}"
    return f"{place.base}/annotate"
