"""What the pages of the annotation show."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from embodied_iqa.base.errors import UserError
from embodied_iqa.data.database.edits import labels_of
from embodied_iqa.data.database.schema import Reference
from embodied_iqa.data.database.standings import Standing
from embodied_iqa.data.journal.journal import ConflictError
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.rendering import path_segment
from embodied_iqa.pages.studio.kit.sources import Source, SourceKind
from embodied_iqa.pages.studio.people.person import Form, person_of, status_of
from embodied_iqa.pages.studio.people.workspace import Workspace, workspaces
from embodied_iqa.world.scenes.language.advice import advise, verb_of
from embodied_iqa.world.tasks.task import MAX_RANK
from embodied_iqa.world.tasks.vocabulary import Verb

FROM_SENTENCE: Final = "sentence"
"""Choice of a verb: the one that the sentence names."""
_REASONS: Final = (
    "blurred or badly exposed",
    "no object that a robot could handle",
    "people or private things in the image",
    "nearly the same as another reference",
)
_LISTED: Final = 200
_RANKS: Final = range(1, MAX_RANK + 1)


@dataclass(frozen=True, slots=True)
class Place:
    """A reference in a database."""

    source: Source
    work: Workspace
    reference: Reference

    @property
    def name(self) -> str:
        """Its id."""
        return self.reference.reference_id

    @property
    def base(self) -> str:
        """Address of the database."""
        return f"/db/{path_segment(self.source.name)}"


def place_of(studio: Studio, request: Request) -> Place:
    """Return the reference that the path of a request names.

    Raises:
        NotFoundError: There is none.
    """
    source = studio.source(SourceKind.DATABASE, request)
    work = workspaces(studio).of(source)
    return Place(source, work, work.reference(request.path_params["reference"]))


def overview_view(studio: Studio, request: Request) -> Response:
    """Return the page with all references."""
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
        titles={name: row.title for name, row in work.tables().references.items()},
        hidden=max(0, len(names) - _LISTED),
        held=work.reservations.active(time.time_ns()),
        person=person_of(request),
    )


def annotate_view(
    studio: Studio, request: Request, form: Form | None = None, error: UserError | None = None
) -> Response:
    """Return the page of a reference; after an error with what the person has typed."""
    place, person = place_of(studio, request), person_of(request)
    view = place.work.journal.view()
    edits = view.reference(place.name)
    shown, labels = _fields(place, form)
    names = list(place.work.tables().references)
    at = names.index(place.name)
    held = place.work.reservations.active(time.time_ns()).get(place.name)
    return studio.page(
        request,
        "people_annotate.html.j2",
        status_of(error),
        source=place.source,
        reference=place.reference,
        shown=shown,
        theirs=place.work.tasks(place.name) if isinstance(error, ConflictError) and edits.last else (),
        advice=advise([shown[rank][0] for rank in _RANKS], place.work.surroundings(place.reference)),
        labels=labels,
        choices=_choices(place.work),
        standing=place.work.standing(place.name, view),
        edits=edits,
        last=view.edits[edits.last - 1] if edits.last else None,
        error="" if error is None else str(error),
        held=held if held is not None and held.person != person else None,
        person=person,
        verbs=list(Verb),
        reasons=_REASONS,
        position=(at + 1, len(names)),
        before=names[at - 1] if at else None,
        after=names[at + 1] if at + 1 < len(names) else None,
    )


def _fields(place: Place, form: Form | None) -> tuple[dict[int, tuple[str, str]], dict[str, Any]]:
    """Return the sentence and the verb of each rank, and the labels: as typed, else as in the database."""
    labels = asdict(labels_of(place.reference, place.work.journal.view()))
    if form is not None and "text1" in form.texts:
        labels |= {name: form.text(name) for name in labels if name in form.texts}
        return {rank: (form.text(f"text{rank}"), form.text(f"verb{rank}")) for rank in _RANKS}, labels
    shown = dict.fromkeys(_RANKS, ("", FROM_SENTENCE))
    for task in place.work.tasks(place.name):
        shown[task.rank] = (
            task.text,
            FROM_SENTENCE if task.verb is verb_of(task.text) else str(task.verb or ""),
        )
    return shown, labels


def _choices(work: Workspace) -> dict[str, list[str]]:
    """Return the labels in use, for completion."""
    view = work.journal.view()
    found: dict[str, set[str]] = {"main_object": set(), "main_kind": set(), "background": set()}
    for row in work.tables().references.values():
        labels = asdict(labels_of(row, view))
        for name, used in found.items():
            used.update(filter(None, [labels[name]]))
    return {name: sorted(used)[:_LISTED] for name, used in found.items()}
