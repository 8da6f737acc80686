"""The overlay: the image below its verdict in words and colour."""

from __future__ import annotations

import numpy as np
import pytest

from embodied_iqa.arm.verdict import Verdict
from embodied_iqa.imaging.images.frame import View
from embodied_iqa.quality.gate.judge import ImageQuality
from embodied_iqa.quality.gate.overlay import overlaid


def quality(verdict: Verdict, reason: str = "") -> ImageQuality:
    return ImageQuality(View.TOP, 1, None, verdict, verdict, reason)


@pytest.mark.parametrize(("verdict", "channel"), [(Verdict.PASS, 1), (Verdict.REJECT, 0)])
def test_the_bar_has_the_colour_of_the_verdict_and_the_image_is_whole(verdict: Verdict, channel: int) -> None:
    image = np.random.default_rng(0).integers(0, 256, (100, 200, 3), dtype=np.uint8)
    shown = overlaid(image, quality(verdict))
    assert np.array_equal(shown[-100:], image)
    assert np.argmax(shown[0, 0]) == channel


def test_a_large_image_is_made_smaller_and_a_reason_is_written() -> None:
    image = np.full((720, 1280, 3), 90, np.uint8)
    plain, said = (overlaid(image, quality(Verdict.HOLD, reason)) for reason in ("", "too dark"))
    assert plain.shape[1] == 640
    assert np.array_equal(plain[-360:], said[-360:])
    assert not np.array_equal(plain, said)


def test_a_long_reason_ends_in_dots_before_the_edge() -> None:
    image = np.full((480, 640, 3), 90, np.uint8)
    shown = overlaid(image, quality(Verdict.REJECT, "sharpness 0.0 below 103.5: blurred; " * 5))
    again = overlaid(image, quality(Verdict.REJECT, "sharpness 0.0 below 103.5: blurred; " * 50))
    assert np.array_equal(shown, again)
    bar = shown[:44]
    assert (bar[:, -6:] == bar[0, 0]).all()
    assert (bar[:, -40:-6] != bar[0, 0]).any()


@pytest.mark.parametrize(("size", "shown"), [((2000, 1), (640, 1)), ((1, 2000), (1, 640))])
def test_a_line_of_pixels_is_shown(size: tuple[int, int], shown: tuple[int, int]) -> None:
    height, width, _ = overlaid(np.zeros((*size, 3), np.uint8), quality(Verdict.HOLD, "too narrow")).shape
    assert (height - 44, width) == shown
