"""The lane of a run of a source."""

from __future__ import annotations

from embodied_iqa.pages.studio.kit.context import Studio
from embodied_iqa.pages.studio.kit.rendering import path_segment
from embodied_iqa.pages.studio.kit.sources import Source
from embodied_iqa.pages.studio.watch.lanes import Lane, lane_of
from embodied_iqa.pages.studio.watch.recordings import OpenRun, open_runs


def open_lane(studio: Studio, source: Source, task: int, run: int) -> Lane:
    """Return the lane of a run; of a recording that is being written, what it holds by now.

    Raises:
        NotFoundError: There is no such run.
        InputError: The recording cannot be read.
    """
    found = open_runs(studio).of(source)
    found.update()
    return lane_in(found, source, task, run)


def lane_in(opened: OpenRun, source: Source, task: int, run: int) -> Lane:
    """Return the lane of a run of an open source, as `OpenRun.update` left it.

    Raises:
        NotFoundError: There is no such run.
        InputError: The recording cannot be read.
    """
    track, address = opened.track(task, run), run_address(source, task, run)
    return lane_of(opened.run(task, run), track, address, opened.live_of(task))


def run_address(source: Source, task: int, run: int) -> str:
    """Return the address of the player of a run."""
    return f"/run/{path_segment(source.name)}/{task}/{run}"
