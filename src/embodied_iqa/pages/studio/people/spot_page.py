"""Spot checks: do two answers of a subject mean the same?"""

from __future__ import annotations

import random
from http import HTTPStatus
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.base.errors import UsageError
from embodied_iqa.data.analysis.spot_checks import Key, SpotItem, draw_item, read_item
from embodied_iqa.data.database.sample import answer_text
from embodied_iqa.data.journal.changes import LIKENESS, SpotCheck
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.rendering import path_segment
from embodied_iqa.pages.studio.kit.sources import NotFoundError, SourceKind
from embodied_iqa.pages.studio.people.person import Form, named, posted, require_person, see
from embodied_iqa.pages.studio.people.workspace import Workspace, workspaces

LIKENESSES: Final = ("something else", "hardly", "partly", "mostly", "the same")


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def page(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        work, person, role = workspaces(studio).of(source), require_person(request), _role(request)
        done = _done(work, person)
        item = draw_item(work.store, role, person, done) if work.store.scores_file.is_file() else None
        return studio.page(
            request,
            "people_spot.html.j2",
            HTTPStatus.OK,
            source=source,
            role=role,
            item=item,
            answers=() if item is None else _in_random_order(item, person),
            likenesses=LIKENESSES,
            done=len(done),
            person=person,
        )

    def save(request: Request, form: Form) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        work, role = workspaces(studio).of(source), _role(request)
        likeness = form.number("likeness")
        if likeness > LIKENESS:
            raise UsageError("bad likeness", expected=f"0 to {LIKENESS}", got=likeness)
        key = form.text("pair"), form.text("task"), form.text("subject")
        if read_item(work.store, key) is None:
            raise NotFoundError("the database no longer has these answers")
        work.journal.append(SpotCheck(*key, likeness), form.person, form.origin)
        return see(f"/db/{path_segment(source.name)}/spot?role={role}")

    base = "/db/{name}/spot"
    return [Route(base, named(page)), Route(base, posted(save), methods=["POST"])]


def _role(request: Request) -> Role:
    word = request.query_params.get("role", str(Role.VLM))
    if word not in {Role.VLM, Role.VLA}:
        raise UsageError("unknown role", got=word[:40], available=[Role.VLM, Role.VLA])
    return Role(word)


def _done(work: Workspace, person: str) -> set[Key]:
    return {
        (pair, task, subject)
        for who, pair, task, subject in work.journal.view().spot_checks()
        if who == person
    }


def _in_random_order(item: SpotItem, person: str) -> tuple[str, str]:
    """Return both answers; which is the reference's cannot be seen."""
    first, second = answer_text(item.first), answer_text(item.second)
    swapped = random.Random(f"{person}|{item.pair_id}|{item.task_id}").random() < 0.5
    return (second, first) if swapped else (first, second)
