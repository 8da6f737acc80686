"""What a recording has gained, for a page that follows it: small JSON, once a second."""

from __future__ import annotations

import math
from enum import StrEnum
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from embodied_iqa.base.errors import InputError
from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.rendering import fill
from embodied_iqa.pages.studio.kit.sources import NotFoundError, Source, SourceKind
from embodied_iqa.pages.studio.watch.lanes import Lane
from embodied_iqa.pages.studio.watch.live import LiveRecording
from embodied_iqa.pages.studio.watch.open_lane import lane_in, run_address
from embodied_iqa.pages.studio.watch.recordings import OpenRun, open_runs


class RecordingState(StrEnum):
    """State of the recording of a run."""

    RECORDING = "recording"
    ENDED = "ended"
    INTERRUPTED = "interrupted"


def routes(studio: Studio) -> list[Route]:
    """Return the routes of the page."""

    def gained(request: Request) -> Response:
        source = studio.source(SourceKind.RUN, request)
        task, run = int(request.path_params["task"]), int(request.path_params["run"])
        after_s, position = _known(request)
        try:
            found = open_runs(studio).of(source)
        except InputError as error:
            return _state(RecordingState.INTERRUPTED, message=str(error))
        live = found.live_of(task)
        if live is None:
            return _ended(found, task, run)
        whole = live.update()
        tree = {"recorded_s": live.recorded_s, "behind": not whole, "newest": _newest(source, live, task)}
        if live.position != position:
            tree |= _gained(lane_in(found, source, task, run), after_s)
        return _state(RecordingState.RECORDING, **tree)

    return [Route("/run/{name}/{task:int}/{run:int}/live", gained)]


def _known(request: Request) -> tuple[float, int]:
    """Return the time [s] up to which the page has all stamps, and the bytes of the recording it has seen."""
    try:
        after_s = float(request.query_params.get("after", "-1"))
        position = int(request.query_params.get("position", "-1"))
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from None
    if math.isnan(after_s):
        raise HTTPException(HTTPStatus.BAD_REQUEST)
    return after_s, position


def _ended(opened: OpenRun, task: int, run: int) -> Response:
    """Return that the recording has ended; one without its run was interrupted and left out."""
    try:
        opened.run(task, run)
    except NotFoundError:
        return _state(RecordingState.INTERRUPTED, message="; ".join(opened.remarks) or "no such run")
    return _state(RecordingState.ENDED)


def _newest(source: Source, live: LiveRecording, task: int) -> str:
    return run_address(source, task, max(0, live.run_count - 1))


def _gained(lane: Lane, after_s: float) -> dict[str, Any]:
    """Return the lane with the stamps after a time only, and its tracks as HTML."""
    data = lane.data
    frames = {view: [stamp for stamp in stamps if stamp > after_s] for view, stamps in data["frames"].items()}
    return {"lane": data | {"frames": frames}, "tracks": fill("studio_tracks.html.j2", lane=lane)}


def _state(state: RecordingState, **values: object) -> Response:
    return JSONResponse({"state": state, **values})
