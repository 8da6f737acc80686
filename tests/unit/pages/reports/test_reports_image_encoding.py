"""Images inside a page: true to the original where there is room, never above their share."""

from __future__ import annotations

import base64

import cv2
import numpy as np
import pytest
from synthetic_trial import scenery

from embodied_iqa.imaging.images.frame import View
from embodied_iqa.pages.reports.kit.image_encoding import bytes_for_each, data_uri

HEAD = "data:image/webp;base64,"


def _decoded(uri: str) -> tuple[np.ndarray, int]:
    assert uri.startswith(HEAD)
    data = base64.b64decode(uri[len(HEAD) :], validate=True)
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    return bgr[:, :, ::-1], len(data)


def test_a_plain_image_is_shown_as_it_is() -> None:
    rgb = cv2.GaussianBlur(scenery(View.TOP, 320), (0, 0), 1.5)
    shown, size = _decoded(data_uri(rgb, 90_000))
    assert shown.shape == rgb.shape
    assert size < 90_000
    assert np.abs(shown.astype(int) - rgb).mean() < 3


@pytest.mark.parametrize("most_bytes", [12_000, 40_000, 90_000])
def test_noise_is_made_to_fit(most_bytes: int) -> None:
    rgb = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    shown, size = _decoded(data_uri(rgb, most_bytes))
    assert size <= most_bytes
    assert shown.shape[0] / shown.shape[1] == pytest.approx(0.75, abs=0.01)


def test_wide_images_are_made_smaller() -> None:
    shown, _ = _decoded(data_uri(np.full((720, 1280, 3), 90, np.uint8), 90_000))
    assert shown.shape == (450, 800, 3)


def test_read_only_images_are_fine() -> None:
    rgb = scenery(View.TOP, 160)
    rgb.flags.writeable = False
    assert _decoded(data_uri(rgb[:, ::-1], 50_000))[0].shape == rgb.shape


def test_the_shares_add_up() -> None:
    for images in range(50, 340):
        assert bytes_for_each(images) * images <= 4_100_000
    assert bytes_for_each(0) == bytes_for_each(1) > bytes_for_each(200) > 0
