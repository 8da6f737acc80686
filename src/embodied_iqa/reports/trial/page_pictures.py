"""The pictures of a run: reference beside distorted, with the decisions drawn on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.distortions import FrameDistorter
from embodied_iqa.errors import UserError
from embodied_iqa.images.assembler import Source
from embodied_iqa.images.frame import View
from embodied_iqa.reports.kit.formatting import seconds
from embodied_iqa.reports.kit.picture_encoding import data_uri
from embodied_iqa.reports.trial.headline import distortion_name
from embodied_iqa.reports.trial.page_model import Overlay, Picture, Side, ViewRow
from embodied_iqa.reports.trial.projection import chunk_points_m, project_path
from embodied_iqa.reports.trial.recorded_shots import Shot
from embodied_iqa.trial.record import ChunkRecord, RunRecord

__all__ = ["Moment", "moment_of", "view_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """The instant of a run that is shown.

    Attributes:
        stamp_ns: ROS time.
        name: In words.
        raw: The decision on the raw pictures of that instant, or None.
        distorted: The decision on the distorted ones, or None.
    """

    stamp_ns: int
    name: str
    raw: ChunkRecord | None
    distorted: ChunkRecord | None


def moment_of(run: RunRecord) -> Moment:
    """Choose what to show: the first decision; without one the first question; else the first frame."""
    pairs = run.decisions()
    if pairs:
        raw, distorted = pairs[0]
        return Moment(distorted.stamp_ns, "the first decision", raw, distorted)
    if run.chunks:
        chunk = run.chunks[0]
        alone = chunk if chunk.source is Source.RAW else None
        other = chunk if chunk.source is Source.DISTORTED else None
        return Moment(chunk.stamp_ns, "the first decision", alone, other)
    if run.answers:
        return Moment(run.answers[0].stamp_ns, "the first question", None, None)
    if run.verdicts:
        return Moment(run.verdicts[0].stamp_ns, "the first judged frame", None, None)
    return Moment(run.start_ns, "the start", None, None)


def view_rows(
    run: RunRecord, moment: Moment, shots: Mapping[View, Shot], most_bytes: int
) -> tuple[ViewRow, ...]:
    """Return one row a camera, with one picture for a clean run and two for a distorted one.

    The camera whose picture the decision names comes first.
    """
    chunk = moment.distorted or moment.raw
    views = sorted(shots, key=lambda view: (chunk is None or view is not chunk.view, list(View).index(view)))
    return tuple(_row(run, moment, shots[view], most_bytes) for view in views)


def _row(run: RunRecord, moment: Moment, shot: Shot, most_bytes: int) -> ViewRow:
    remarks = []
    if shot.stamp_ns != moment.stamp_ns:
        order = "after" if shot.stamp_ns > moment.stamp_ns else "before"
        remarks.append(f"Taken {seconds(abs(shot.stamp_ns - moment.stamp_ns), 3)} {order} the moment shown.")
    if (moment.raw or moment.distorted) and (shot.intrinsics is None or shot.T_base_camera is None):
        remarks.append("No camera model or pose was recorded: the tool path cannot be drawn.")
    raw = _overlay(moment.raw, shot, Side.REFERENCE)
    pictures = [_picture(data_uri(shot.rgb, most_bytes), shot, Side.REFERENCE, _drawn(raw), "undistorted")]
    if run.distortion is not None:
        name = f"{distortion_name(run.distortion)}, level {run.distortion.level}"
        overlays = _drawn(raw, _overlay(moment.distorted, shot, Side.DISTORTED))
        try:
            rgb = FrameDistorter(run.distortion).apply(shot.rgb, shot.view, shot.stamp_ns)
        except UserError as error:
            remarks.append(f"The distorted picture cannot be made again: {error}.")
        else:
            pictures.append(_picture(data_uri(rgb, most_bytes), shot, Side.DISTORTED, overlays, name))
    return ViewRow(str(shot.view), tuple(pictures), tuple(remarks))


def _drawn(*overlays: Overlay | None) -> tuple[Overlay, ...]:
    return tuple(overlay for overlay in overlays if overlay is not None)


def _picture(uri: str, shot: Shot, side: Side, overlays: tuple[Overlay, ...], what: str) -> Picture:
    height, width = shot.rgb.shape[:2]
    drawn = " with the decision drawn on it" if overlays else ""
    alt = f"{what[0].upper() + what[1:]} picture of the {shot.view} camera{drawn}"
    return Picture(side, uri, alt, width, height, overlays)


def _overlay(chunk: ChunkRecord | None, shot: Shot, side: Side) -> Overlay | None:
    """Return what of a decision can be drawn on a picture, or None where nothing can."""
    if chunk is None:
        return None
    target = chunk.target_px if chunk.view is shot.view else None
    pieces: list[NDArray[np.float64]] = []
    if shot.intrinsics is not None and shot.T_base_camera is not None:
        points_m = chunk_points_m(chunk.T_base_tool, chunk.increments)
        pieces = project_path(points_m, shot.intrinsics, shot.T_base_camera)
    if target is None and not pieces:
        return None
    return Overlay(
        side=side,
        lines=tuple(" ".join(f"{u:.1f},{v:.1f}" for u, v in piece) for piece in pieces),
        end=_place(pieces[-1][-1]) if pieces else None,
        target=target,
    )


def _place(pixel: NDArray[np.float64]) -> tuple[float, float]:
    return round(float(pixel[0]), 1), round(float(pixel[1]), 1)
