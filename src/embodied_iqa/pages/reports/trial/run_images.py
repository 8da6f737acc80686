"""The images of a run: reference beside distorted, with the decisions drawn on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.errors import UserError
from embodied_iqa.data.recording.trial_record import ChunkRecord, RunRecord
from embodied_iqa.imaging.images.assembler import Source
from embodied_iqa.imaging.images.frame import View, ordered_views
from embodied_iqa.pages.reports.kit.formatting import seconds
from embodied_iqa.pages.reports.kit.image_encoding import data_uri
from embodied_iqa.pages.reports.trial.recorded_frames import RecordedFrame
from embodied_iqa.pages.reports.trial.tool_path_projection import chunk_points_m, project_path


class Side(StrEnum):
    """Reference or distorted; the name of the CSS class."""

    REFERENCE = "reference"
    DISTORTED = "distorted"


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """The moment of a run that is shown.

    Attributes:
        stamp_ns: ROS time.
        name: Such as "the first decision".
        raw: The decision on the raw images of this moment, or None.
        distorted: The decision on the distorted images, or None.
    """

    stamp_ns: int
    name: str
    raw: ChunkRecord | None = None
    distorted: ChunkRecord | None = None

    @property
    def decision(self) -> ChunkRecord | None:
        """The decision on the distorted images, else on the raw ones."""
        return self.distorted or self.raw


@dataclass(frozen=True, slots=True)
class Overlay:
    """A decision drawn on an image, in pixels of the recorded image.

    Attributes:
        side: Images that the decision is based on.
        lines: Pieces of the tool's path, for SVG polylines.
        end: End of the drawn path, or None.
        target: Pixel that the subject aimed at, or None.
    """

    side: Side
    lines: tuple[str, ...]
    end: tuple[float, float] | None
    target: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Image:
    """An image as data URI, with overlays in drawing order."""

    side: Side
    uri: str
    overlays: tuple[Overlay, ...]


@dataclass(frozen=True, slots=True)
class ViewRow:
    """The images of one camera.

    Attributes:
        view: The camera.
        width_px: Of the recorded image, the coordinates of overlays.
        height_px: Likewise.
        images: Beside each other.
        remarks: About the images.
    """

    view: View
    width_px: int
    height_px: int
    images: tuple[Image, ...]
    remarks: tuple[str, ...]


def moment_of(run: RunRecord) -> Moment:
    """Choose what to show: the first decision, else the first question, else the first judged frame."""
    if pairs := run.decisions():
        raw, distorted = pairs[0]
        # a receding horizon skips references
        is_first = all(chunk.sequence >= distorted.sequence for chunk in run.chunks)
        name = "the first decision" if is_first else "the first decision with a reference"
        return Moment(distorted.stamp_ns, name, raw, distorted)
    if run.chunks:
        chunk = run.chunks[0]
        alone = chunk if chunk.source is Source.RAW else None
        other = chunk if chunk.source is Source.DISTORTED else None
        return Moment(chunk.stamp_ns, "the first decision", alone, other)
    if run.answers:
        return Moment(run.answers[0].stamp_ns, "the first question")
    if run.verdicts:
        return Moment(run.verdicts[0].stamp_ns, "the first judged frame")
    return Moment(run.start_ns, "the start")


def view_rows(
    run: RunRecord, moment: Moment, frames: Mapping[View, RecordedFrame], max_bytes: int
) -> tuple[ViewRow, ...]:
    """Return a row for each camera, that of the decision first: one image for a clean run, else two."""
    chunk = moment.decision
    views = sorted(ordered_views(frames), key=lambda view: chunk is None or view != chunk.view)
    return tuple(_row(run, moment, frames[view], max_bytes) for view in views)


def _row(run: RunRecord, moment: Moment, frame: RecordedFrame, max_bytes: int) -> ViewRow:
    remarks = []
    if frame.stamp_ns != moment.stamp_ns:
        order = "after" if frame.stamp_ns > moment.stamp_ns else "before"
        remarks.append(f"Taken {seconds(abs(frame.stamp_ns - moment.stamp_ns), 3)} {order} the moment shown.")
    lacking = {"camera model": frame.intrinsics is None, "pose of the camera": frame.T_base_camera is None}
    if moment.decision and any(lacking.values()):
        words = " and no ".join(name for name, is_lacking in lacking.items() if is_lacking)
        remarks.append(f"No {words} was recorded: the tool path cannot be drawn.")
    overlays = _overlays(moment.raw, frame, Side.REFERENCE)
    images = [Image(Side.REFERENCE, data_uri(frame.rgb, max_bytes), overlays)]
    if run.distortion is not None:
        overlays += _overlays(moment.distorted, frame, Side.DISTORTED)
        try:
            rgb = run.distorter.apply(frame.rgb, frame.view, frame.stamp_ns)
        except UserError as error:
            remarks.append(f"The distorted image cannot be recomputed: {error}.")
        else:
            images.append(Image(Side.DISTORTED, data_uri(rgb, max_bytes), overlays))
    height_px, width_px = frame.rgb.shape[:2]
    return ViewRow(frame.view, width_px, height_px, tuple(images), tuple(remarks))


def _overlays(chunk: ChunkRecord | None, frame: RecordedFrame, side: Side) -> tuple[Overlay, ...]:
    """Return what can be drawn of a decision on an image: one overlay, or none."""
    if chunk is None:
        return ()
    target = chunk.target_px if chunk.view == frame.view else None
    pieces: list[NDArray[np.float64]] = []
    if frame.intrinsics is not None and frame.T_base_camera is not None:
        points_m = chunk_points_m(chunk.T_base_tool, chunk.increments)
        pieces = project_path(points_m, frame.intrinsics, frame.T_base_camera)
    if target is None and not pieces:
        return ()
    lines = tuple(" ".join(f"{u:.1f},{v:.1f}" for u, v in piece) for piece in pieces)
    end = None
    if pieces:
        u, v = pieces[-1][-1]
        end = round(float(u), 1), round(float(v), 1)
    return (Overlay(side, lines, end, target),)
