"""Fits of known shapes to a blob, by their outlines projected through the camera."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from embodied_iqa.imaging.images.frame import Frame
from embodied_iqa.models.subjects.backends.classical.colours import Blob, PaintMap
from embodied_iqa.world.manipulation.shapes import (
    BOWL_FOOT_RADIUS_M,
    BUTTON_BASE_HALF_M,
    BUTTON_BASE_HEIGHT_M,
    BUTTON_CAP_RADIUS_M,
    SCALE_OF_SIZE,
    ObjectShape,
    shape_of,
)
from embodied_iqa.world.tasks.vocabulary import SIZED_KINDS, Kind, Size

Array = NDArray[np.float64]

KNOWN_KINDS: Final = (Kind.CUBE, Kind.CYLINDER, Kind.BALL, Kind.BOWL, Kind.BUTTON)
"""Kinds with a known outline."""

_DARK_SHARES: Final = (0.45, 0.65)
"""Dark shares of a ring: a shadow covers less than the first, a button's base more than the second."""
_YAW_SEARCH: Final = ((np.pi / 18, 9), (np.pi / 54, 3), (np.pi / 162, 3))
"""Step and number of the yaw angles of a cube, coarse to fine."""
_SUBPIXEL_BITS: Final = 4
_UP: Final = np.array([0.0, 0.0, 1.0])
_FORWARD: Final = np.array([1.0, 0.0, 0.0])
_NEAREST_M: Final = 0.06
"""Depth above which every point of an object is in front of the camera."""


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """Fit of one kind to a blob.

    Attributes:
        kind: The kind.
        size: Small or large; None for an ordinary object.
        score: Intersection over union of blob and outline in [0, 1], higher is better; for a button, times
            the dark share of its base.
        x_m: Centre in the base frame.
        y_m: Centre in the base frame.
        yaw_rad: Turn about the vertical (cubes; else 0).
    """

    kind: Kind
    size: Size | None
    score: float
    x_m: float
    y_m: float
    yaw_rad: float


class Pinhole:
    """Projection of a frame's camera, from the base frame to pixels and back onto a height."""

    def __init__(self, frame: Frame) -> None:
        size, T_base_camera = frame.needed_intrinsics(), frame.needed_pose()
        self.centre_m: Array = T_base_camera[:3, 3]
        self._rotation: Array = T_base_camera[:3, :3]
        self._focal = np.array([size.fx_px, size.fy_px])
        self._principal = np.array([size.cx_px, size.cy_px])

    def pixels(self, points_m: Array) -> Array:
        """Project ``(N, 3)`` points of the base frame to ``(N, 2)`` pixels (u, v)."""
        seen = (points_m - self.centre_m) @ self._rotation
        return np.asarray(seen[:, :2] / seen[:, 2:] * self._focal + self._principal)

    def on_height(self, pixel: Array, height_m: float) -> Array | None:
        """Return ``(x, y)`` where a pixel's ray meets a height, or None; None also where that is too near."""
        u, v = (pixel - self._principal) / self._focal
        ray = self._rotation @ np.array([u, v, 1.0])
        if abs(ray[2]) < 1e-9:
            return None
        way = (height_m - self.centre_m[2]) / ray[2]
        return np.asarray(self.centre_m[:2] + way * ray[:2]) if way > _NEAREST_M else None


def fit_shapes(blob: Blob, paint: PaintMap, camera: Pinhole) -> tuple[ShapeFit, ...]:
    """Fit every known kind and size to a blob, best first; empty if the blob cannot be on the table."""
    fits = [fit for model in _models() if (fit := _fit(model, blob, camera)) is not None]
    believed = [_weigh_darkness(fit, paint, camera) for fit in fits]
    return tuple(sorted(believed, key=lambda fit: -fit.score))


@dataclass(frozen=True, slots=True)
class _Model:
    """A kind in one of its sizes."""

    kind: Kind
    size: Size | None

    @property
    def shape(self) -> ObjectShape:
        return shape_of(self.kind, self.size)


@cache
def _models() -> tuple[_Model, ...]:
    sizes = {kind: tuple(SCALE_OF_SIZE) if kind in SIZED_KINDS else (None,) for kind in KNOWN_KINDS}
    return tuple(_Model(kind, size) for kind in KNOWN_KINDS for size in sizes[kind])


def _fit(model: _Model, blob: Blob, camera: Pinhole) -> ShapeFit | None:
    start = camera.on_height(np.array(blob.centre_px), model.shape.height_m / 2)
    if start is None:
        return None
    place = _centred(model, start, camera, start, 0.0)
    yaw = _best_yaw(model, blob, camera, place) if model.kind is Kind.CUBE else 0.0
    place = _centred(model, start, camera, place, yaw)
    score = _overlap(blob, _outline(model, place, yaw, camera))
    return ShapeFit(model.kind, model.size, score, float(place[0]), float(place[1]), yaw)


def _centred(model: _Model, here: Array, camera: Pinhole, place: Array, yaw_rad: float) -> Array:
    """Move the outline so that its centroid matches the blob's, which is ``here`` at half the height."""
    there = camera.on_height(_centroid(_outline(model, place, yaw_rad, camera)), model.shape.height_m / 2)
    return place if there is None else place + here - there


def _best_yaw(model: _Model, blob: Blob, camera: Pinhole, place: Array) -> float:
    """Return the yaw at which a cube's outline covers the blob best."""
    overlap = cache(lambda yaw_rad: _overlap(blob, _outline(model, place, yaw_rad, camera)))
    yaw = 0.0
    for step_rad, count in _YAW_SEARCH:
        yaw = max((yaw + (index - count // 2) * step_rad for index in range(count)), key=overlap)
    return yaw


def _outline(model: _Model, place: Array, yaw_rad: float, camera: Pinhole) -> Array:
    """Return the convex outline of the coloured part, ``(N, 2)`` pixels."""
    if model.kind is Kind.BALL:
        points = _sphere_rim(model.shape.width_m / 2, place, camera.centre_m)
    else:
        points = _turned_surface(model, yaw_rad) + np.array([place[0], place[1], 0.0])
    hull: NDArray[np.float32] = cv2.convexHull(camera.pixels(points).astype(np.float32))
    return hull[:, 0, :].astype(np.float64)


@cache
def _turned_surface(model: _Model, yaw_rad: float) -> Array:
    """Return `_surface` turned about the vertical; the search tries the same few yaws on every blob."""
    if not yaw_rad:
        return _surface(model)
    cosine, sine = np.cos(yaw_rad), np.sin(yaw_rad)
    turn = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    return np.asarray(_surface(model) @ turn)


@cache
def _surface(model: _Model) -> Array:
    """Return points whose hull is the object's, at the origin."""
    shape = model.shape
    if model.kind is Kind.CUBE:
        return _box(shape.width_m / 2, shape.height_m)
    if model.kind is Kind.CYLINDER:
        return _rings([(shape.width_m / 2, 0.0), (shape.width_m / 2, shape.height_m)])
    if model.kind is Kind.BUTTON:
        return _rings([(BUTTON_CAP_RADIUS_M, BUTTON_BASE_HEIGHT_M), (BUTTON_CAP_RADIUS_M, shape.height_m)])
    angle = np.linspace(0.0, np.pi / 2, 4)
    radius = BOWL_FOOT_RADIUS_M + (shape.width_m / 2 - BOWL_FOOT_RADIUS_M) * np.sin(angle)
    return _rings(list(zip(radius, shape.height_m * (1 - np.cos(angle)), strict=True)))


def _box(half_m: float, height_m: float) -> Array:
    return np.array(
        [(x, y, z) for x in (-half_m, half_m) for y in (-half_m, half_m) for z in (0.0, height_m)]
    )


def _rings(rings: list[tuple[float, float]]) -> Array:
    cosine, sine = _circle(24)
    return np.concatenate(
        [np.stack([r * cosine, r * sine, np.full(cosine.size, z)], axis=1) for r, z in rings]
    )


@cache
def _circle(count: int) -> tuple[Array, Array]:
    """Return cosine and sine of evenly spaced angles, each ``(count,)``."""
    turn = np.linspace(0.0, 2 * np.pi, count, endpoint=False)
    return np.cos(turn), np.sin(turn)


def _sphere_rim(radius: float, place: Array, eye_m: Array) -> Array:
    """Return the circle where a camera's rays touch a ball of this radius (m) on the table."""
    centre = np.array([place[0], place[1], radius])
    towards = eye_m - centre
    distance = float(np.linalg.norm(towards))
    towards = towards / distance
    side = _cross(towards, _UP if abs(towards[2]) < 0.9 else _FORWARD)
    side = side / np.linalg.norm(side)
    cosine, sine = _circle(24)
    part = min(radius / distance, 1.0)
    rim = cosine[:, None] * side + sine[:, None] * _cross(towards, side)
    return np.asarray(centre + radius * (part * towards + np.sqrt(1 - part**2) * rim))


def _cross(a: Array, b: Array) -> Array:
    """Return the vector product of two ``(3,)``; `numpy.cross` takes 20 times as long."""
    (a0, a1, a2), (b0, b1, b2) = a.tolist(), b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def _centroid(outline: Array) -> Array:
    """Return the centroid of a polygon's area."""
    following = np.concatenate([outline[1:], outline[:1]])
    cross = outline[:, 0] * following[:, 1] - following[:, 0] * outline[:, 1]
    area = cross.sum()
    if abs(area) < 1e-9:
        return np.asarray(outline.mean(axis=0))
    return np.asarray(((outline + following) * cross[:, None]).sum(axis=0) / (3 * area))


def _overlap(blob: Blob, outline: Array) -> float:
    """Return intersection over union of the blob and the polygon."""
    height, width = blob.mask.shape
    drawn = np.zeros((height, width), np.uint8)
    corners = np.rint((outline - (blob.left_px, blob.top_px)) * 2**_SUBPIXEL_BITS).astype(np.int32)
    cv2.fillConvexPoly(drawn, corners, 1, shift=_SUBPIXEL_BITS)
    common = cv2.countNonZero(cv2.bitwise_and(drawn, blob.mask))
    outline_area = max(float(cv2.contourArea(outline.astype(np.float32))), float(common))
    return common / (outline_area + blob.area_px - common)


def _weigh_darkness(fit: ShapeFit, paint: PaintMap, camera: Pinhole) -> ShapeFit:
    """Weight a button by the dark share of its base, and reduce other kinds if the base is dark."""
    dark = float(np.interp(_dark_share(fit, paint, camera), _DARK_SHARES, (0.0, 1.0)))
    weight = dark if fit.kind is Kind.BUTTON else 1.0 - 0.3 * dark
    return replace(fit, score=weight * fit.score)


def _dark_share(fit: ShapeFit, paint: PaintMap, camera: Pinhole) -> float:
    """Return the dark share of the ring that a button's base would show at any yaw."""
    ring = _base_ring() + np.array([fit.x_m, fit.y_m, 0.0])
    u, v = np.rint(camera.pixels(ring)).astype(int).T
    height, width = paint.dark.shape
    inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
    return float(paint.dark[v[inside], u[inside]].mean()) if inside.any() else 0.0


@cache
def _base_ring() -> Array:
    """Return points of a button's base around its cap, at the origin."""
    cosine, sine = _circle(32)
    radius = (BUTTON_CAP_RADIUS_M + BUTTON_BASE_HALF_M) / 2
    return np.stack([radius * cosine, radius * sine, np.full(32, BUTTON_BASE_HEIGHT_M)], axis=1)
