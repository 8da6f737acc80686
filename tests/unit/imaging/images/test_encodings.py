"""Encodings of image messages against formulas worked by hand, and messages that lie about themselves."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images.encodings import DEPTHS, ENCODINGS
from embodied_iqa.imaging.images.image_cdr import compressed_from_cdr, depth_from_cdr, image_from_cdr

RED, GREEN, BLUE = 200, 90, 30
BAYER = {"rggb": (RED, GREEN, GREEN, BLUE), "bggr": (BLUE, GREEN, GREEN, RED)}
BAYER |= {"gbrg": (GREEN, BLUE, RED, GREEN), "grbg": (GREEN, RED, BLUE, GREEN)}
SIZE = (4, 6)


def text(words: str) -> bytes:
    raw = words.encode() + b"\0"
    return struct.pack("<I", len(raw)) + raw + bytes(-len(raw) % 4)


def head() -> bytes:
    return b"\0\1\0\0" + struct.pack("<iI", 7, 5) + text("lens")


def message(
    data: bytes, size: tuple[int, int], encoding: str, step: int, claim: int | None = None, *, order: int = 0
) -> bytes:
    """Image in little-endian CDR, written out by hand; ``size`` is height and width."""
    raw = encoding.encode() + b"\0"
    fields = struct.pack("<II", *size) + struct.pack("<I", len(raw)) + raw + bytes([order])
    fields += bytes(-len(fields) % 4)
    return head() + fields + struct.pack("<II", step, len(data) if claim is None else claim) + data


def padded(rows: NDArray[Any], padding: int) -> tuple[bytes, int]:
    raw = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    return np.pad(raw, ((0, 0), (0, padding)), constant_values=77).tobytes(), raw.shape[1] + padding


def decoded(pixels: NDArray[Any], encoding: str, padding: int = 3, order: int = 0) -> NDArray[np.uint8]:
    data, step = padded(pixels, padding)
    return image_from_cdr(message(data, pixels.shape[:2], encoding, step, order=order)).rgb


def noise(*shape: int, kind: str = "u1") -> NDArray[Any]:
    return np.random.default_rng(sum(shape)).integers(0, np.iinfo(kind).max, shape, kind, endpoint=True)


@pytest.mark.parametrize(
    ("encoding", "channels", "order"),
    [
        ("rgb8", 3, [0, 1, 2]),
        ("bgr8", 3, [2, 1, 0]),
        ("rgba8", 4, [0, 1, 2]),
        ("bgra8", 4, [2, 1, 0]),
        ("8UC3", 3, [2, 1, 0]),
        ("mono8", 1, [0, 0, 0]),
        ("8UC1", 1, [0, 0, 0]),
    ],
)
@pytest.mark.parametrize("padding", [0, 5])
def test_channels_are_put_in_order(encoding: str, channels: int, order: list[int], padding: int) -> None:
    pixels = noise(*SIZE, channels)
    rgb = decoded(pixels, encoding, padding)
    assert np.array_equal(rgb, pixels[:, :, order])
    assert rgb.flags.c_contiguous
    assert not rgb.flags.writeable


@pytest.mark.parametrize(("order", "byte_order"), [(0, "<"), (1, ">")])
def test_sixteen_bits_are_scaled_in_either_byte_order(order: int, byte_order: str) -> None:
    values = np.arange(65536).reshape(256, 256)
    rgb = decoded(values.astype(byte_order + "u2"), "mono16", order=order)
    expected = np.rint(values * (255 / 65535))
    assert all(np.array_equal(rgb[:, :, channel], expected) for channel in range(3))
    for encoding, places in (("rgb16", [0, 1, 2]), ("bgr16", [2, 1, 0]), ("bgra16", [2, 1, 0])):
        pixels = noise(*SIZE, 4 if "a" in encoding else 3, kind="u2")
        rgb = decoded(pixels.astype(byte_order + "u2"), encoding, order=order)
        assert np.array_equal(rgb, np.rint(pixels * (255 / 65535))[:, :, places])


@pytest.mark.parametrize("pattern", BAYER)
def test_a_mosaic_of_one_colour_is_that_colour(pattern: str) -> None:
    mosaic = np.tile(np.array(BAYER[pattern], np.uint8).reshape(2, 2), (3, 4))
    colour = np.full((6, 8, 3), (RED, GREEN, BLUE))
    assert np.array_equal(decoded(mosaic, f"bayer_{pattern}8"), colour)
    for order, byte_order in enumerate("<>"):
        deep = (mosaic.astype(np.uint16) * 257).astype(byte_order + "u2")
        assert np.array_equal(decoded(deep, f"bayer_{pattern}16", order=order), colour)


@pytest.mark.parametrize(
    ("encodings", "places"), [(("yuv422", "uyvy"), (1, 0, 2)), (("yuv422_yuy2", "yuyv"), (0, 1, 3))]
)
def test_yuv_is_that_of_bt_601(encodings: tuple[str, ...], places: tuple[int, int, int]) -> None:
    luma = np.random.default_rng(1).integers(16, 236, SIZE).astype(float)
    blue, red = np.random.default_rng(2).integers(100, 156, (2, SIZE[0], SIZE[1] // 2)).astype(float)
    data = np.zeros((SIZE[0], SIZE[1] * 2), np.uint8)
    first, of_blue, of_red = places
    data[:, first::2], data[:, of_blue::4], data[:, of_red::4] = luma, blue, red
    y, u, v = 255 / 219 * (luma - 16), np.repeat(blue - 128, 2, 1), np.repeat(red - 128, 2, 1)
    exact = np.stack([y + 1.596 * v, y - 0.392 * u - 0.813 * v, y + 2.017 * u], axis=-1).clip(0, 255)
    for encoding in encodings:
        rgb = decoded(data.reshape(*SIZE, 2), encoding)
        assert np.abs(rgb - exact).max() < 1.1


@pytest.mark.parametrize(("order", "byte_order"), [(0, "<"), (1, ">")])
def test_depth_is_in_millimetres(order: int, byte_order: str) -> None:
    whole = np.array([[0, 1, 700], [65535, 1000, 2]])
    data, step = padded(whole.astype(byte_order + "u2"), 2)
    assert depth_from_cdr(message(data, (2, 3), "16UC1", step, order=order))[0] == 7_000_000_005
    assert np.array_equal(depth_from_cdr(message(data, (2, 3), "16UC1", step, order=order))[1], whole)
    metres = np.array([[np.nan, np.inf, 0.7], [-1.0, 65.5351, 65.6]])
    data, step = padded(metres.astype(byte_order + "f4"), 4)
    _stamp_ns, depth = depth_from_cdr(message(data, (2, 3), "32FC1", step, order=order))
    assert depth.tolist() == [[0, 0, 700], [0, 65535, 0]]


@pytest.mark.parametrize(
    ("encoding", "size", "step", "said"),
    [
        ("16UC1", (2, 2), 4, "a depth image has no colour"),
        ("bayer_rggb12", (2, 2), 4, "unknown image encoding"),
        ("yuv422", (2, 3), 6, "odd width of a yuv422 image"),
        ("bayer_rggb8", (2, 4), 4, "at least 3 x 3"),
        ("bgr8", (2, 2), 5, "image size and data disagree"),
        ("mono8", (0, 2), 2, "empty image"),
        ("mono8", (2**32 - 1, 2**32 - 1), 2**32 - 1, "disagree"),
    ],
)
def test_what_cannot_be_decoded_is_named(encoding: str, size: tuple[int, int], step: int, said: str) -> None:
    data = bytes(min(size[0], 9) * step if step < 99 else 99)
    with pytest.raises(InputError, match=said) as caught:
        image_from_cdr(message(data, size, encoding, step))
    assert "\n" not in str(caught.value)


def test_colour_is_no_depth() -> None:
    with pytest.raises(InputError, match=r"unknown depth encoding.*got 'rgb8'; available: 16UC1, 32FC1"):
        depth_from_cdr(message(bytes(12), (2, 2), "rgb8", 6))


@settings(max_examples=300, deadline=None)
@given(
    encoding=st.sampled_from([*ENCODINGS, *DEPTHS]),
    size=st.tuples(st.integers(0, 9) | st.just(2**31), st.integers(0, 9) | st.just(2**31)),
    step=st.integers(0, 40) | st.just(2**32 - 1),
    held=st.integers(0, 400),
    claim=st.integers(0, 400) | st.just(2**32 - 1),
)
def test_hostile_messages_are_refused_or_read(
    encoding: str, size: tuple[int, int], step: int, held: int, claim: int
) -> None:
    cdr = message(bytes(held), size, encoding, step, claim)
    decode = depth_from_cdr if encoding in DEPTHS else image_from_cdr
    with contextlib.suppress(InputError):
        found = decode(cdr)
        shape = found[1].shape if isinstance(found, tuple) else found.rgb.shape[:2]
        assert shape == size
        assert claim == step * size[0] <= held


def compressed(form: str, data: bytes, claim: int | None = None) -> bytes:
    return head() + text(form) + struct.pack("<I", len(data) if claim is None else claim) + data


def encoded(suffix: str, pixels: NDArray[Any]) -> bytes:
    done, data = cv2.imencode(suffix, pixels)
    assert done
    return data.tobytes()


@pytest.mark.parametrize(
    ("form", "order"),
    [
        ("png", [2, 1, 0]),
        ("bgr8; png compressed bgr8", [2, 1, 0]),
        ("rgb8; png compressed bgr8", [2, 1, 0]),
        ("rgb8; png compressed ", [2, 1, 0]),
        ("rgb8; png compressed rgb8", [0, 1, 2]),
    ],
)
def test_the_format_says_which_order_the_encoder_took(form: str, order: list[int]) -> None:
    given_to_encoder = noise(*SIZE, 3)
    found = compressed_from_cdr(compressed(form, encoded(".png", given_to_encoder)))
    assert np.array_equal(found.rgb, given_to_encoder[:, :, order])
    assert (found.stamp_ns, found.frame_id, found.encoding) == (7_000_000_005, "lens", form)
    assert not found.rgb.flags.writeable


def test_jpeg_gray_alpha_and_16_bits() -> None:
    pixels = cv2.GaussianBlur(noise(32, 48, 3), (0, 0), 6)
    jpeg = encoded(".jpg", pixels)
    found = compressed_from_cdr(compressed("rgb8; jpeg compressed bgr8", jpeg))
    assert np.abs(found.rgb[:, :, ::-1].astype(int) - pixels).mean() < 4.0
    gray = noise(*SIZE)
    gray_png = compressed_from_cdr(compressed("mono8; png compressed mono8", encoded(".png", gray)))
    assert np.array_equal(gray_png.rgb, np.stack([gray] * 3, -1))
    alpha = noise(*SIZE, 4)
    assert np.array_equal(
        compressed_from_cdr(compressed("png", encoded(".png", alpha))).rgb, alpha[:, :, 2::-1]
    )
    deep = noise(*SIZE, kind="u2")
    found = compressed_from_cdr(compressed("mono16; png compressed mono16", encoded(".png", deep)))
    assert np.array_equal(found.rgb[:, :, 1], np.rint(deep * (255 / 65535)))


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("h264", "unknown format of a compressed image.*got 'h264'"),
        ("", "unknown format"),
        ("rgb8;", "unknown format"),
        ("16UC1; png compressed 16UC1", "a depth topic without compression"),
        ("16UC1; compressedDepth png", "unknown format"),
        ("bayer_rggb8; png compressed bayer_rggb8", "mosaic is not an image"),
    ],
)
def test_other_formats_are_named(form: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        compressed_from_cdr(compressed(form, encoded(".png", noise(*SIZE))))


def test_a_file_that_claims_too_much_is_not_decoded() -> None:
    png = bytearray(encoded(".png", noise(*SIZE)))
    struct.pack_into(">II", png, 16, 9000, 9000)
    with pytest.raises(InputError, match=r"too large.*at most 64000000 pixels"):
        compressed_from_cdr(compressed("png", bytes(png)))


@settings(max_examples=100, deadline=None)
@given(data=st.data(), suffix=st.sampled_from([".png", ".jpg"]))
def test_damaged_compressed_messages_are_refused_or_read(data: st.DataObject, suffix: str) -> None:
    cdr = bytearray(compressed("jpeg" if suffix == ".jpg" else "png", encoded(suffix, noise(*SIZE, 3))))
    for _ in range(data.draw(st.integers(1, 4))):
        cdr[data.draw(st.integers(0, len(cdr) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):
        assert compressed_from_cdr(bytes(cdr[: data.draw(st.integers(0, len(cdr)))])).rgb.shape[2] == 3
