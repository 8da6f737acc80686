"""The tool's path in an image, against OpenCV's projection."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from embodied_iqa.imaging.images.frame import Intrinsics
from embodied_iqa.pages.reports.trial.tool_path_projection import chunk_points_m, project_path

CAMERA = Intrinsics(640, 480, 500.0, 510.0, 319.5, 239.5)
SEEDS = st.integers(0, 2**32 - 1)


def _pose(rng: np.random.Generator) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=int(rng.integers(2**31))).as_matrix()
    T[:3, 3] = rng.uniform(-1, 1, 3)
    return T


def _opencv(points_m: np.ndarray, T_base_camera: np.ndarray) -> np.ndarray:
    T = np.linalg.inv(T_base_camera)
    matrix = np.array([[CAMERA.fx_px, 0, CAMERA.cx_px], [0, CAMERA.fy_px, CAMERA.cy_px], [0, 0, 1]])
    turn, _ = cv2.Rodrigues(T[:3, :3])
    pixels, _ = cv2.projectPoints(points_m.reshape(-1, 1, 3), turn, T[:3, 3], matrix, np.zeros(5))
    return pixels.reshape(-1, 2)


@given(SEEDS)
@settings(max_examples=40)
def test_points_in_front_are_where_opencv_puts_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T = _pose(rng)
    seen = rng.uniform([-1, -1, 0.1], [1, 1, 3], (5, 3))
    points_m = seen @ T[:3, :3].T + T[:3, 3]
    (piece,) = project_path(points_m, CAMERA, T)
    np.testing.assert_allclose(piece, _opencv(points_m, T), atol=1e-6)


@given(SEEDS)
@settings(max_examples=40)
def test_what_is_cut_off_stays_on_the_line(seed: int) -> None:
    rng = np.random.default_rng(seed)
    before, behind = rng.uniform([-1, -1, 0.3], [1, 1, 2]), rng.uniform([-1, -1, -2], [1, 1, 0.0])
    whole = project_path(np.array([before, behind]), CAMERA, np.eye(4))
    assert len(whole) == 1
    assert len(whole[0]) == 2
    np.testing.assert_allclose(whole[0][0], _opencv(before[None], np.eye(4))[0], atol=1e-6)
    on_line = before + np.array([0.25, 0.4])[:, None] * (behind - before)
    on_line = on_line[on_line[:, 2] > 0.02]
    pixels = _opencv(on_line, np.eye(4)) if len(on_line) else np.empty((0, 2))
    along = whole[0][1] - whole[0][0]
    for pixel in pixels:
        offset = pixel - whole[0][0]
        cross = along[0] * offset[1] - along[1] * offset[0]
        assert abs(cross) / (np.linalg.norm(along) * max(1.0, np.linalg.norm(offset))) < 1e-6


def test_a_path_through_the_camera_falls_into_pieces() -> None:
    points_m = np.array([[0, 0, 1.0], [0, 0, -1], [0.1, 0, -1], [0.1, 0, 1]])
    assert [len(piece) for piece in project_path(points_m, CAMERA, np.eye(4))] == [2, 2]
    assert project_path(points_m[1:3], CAMERA, np.eye(4)) == []


def test_a_chunk_leads_where_its_matrices_lead() -> None:
    rng = np.random.default_rng(3)
    T, increments = _pose(rng), rng.uniform(-0.5, 0.5, (6, 7))
    points_m = chunk_points_m(T, increments)
    expected = [T[:3, 3]]
    for row in increments:
        step = np.eye(4)
        step[:3, :3] = Rotation.from_rotvec(row[3:6]).as_matrix()
        step[:3, 3] = row[:3]
        T = T @ step
        expected.append(T[:3, 3])
    np.testing.assert_allclose(points_m, expected, atol=1e-12)


@pytest.mark.parametrize("broken", ["pose", "increments", "camera", "model"])
def test_no_line_from_what_is_not_a_number(broken: str) -> None:
    T, increments, T_camera, camera = np.eye(4), np.zeros((2, 7)), np.eye(4), CAMERA
    T[2, 3] = 1.0
    if broken == "pose":
        T[0, 3] = np.nan
    elif broken == "increments":
        increments[1, 2] = np.inf
    elif broken == "camera":
        T_camera[0, 0] = np.nan
    else:
        camera = Intrinsics(640, 480, float("nan"), 1, 1, 1)
    assert project_path(chunk_points_m(T, increments), camera, T_camera) == []


def test_an_empty_chunk_stays() -> None:
    assert chunk_points_m(np.eye(4), np.empty((0, 7))).tolist() == [[0.0, 0.0, 0.0]]
