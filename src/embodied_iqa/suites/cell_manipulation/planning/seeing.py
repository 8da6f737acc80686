"""What a planner sees of a state: delivered images, object list, boxes and the grid's directions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.base.units import SECOND_NS
from embodied_iqa.imaging.distortions.stream import FrameDistorter
from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.shapes import Pinhole
from embodied_iqa.suites.cell_manipulation.actions import BIN_M, bin_centre_m, position_bins
from embodied_iqa.suites.cell_manipulation.environment import Observation
from embodied_iqa.suites.cell_manipulation.planning.detecting import Detections, load_detector
from embodied_iqa.suites.cell_manipulation.planning.planner_options import Coordinates, PromptOptions

Image = NDArray[np.uint8]
Bins = tuple[int, int, int]
_BOX_HALF_M: Final = 0.036
"""Half a side of a box: an object of 60 mm, enlarged by 1.2."""
_AXES_AT: Final = (8, 88, 15)
_AXIS_BINS: Final = 12
_BOX_RGB: Final = (255, 40, 40)
_AXIS_RGB: Final = ((255, 60, 60), (60, 220, 60))
_WHITE: Final = (255, 255, 255)


@dataclass(frozen=True, slots=True, eq=False)
class Sighting:
    """A state as a planner gets it.

    Attributes:
        front: The front image as delivered: distorted, without drawings; None in language-only runs.
        wrist: The wrist image as delivered, or None.
        objects: Bins of the listed objects, in the order of Y; None without a list.
        detections: What the list was made of; None unless a detector made it.
    """

    front: Frame | None
    wrist: Frame | None
    objects: tuple[Bins, ...] | None
    detections: Detections | None = None


def see(
    observation: Observation, options: PromptOptions, distorter: FrameDistorter, attempt: int = 0
) -> Sighting:
    """Return what a planner gets of a state.

    Args:
        observation: The true state.
        options: What the planner is shown.
        distorter: Distorts the images.
        attempt: Number of images of this state before; each has noise of its own.
    """
    stamp_ns = observation.step * SECOND_NS + attempt
    front = _delivered(observation.front, distorter, stamp_ns)
    wrist = _delivered(observation.wrist, distorter, stamp_ns)
    return Sighting(front, wrist, *_listed(observation, options, front))


def with_front(sighting: Sighting, observation: Observation, options: PromptOptions, rgb: Image) -> Sighting:
    """Return a state with another front image, such as a repaired one, and the list that it gives."""
    if sighting.front is None:
        return sighting
    front = replace(sighting.front, rgb=rgb)
    return Sighting(front, sighting.wrist, *_listed(observation, options, front))


def _listed(
    observation: Observation, options: PromptOptions, front: Frame | None
) -> tuple[tuple[Bins, ...] | None, Detections | None]:
    """Return the object list, None without one, and what it was made of."""
    if options.coordinates is Coordinates.TRUTH:
        return tuple(item.bins for item in observation.objects), None
    if options.coordinates is Coordinates.NONE or front is None:
        return None, None
    found = load_detector(options.detector)(front)
    places = sorted(found.positions_m(), key=lambda place: -place[1])
    return tuple(map(position_bins, places)), found


def annotated(sighting: Sighting, options: PromptOptions) -> Image | None:
    """Return the front image with the grid's directions and a numbered box around each listed object."""
    frame = sighting.front
    if frame is None:
        return None
    image, camera = frame.rgb.copy(), Pinhole(frame)
    _draw_axes(image, camera)
    if options.boxes:
        for number, bins in enumerate(sighting.objects or (), start=1):
            _draw_box(image, camera, bins, number)
    return image


def _delivered(frame: Frame | None, distorter: FrameDistorter, stamp_ns: int) -> Frame | None:
    if frame is None:
        return None
    rgb = distorter.apply(frame.rgb, frame.view, stamp_ns)
    return frame if rgb is frame.rgb else replace(frame, rgb=rgb)


def _draw_axes(image: Image, camera: Pinhole) -> None:
    origin = np.array(_AXES_AT)
    for axis, name in enumerate("XY"):
        step = np.zeros(3, dtype=int)
        step[axis] = _AXIS_BINS if axis == 0 else -_AXIS_BINS
        ends = np.stack([bin_centre_m(*origin.tolist()), bin_centre_m(*(origin + step).tolist())])
        start, end = (_pixel(point) for point in camera.pixels(ends))
        if axis == 1:
            start, end = end, start
        cv2.arrowedLine(image, start, end, _AXIS_RGB[axis], 2, cv2.LINE_AA, tipLength=0.2)
        _write(image, name, end, _AXIS_RGB[axis])


def _draw_box(image: Image, camera: Pinhole, bins: Bins, number: int) -> None:
    centre = bin_centre_m(*bins)
    sides = _BOX_HALF_M * np.array([(x, y, 0.0) for x in (-1, 1) for y in (-1, 1)])
    heights = np.array([(0.0, 0.0, -BIN_M), (0.0, 0.0, 2 * BIN_M)])
    corners = (centre + sides[:, None, :] + heights[None]).reshape(-1, 3)
    pixels = camera.pixels(corners)
    low, high = _pixel(pixels.min(axis=0)), _pixel(pixels.max(axis=0))
    cv2.rectangle(image, low, high, _BOX_RGB, 2)
    _write(image, str(number), (low[0] + 2, low[1] - 4), _BOX_RGB)


def _write(image: Image, text: str, place: tuple[int, int], colour: tuple[int, int, int]) -> None:
    for tint, width in ((_WHITE, 4), (colour, 2)):
        cv2.putText(image, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.6, tint, width, cv2.LINE_AA)


def _pixel(point: NDArray[np.float64]) -> tuple[int, int]:
    u, v = np.clip(np.round(point), -10_000, 10_000).astype(int).tolist()
    return u, v
