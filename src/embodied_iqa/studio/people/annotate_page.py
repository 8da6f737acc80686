"""Annotate: five tasks of rising difficulty, labels, rejection."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from embodied_iqa.database.edits import labels_of
from embodied_iqa.database.schema import Reference
from embodied_iqa.errors import UsageError, UserError
from embodied_iqa.images.codecs import read_picture
from embodied_iqa.journal.changes import Reject, WriteLabels, WriteTasks, WrittenTask
from embodied_iqa.journal.journal import ConflictError, unchanged_since
from embodied_iqa.scenes.language.advice import advise, verb_of
from embodied_iqa.studio.browse.pictures import ByteCache, inside, webp
from embodied_iqa.studio.kit.context import Studio
from embodied_iqa.studio.kit.rendering import path_segment
from embodied_iqa.studio.kit.sources import Source, SourceKind
from embodied_iqa.studio.people.person import Form, named, person_of, posted, see
from embodied_iqa.studio.people.workspace import Standing, Workspace, workspaces
from embodied_iqa.tasks.task import MAX_RANK, MAX_TEXT_CHARACTERS
from embodied_iqa.tasks.vocabulary import Verb

REASONS: Final = (
    "blurred or badly exposed", "no object that a robot could handle", "people or private things in the picture",
    "nearly the same as another reference",
)  # fmt: skip
_FROM_SENTENCE: Final = "sentence"
_LISTED: Final = 200


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""

    def overview(request: Request) -> Response:
        return _overview(studio, request)

    def page(request: Request) -> Response:
        source, work, reference = _place(studio, request)
        return _page(studio, request, source, work, reference)

    def advice(request: Request) -> Response:
        _, work, reference = _place(studio, request)
        texts = [request.query_params.get(f"text{rank}", "") for rank in range(1, MAX_RANK + 1)]
        found = advise([text[:MAX_TEXT_CHARACTERS] for text in texts], work.surroundings(reference))
        return JSONResponse([asdict(item) for item in found])

    def picture(request: Request) -> Response:
        source, work, reference = _place(studio, request)
        file = inside(work.store.path, reference.picture)
        key = source.name, reference.reference_id, reference.sha256, "whole"
        data = studio.part(ByteCache).get(key, lambda: webp(read_picture(file)))
        return Response(data, media_type="image/webp")

    def save(request: Request, form: Form) -> Response:
        source, work, reference = _place(studio, request)
        try:
            _save(work, reference, form)
        except UserError as error:
            return _page(studio, request, source, work, reference, form, error)
        return see(_next(source, work, reference, form.person))

    def reject(request: Request, form: Form) -> Response:
        source, work, reference = _place(studio, request)
        try:
            change = Reject(reference.reference_id, form.text("other") or form.text("reason"))
            _append(work, reference, change, form)
        except UserError as error:
            return _page(studio, request, source, work, reference, form, error)
        return see(_next(source, work, reference, form.person))

    def reserve(request: Request, form: Form) -> Response:
        _, work, reference = _place(studio, request)
        try:
            work.reservations.reserve(reference.reference_id, form.person, time.time_ns())
        except ConflictError as error:
            return JSONResponse({"problem": str(error)})
        last = work.journal.view().reference(reference.reference_id).last
        return JSONResponse({"problem": "", "last": last})

    base = "/db/{name}/annotate"
    one = base + "/{reference}"
    return [
        Route(base, overview),
        Route(one, named(page)),
        Route(one, posted(save), methods=["POST"]),
        Route(one + "/advice", advice),
        Route(one + "/picture", picture),
        Route(one + "/reject", posted(reject), methods=["POST"]),
        Route(one + "/reserve", posted(reserve), methods=["POST"]),
    ]


def _place(studio: Studio, request: Request) -> tuple[Source, Workspace, Reference]:
    source = studio.source(SourceKind.DATABASE, request)
    work = workspaces(studio).of(source)
    return source, work, work.reference(request.path_params["reference"])


def _overview(studio: Studio, request: Request) -> Response:
    source = studio.source(SourceKind.DATABASE, request)
    work = workspaces(studio).of(source)
    standings = work.standings()
    wanted = request.query_params.get("standing", "")
    names = [name for name, standing in standings.items() if not wanted or standing == wanted]
    return studio.page(
        request,
        "people_overview.html.j2",
        source=source,
        standings=standings,
        counts=Counter(standings.values()),
        wanted=wanted,
        kinds=list(Standing),
        names=names[:_LISTED],
        hidden=max(0, len(names) - _LISTED),
        references=work.tables().references,
        held=work.reservations.active(time.time_ns()),
        person=person_of(request),
    )


def _page(
    studio: Studio,
    request: Request,
    source: Source,
    work: Workspace,
    reference: Reference,
    form: Form | None = None,
    error: UserError | None = None,
) -> Response:
    """Return the page of a reference; after an error with what the person has typed."""
    view = work.journal.view()
    edits = view.reference(reference.reference_id)
    tasks = {task.rank: (task.text, task.verb) for task in work.tasks(reference.reference_id)}
    labels = asdict(labels_of(reference, view))
    shown: dict[int, tuple[str, str]] = {
        rank: (text, _FROM_SENTENCE if verb is verb_of(text) else str(verb or ""))
        for rank, (text, verb) in tasks.items()
    }
    if form is not None and "text1" in form.texts:
        shown = {
            rank: (form.text(f"text{rank}"), form.text(f"verb{rank}")) for rank in range(1, MAX_RANK + 1)
        }
        labels |= {name: form.text(name) for name in labels if name in form.texts}
    texts = [shown.get(rank, ("", ""))[0] for rank in range(1, MAX_RANK + 1)]
    names = list(work.tables().references)
    at = names.index(reference.reference_id)
    held = work.reservations.active(time.time_ns()).get(reference.reference_id)
    person = person_of(request)
    return studio.page(
        request,
        "people_annotate.html.j2",
        HTTPStatus.OK if error is None else _status(error),
        source=source,
        reference=reference,
        shown=shown,
        theirs=tasks if isinstance(error, ConflictError) else {},
        advice=advise(texts, work.surroundings(reference)),
        labels=labels,
        choices=_choices(work),
        standing=work.standing(reference.reference_id, view),
        edits=edits,
        last=next((e for e in reversed(view.edits) if e.sequence == edits.last), None),
        error="" if error is None else str(error),
        held=held if held is not None and held.person != person else None,
        person=person,
        verbs=list(Verb),
        reasons=REASONS,
        position=(at + 1, len(names)),
        before=names[at - 1] if at else None,
        after=names[at + 1] if at + 1 < len(names) else None,
    )


def _status(error: UserError) -> HTTPStatus:
    return HTTPStatus.CONFLICT if isinstance(error, ConflictError) else HTTPStatus.BAD_REQUEST


def _save(work: Workspace, reference: Reference, form: Form) -> None:
    """Write the tasks and labels that the person has changed.

    Raises:
        UserError: A field is wrong, or somebody else has edited the reference.
    """
    tasks = tuple(
        WrittenTask(rank, form.text(f"text{rank}"), _verb(form, rank))
        for rank in range(1, MAX_RANK + 1)
        if form.text(f"text{rank}")
    )
    now = labels_of(reference, work.journal.view())
    labels = WriteLabels(
        reference.reference_id, *(_label(form, name) for name in ("main_object", "main_kind", "background"))
    )
    changes: list[Any] = [] if tasks == work.tasks(reference.reference_id) else [
        WriteTasks(reference.reference_id, tasks)
    ]  # fmt: skip
    changes += [] if labels == now else [labels]
    for change in changes:
        form.texts["last"] = str(_append(work, reference, change, form))


def _append(work: Workspace, reference: Reference, change: Any, form: Form) -> int:
    name = reference.reference_id
    work.reservations.check_free(name, form.person, time.time_ns())
    check = unchanged_since(name, form.number("last"))
    return work.journal.append(change, form.person, form.origin, check).sequence


def _verb(form: Form, rank: int) -> Verb | None:
    word = form.text(f"verb{rank}")
    if word in {_FROM_SENTENCE, ""}:
        return verb_of(form.text(f"text{rank}")) if word else None
    if word not in set(Verb):
        raise UsageError("unknown verb", got=word[:40], available=list(Verb))
    return Verb(word)


def _label(form: Form, name: str) -> str | None:
    text = form.optional(name)
    return None if text is None else text.lower()


def _next(source: Source, work: Workspace, reference: Reference, person: str) -> str:
    """Return the next page of work after a reference: what nobody else holds and is to be written."""
    work.reservations.release(reference.reference_id, person, time.time_ns())
    standings, held = work.standings(), work.reservations.active(time.time_ns())
    names = list(standings)
    at = names.index(reference.reference_id)
    for name in (*names[at + 1 :], *names[:at]):
        open_one = standings[name] in {Standing.WRITE, Standing.RETURNED}
        if open_one and (name not in held or held[name].person == person):
            return f"{_base(source)}/annotate/{path_segment(name)}"
    return f"{_base(source)}/annotate"


def _base(source: Source) -> str:
    return f"/db/{path_segment(source.name)}"


def _choices(work: Workspace) -> dict[str, list[str]]:
    """Return the labels in use, for completion."""
    view = work.journal.view()
    found: dict[str, set[str]] = {"main_object": set(), "main_kind": set(), "background": set()}
    for row in work.tables().references.values():
        labels = labels_of(row, view)
        for name, texts in found.items():
            texts |= {getattr(labels, name)} - {None}
    return {name: sorted(texts)[:_LISTED] for name, texts in found.items()}
