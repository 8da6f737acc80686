"""Verify: a second person judges the tasks of a reference, a third settles disagreements."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import UsageError, UserError
from embodied_iqa.data.database.standings import Standing
from embodied_iqa.data.journal.changes import Change, Settle, TaskVerdict, Verdict, Verify
from embodied_iqa.data.journal.journal import Check, ConflictError, unchanged_since
from embodied_iqa.data.journal.view import EditView, ReferenceEdits, disputed
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.rendering import path_segment
from embodied_iqa.pages.studio.kit.sources import Source, SourceKind
from embodied_iqa.pages.studio.people.person import (
    Form,
    named,
    person_of,
    posted,
    require_person,
    see,
    status_of,
)
from embodied_iqa.pages.studio.people.workspace import Workspace, workspaces

MEANINGS = {
    Verdict.FITS: "one clear task that the image shows",
    Verdict.UNCLEAR: "may mean several objects or actions",
    Verdict.IMPOSSIBLE: "the image does not show it, or no robot could do it",
    Verdict.WORDING: "wrong spelling or grammar",
}


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the pages."""

    def start(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        person, settle = require_person(request), _settles(request)
        return see(_next(source, workspaces(studio).of(source), person, settle=settle))

    def page(request: Request) -> Response:
        return _page(studio, request, None, None)

    def save(request: Request, form: Form) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        work, settle = workspaces(studio).of(source), _settles(request)
        name = work.reference(request.path_params["reference"]).reference_id
        try:
            texts = work.texts(name)
            change = _change(name, form, texts, settle=settle)
            check = may_settle(name, form, texts) if settle else may_verify(name, form)
            work.reservations.check_free(name, form.person, time.time_ns())
            work.journal.append(change, form.person, form.origin, check)
        except UserError as error:
            return _page(studio, request, form, error)
        return see(_next(source, work, form.person, after=name, settle=settle))

    return [
        route
        for base in ("/db/{name}/verify", "/db/{name}/settle")
        for route in (
            Route(base, named(start)),
            Route(base + "/{reference}", named(page)),
            Route(base + "/{reference}", posted(save), methods=["POST"]),
        )
    ]


def _settles(request: Request) -> bool:
    step: str = request.url.path.split("/")[3]
    return step == "settle"


def may_verify(name: str, form: Form) -> Check:
    """Return a check that the tasks are those that the person saw, and somebody else's."""
    unchanged = unchanged_since(name, form.number("last"))

    def check(view: EditView) -> None:
        unchanged(view)
        _refuse(why_not_verify(view.reference(name), form.person))

    return check


def may_settle(name: str, form: Form, texts: Sequence[str]) -> Check:
    """Return a check that the tasks are disputed, and that the person has no part in the dispute."""
    unchanged = unchanged_since(name, form.number("last"))

    def check(view: EditView) -> None:
        unchanged(view)
        _refuse(why_not_settle(view.reference(name), texts, form.person))

    return check


def why_not_verify(edits: ReferenceEdits, person: str) -> str:
    """Return why a person does not verify the tasks of a reference; empty where the person may."""
    own = edits.tasks is not None and edits.tasks.person == person
    return "you wrote these tasks: another person verifies them" if own else ""


def why_not_settle(edits: ReferenceEdits, texts: Sequence[str], person: str) -> str:
    """Return why a person does not settle a dispute about the tasks; empty where the person may."""
    opinions = edits.opinions(texts)
    if not opinions:
        return "nobody has verified these tasks yet"
    involved = person in {*opinions, *([] if edits.tasks is None else [edits.tasks.person])}
    return "you wrote or verified these tasks: a third person settles it" if involved else ""


def _refuse(why: str) -> None:
    if why:
        raise ConflictError(why)


def _change(name: str, form: Form, texts: Sequence[str], *, settle: bool) -> Change:
    """Return the verdicts of a form in the order of its places; a verification may give no place.

    Raises:
        UsageError: A verdict is missing, only some tasks have a place, or a place comes twice.
    """
    numbers = range(1, len(texts) + 1)
    places = [form.optional(f"place{number}") for number in numbers]
    ordered = settle or any(places)
    if ordered and not all(places):
        expected = "a place for each task" + ("" if settle else ", or for none")
        raise UsageError("a task has no place", expected=expected)
    found: dict[int, TaskVerdict] = {}
    for number in numbers:
        text, word = form.text(f"text{number}"), form.text(f"verdict{number}")
        if text not in texts:
            raise ConflictError("the tasks were written anew meanwhile: look at them again")
        if word not in set(Verdict):
            raise UsageError(f"no verdict about {text!r}", got=word[:40], available=list(Verdict))
        place = form.number(f"place{number}") if ordered else texts.index(text) + 1
        if place in found or not 1 <= place <= len(texts):
            raise UsageError("each task has a place of its own", expected=f"1 to {len(texts)}", got=place)
        found[place] = TaskVerdict(text, Verdict(word), form.text(f"remark{number}"))
    verdicts = tuple(found[place] for place in sorted(found))
    if settle:
        return Settle(name, verdicts)
    return Verify(name, form.text("blind") == "1", verdicts, ordered)


def _page(studio: Studio, request: Request, form: Form | None, error: UserError | None) -> Response:
    source = studio.source(SourceKind.DATABASE, request)
    work = workspaces(studio).of(source)
    reference = work.reference(request.path_params["reference"])
    settle, person = _settles(request), person_of(request)
    view = work.journal.view()
    edits = view.reference(reference.reference_id)
    texts = work.texts(reference.reference_id)
    blind = not settle and (request.query_params.get("blind", "1") == "1")
    blind = blind if form is None else form.text("blind") == "1"
    opinions = {} if blind else edits.opinions(texts)
    refused = why_not_settle(edits, texts, person) if settle else why_not_verify(edits, person)
    shown = list(texts)
    if blind:
        random.Random(f"{person}|{reference.reference_id}").shuffle(shown)
    return studio.page(
        request,
        "people_verify.html.j2",
        status_of(error),
        source=source,
        reference=reference,
        texts=texts,
        shown=shown,
        blind=blind,
        settle=settle,
        opinions=opinions,
        disputed=disputed(opinions.values(), texts),
        writer=_writer(edits.tasks.person if edits.tasks is not None else None),
        edits=edits,
        standing=work.standing(reference.reference_id, view),
        meanings=MEANINGS,
        given={} if form is None else form.texts,
        error=refused if error is None else str(error),
        may_save=not refused,
        person=person,
    )


def _writer(person: str | None) -> str:
    return "the build" if person is None else person


def _next(source: Source, work: Workspace, person: str, *, settle: bool, after: str | None = None) -> str:
    """Return the next page for a person: the least verified references first."""
    view, standings = work.journal.view(), work.standings()
    names = list(standings)
    at = 0 if after is None else names.index(after) + 1
    for name in (*names[at:], *names[:at]):
        edits, texts = view.reference(name), work.texts(name)
        own = edits.tasks is not None and edits.tasks.person == person
        involved = own or person in edits.opinions(texts)
        wanted = {Standing.SETTLE} if settle else {Standing.VERIFY, Standing.SETTLE, Standing.DONE}
        if standings[name] in wanted and not involved and name != after:
            step = "settle" if settle else "verify"
            return f"/db/{path_segment(source.name)}/{step}/{path_segment(name)}"
    return f"/db/{path_segment(source.name)}/agreement?done={'settle' if settle else 'verify'}"
