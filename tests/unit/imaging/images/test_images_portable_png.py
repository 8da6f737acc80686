"""PNG and JPEG files without OpenCV: the same pixels, and the same words about damage."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images import codecs
from embodied_iqa.imaging.images.codecs import decode_rgb, read_image, write_image
from embodied_iqa.imaging.images.portable_png import png_pixels

RNG = np.random.default_rng(6)
SMOOTH = cv2.resize(RNG.integers(0, 256, (6, 8, 3), np.uint8), (61, 47), interpolation=cv2.INTER_CUBIC)
NOISE = RNG.integers(0, 256, (5, 9, 3), np.uint8)
FILTERS = {
    "none": cv2.IMWRITE_PNG_FILTER_NONE,
    "sub": cv2.IMWRITE_PNG_FILTER_SUB,
    "up": cv2.IMWRITE_PNG_FILTER_UP,
    "average": cv2.IMWRITE_PNG_FILTER_AVG,
    "paeth": cv2.IMWRITE_PNG_FILTER_PAETH,
    "all": cv2.IMWRITE_PNG_ALL_FILTERS,
}


def png(image: NDArray[np.generic], *options: int) -> bytes:
    return cv2.imencode(".png", image, options)[1].tobytes()


def turned(jpeg: bytes) -> bytes:
    """Return a JPEG file with EXIF data that ends early."""
    return jpeg[:2] + b"\xff\xe1\x00\x08Exif\0\0" + jpeg[2:]


@pytest.fixture
def _no_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs, "_has_opencv", lambda: False)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("image", [SMOOTH, NOISE, SMOOTH[:1], SMOOTH[:, :1]])
def test_every_filter_is_undone(name: str, image: NDArray[np.uint8]) -> None:
    found = png_pixels(png(image, cv2.IMWRITE_PNG_FILTER, FILTERS[name]))
    assert found is not None
    assert np.array_equal(found, image[..., ::-1])


def test_gray_becomes_rgb_and_alpha_is_dropped() -> None:
    for image in (SMOOTH[..., 0], np.dstack([SMOOTH, SMOOTH[..., :1]])):
        expected = cv2.imdecode(np.frombuffer(png(image), np.uint8), cv2.IMREAD_COLOR_RGB)
        found = png_pixels(png(image))
        assert found is not None
        assert np.array_equal(found, expected)


def test_other_depths_and_files_are_not_read() -> None:
    assert png_pixels(png(SMOOTH.astype(np.uint16) * 257)) is None
    assert png_pixels(png((SMOOTH[..., 0] > 99).astype(np.uint8) * 255, cv2.IMWRITE_PNG_BILEVEL, 1)) is None
    assert png_pixels(b"BM") is None
    assert png_pixels(b"") is None


@pytest.mark.usefixtures("_no_opencv")
def test_a_written_image_is_read_as_by_opencv(tmp_path: Path) -> None:
    write_image(tmp_path / "a.png", SMOOTH)
    assert np.array_equal(read_image(tmp_path / "a.png"), SMOOTH)
    assert np.array_equal(cv2.imread(str(tmp_path / "a.png"))[..., ::-1], SMOOTH)


@pytest.mark.parametrize("ending", [".png", ".jpg"])
@pytest.mark.parametrize("cut", [None, 300, 40, 0])
def test_pixels_and_words_are_those_with_opencv(
    ending: str, cut: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = cv2.imencode(ending, SMOOTH)[1].tobytes()[:cut]

    def result() -> bytes | str:
        try:
            return decode_rgb(data, "it").tobytes()
        except InputError as error:
            return str(error)

    expected = result()
    assert isinstance(expected, bytes) == (cut is None)
    monkeypatch.setattr(codecs, "_has_opencv", lambda: False)
    assert result() == expected


@pytest.mark.usefixtures("_no_opencv")
def test_a_file_that_is_no_image_is_named() -> None:
    with pytest.raises(InputError, match="it is not an image, or not of a known format"):
        decode_rgb(b"no image", "it")


@pytest.mark.usefixtures("_no_opencv")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (png(SMOOTH.astype(np.uint16) * 257), "has 16 bits a channel"),
        (
            png((SMOOTH[..., 0] > 99).astype(np.uint8) * 255, cv2.IMWRITE_PNG_BILEVEL, 1),
            "has 1 bit a channel",
        ),
        (cv2.imencode(".bmp", SMOOTH)[1].tobytes(), "is a BMP file"),
        (turned(cv2.imencode(".jpg", SMOOTH)[1].tobytes()), "has unclear EXIF data"),
    ],
)
def test_a_file_that_only_opencv_reads_is_named(data: bytes, words: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_rgb(data, "it")
    assert str(caught.value) == f"it {words}, which needs OpenCV: pip install opencv-python-headless"


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_file_cut_amid_its_pixels_is_truncated_with_and_without_opencv(
    keep: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = RNG.integers(0, 256, (240, 320, 3), np.uint8)
    for data in (png(noise), turned(cv2.imencode(".jpg", noise)[1].tobytes())):
        for has_opencv in (True, False):
            monkeypatch.setattr(codecs, "_has_opencv", lambda has=has_opencv: has)
            with pytest.raises(InputError, match=r"^it is a truncated (PNG|JPEG) file"):
                decode_rgb(data[: int(keep * len(data))], "it")
