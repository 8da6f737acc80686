"""JPEG of others: pixels are OpenCV's; what libjpeg-turbo warns of is damage, what cameras add is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import cv2
import numpy as np
import pytest
import simplejpeg

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.codecs import decode, decode_rgb

Change = Callable[[bytes], bytes]
RNG = np.random.default_rng(7)
SCENE = cv2.resize(RNG.integers(0, 256, (31, 40, 3), np.uint8), (321, 243), interpolation=cv2.INTER_CUBIC)
ORDERS = (cv2.IMREAD_COLOR_RGB, cv2.IMREAD_COLOR, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_UNCHANGED)
SAMPLING = cv2.IMWRITE_JPEG_SAMPLING_FACTOR
FORMS = {
    "420": (SAMPLING, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_420),
    "422": (SAMPLING, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_422),
    "444": (SAMPLING, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444),
    "440": (SAMPLING, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440),
    "gray": (),
    "progressive": (cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    "optimised": (cv2.IMWRITE_JPEG_OPTIMIZE, 1),
    "restarts": (cv2.IMWRITE_JPEG_RST_INTERVAL, 4),
}


def encoded(form: str) -> bytes:
    pixels = SCENE[..., 1] if form == "gray" else SCENE
    return cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, 90, *FORMS[form]])[1].tobytes()


def opencv(data: bytes, flags: int = cv2.IMREAD_COLOR_RGB) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(data, np.uint8), flags)


def flipped(data: bytes, count: int) -> Iterator[bytes]:
    """The file with one byte of its image data changed, again and again."""
    rng = np.random.default_rng(40)
    start = data.index(b"\xff\xda") + 14
    for at in rng.integers(start, data.rindex(b"\xff\xd9"), count):
        changed = bytearray(data)
        changed[at] ^= int(rng.integers(1, 256))
        yield bytes(changed)


def decoded(data: bytes) -> tuple[np.ndarray | None, str]:
    try:
        return decode_rgb(data, "it"), ""
    except InputError as error:
        return None, str(error)


def warned(data: bytes) -> str:
    try:
        simplejpeg.decode_jpeg(data)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("form", FORMS)
def test_pixels_are_those_of_opencv(form: str) -> None:
    data = encoded(form)
    for flags in ORDERS:
        assert np.array_equal(decode(data, flags, "it"), opencv(data, flags))


def test_a_changed_byte_is_reported_or_gives_data_without_a_warning() -> None:
    """What libjpeg-turbo calls valid is decoded as it decodes it; of the rest, only padding is accepted."""
    outcomes = Counter[str]()
    for data in (data for form in FORMS for data in flipped(encoded(form), 40)):
        pixels, error = decoded(data)
        warning = warned(data)
        if pixels is None:
            assert re.fullmatch(r"it is a (damaged|truncated) JPEG file \(.+\)", error)
            outcomes["reported"] += 1
        else:
            assert np.array_equal(pixels, opencv(data))
            assert not warning or "extraneous bytes before marker" in warning
            outcomes["padded" if warning else "valid"] += 1
    assert outcomes["reported"] >= 60, "of 320"
    assert outcomes["padded"] <= 20, outcomes


@pytest.mark.parametrize("padding", [b"\xff\0", b"\0"])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_an_image_whose_camera_fills_up_before_restarts_is_whole(padding: bytes, count: int) -> None:
    """Cameras of Logitech do so, with ones."""
    data = encoded("restarts")
    start = data.index(b"\xff\xda") + 14
    padded = data[:start] + re.sub(rb"(?=\xff[\xd0-\xd9])", padding * count, data[start:])
    with pytest.raises(ValueError, match="extraneous bytes before marker"):
        simplejpeg.decode_jpeg(padded)
    assert np.array_equal(decode_rgb(padded, "it"), opencv(data))


@pytest.mark.parametrize(
    "changed",
    [
        lambda data: data.replace(b"JFIF\0\x01", b"JFIF\0\x09"),  # revision
        lambda data: data[:20] + bytes(608) + data[20:],  # before the second header
        lambda data: data.replace(b"\xff\xd9", b"\x7f\xff\xd9"),  # one byte before the end
        lambda data: data + bytes(4096),  # after it
    ],
)
def test_odd_bytes_without_pixels_are_no_damage(changed: Change) -> None:
    data = encoded("420")
    assert changed(data) != data
    assert np.array_equal(decode_rgb(changed(data), "it"), opencv(data))


@pytest.mark.parametrize("factors", ["111211", "141111"])
def test_sampling_that_simplejpeg_does_not_know_is_left_to_opencv(factors: str) -> None:
    data = bytearray(encoded("444"))
    frame = data.index(b"\xff\xc0")
    data[frame + 11 : frame + 18 : 3] = bytes.fromhex(factors)
    with pytest.raises((KeyError, ValueError), match=r"subsampling|\d"):
        simplejpeg.decode_jpeg_header(bytes(data))
    assert np.array_equal(decode_rgb(bytes(data), "it"), opencv(bytes(data)))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda data: data[: len(data) // 2] + data[-2:], "premature end of data segment"),
        (
            lambda data: data[:-2] + bytes(range(1, 41)) + data[-2:],
            "3. extraneous bytes before marker 0xd9",
        ),
        (lambda data: data.replace(b"\xff\xd3", b"\xff\xd5", 1), "found marker 0xd5 instead of RST3"),
    ],
)
def test_damage_is_named_in_the_words_of_the_library(changed: Change, reason: str) -> None:
    with pytest.raises(InputError, match=rf"it is a damaged JPEG file \({reason}\)"):
        decode_rgb(changed(encoded("restarts")), "it")


def test_damage_of_an_image_that_exif_turns_is_reported() -> None:
    exif = b"\xff\xe1\x00\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
    data = encoded("420")
    turned = data[:2] + exif + data[2:]
    assert decode_rgb(turned, "it").shape == (321, 243, 3)
    with pytest.raises(InputError, match="premature end"):
        decode_rgb(turned[: len(turned) // 2] + turned[-2:], "it")
