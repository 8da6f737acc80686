"""Agreement between people, and between people and the automatic scores."""

from __future__ import annotations

from collections import Counter

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from embodied_iqa.data.analysis.resampling import FEWEST_REFERENCES
from embodied_iqa.data.analysis.spot_checks import spot_result
from embodied_iqa.data.analysis.verification import verification_result
from embodied_iqa.models.subjects.catalogue import Role
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.sources import SourceKind
from embodied_iqa.pages.studio.people.person import person_of
from embodied_iqa.pages.studio.people.workspace import workspaces


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def page(request: Request) -> Response:
        source = studio.source(SourceKind.DATABASE, request)
        work = workspaces(studio).of(source)
        view, standings = work.journal.view(), work.standings()
        texts = {name: work.texts(name) for name in view.edited() if name in standings}
        modes = {"all": None, "blind": True, "not blind": False}
        verified = {name: verification_result(view, texts, blind=blind) for name, blind in modes.items()}
        scored = work.store.scores_file.is_file()
        roles = (Role.VLM, Role.VLA) if scored else ()
        return studio.page(
            request,
            "people_agreement.html.j2",
            source=source,
            verified=verified,
            spots={str(role): spot_result(work.store, view, role) for role in roles},
            fewest=FEWEST_REFERENCES,
            counts=Counter(standings.values()),
            done=request.query_params.get("done", ""),
            person=person_of(request),
        )

    return [Route("/db/{name}/agreement", page)]
