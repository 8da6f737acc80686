"""Image files of others: one rule for orientation and depth; damage that decoders fill with gray is found."""

from __future__ import annotations

import io
import os
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageOps

from embodied_iqa.base.errors import InputError
from embodied_iqa.base.files import sha256_of
from embodied_iqa.data.frames.any_frames import open_frames
from embodied_iqa.imaging.distortions.region import read_mask
from embodied_iqa.imaging.images.codecs import decode_rgb, read_image
from embodied_iqa.imaging.images.header_size import jpeg_damage

SCENE = cv2.resize(np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8), (320, 240))
PLAIN = np.full((480, 640, 3), (90, 120, 60), np.uint8)
FORMS = ({"quality": 92}, {"quality": 60, "optimize": True}, {"quality": 85, "progressive": True})


def jpeg(rgb: np.ndarray, **options: object) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(rgb).save(out, "JPEG", **options)
    return out.getvalue()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP"])
def test_an_image_is_turned_upright_as_pillow_turns_it(tmp_path: Path, orientation: int, kind: str) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"image.{kind.lower()}"
    Pillow.fromarray(SCENE).save(path, kind, exif=exif)
    with Pillow.open(path) as image:
        assert np.array_equal(read_image(path), np.asarray(ImageOps.exif_transpose(image).convert("RGB")))


@pytest.mark.parametrize("options", FORMS)
@pytest.mark.parametrize("rgb", [SCENE, PLAIN, PLAIN[..., 0]])
def test_whole_files_are_whole_with_bytes_after_their_end_too(
    rgb: np.ndarray, options: dict[str, object]
) -> None:
    data = jpeg(rgb, **options)
    for whole in (data, data + bytes(5000), data + b"\xff\xd9 of a telephone", data + data):
        assert jpeg_damage(whole) == ""
        assert decode_rgb(whole, "it").shape[:2] == rgb.shape[:2]


@given(st.floats(0.05, 0.95), st.integers(0, len(FORMS) - 1))
def test_a_file_that_ends_early_or_in_zeros_is_damaged(share: float, form: int) -> None:
    data = jpeg(SCENE, **FORMS[form])
    start = data.index(b"\xff\xda") + 20
    cut = start + int(share * (len(data) - start))
    for damaged in (data[:cut], data[:cut] + bytes(len(data) - cut)):
        with pytest.raises(InputError, match="no end marker"):
            decode_rgb(damaged, "it")


@given(st.floats(0.05, 0.7))
def test_a_lost_block_amid_the_data_is_damage(share: float) -> None:
    data = jpeg(SCENE, quality=95)
    start = data.index(b"\xff\xda") + 20
    cut = start + int(share * (len(data) - start))
    with pytest.raises(InputError, match="512 zero bytes"):
        decode_rgb(data[:cut] + bytes(512) + data[cut + 512 :], "it")


@pytest.mark.parametrize("quality", [85, 90, 95])
def test_a_progressive_file_with_a_flat_band_is_whole(quality: int) -> None:
    rough = np.random.default_rng(0).integers(0, 256, (68, 120, 3), np.uint8)
    rgb = cv2.resize(rough, (1920, 1088), interpolation=cv2.INTER_LINEAR)
    rgb[:160] = 128
    data = jpeg(rgb, quality=quality, progressive=True)
    assert bytes(512) in data, "the bits that refine the band"
    assert jpeg_damage(data) == ""


def test_deep_images_are_taken_at_full_scale_only() -> None:
    gray = SCENE[..., 0].astype(np.uint16)

    def png(pixels: np.ndarray) -> bytes:
        return cv2.imencode(".png", pixels)[1].tobytes()

    assert np.array_equal(decode_rgb(png(gray * 257), "it")[..., 1], SCENE[..., 0])
    with pytest.raises(InputError, match=r"16-bit values of an unknown scale.*of 65535"):
        decode_rgb(png(gray * 16), "it")


@pytest.mark.parametrize(
    ("dtype", "kind"), [(np.float32, "floating-point"), (np.float64, "floating-point"), (np.int32, "32-bit")]
)
def test_other_depths_are_refused_by_their_name(dtype: type, kind: str) -> None:
    data = cv2.imencode(".tiff", SCENE[..., 0].astype(dtype))[1].tobytes()
    with pytest.raises(InputError, match=kind):
        decode_rgb(data, "it")


@pytest.mark.parametrize(
    ("mask", "reason"),
    [
        (np.ones((9, 9), np.uint8), "selects nothing.*highest value 1"),
        (np.zeros((9, 9), np.uint8), "selects nothing.*highest value 0"),
        (
            np.dstack([np.full((9, 9, 3), 255, np.uint8), 255 * np.eye(9, dtype=np.uint8)]),
            "transparent pixels",
        ),
    ],
)
def test_masks_that_select_nothing_or_are_in_the_alpha_channel_are_refused(
    tmp_path: Path, mask: np.ndarray, reason: str
) -> None:
    cv2.imwrite(str(tmp_path / "mask.png"), mask)
    with pytest.raises(InputError, match=reason):
        read_mask(tmp_path / "mask.png")


def test_a_jpeg_cut_in_its_tables_is_refused() -> None:
    data = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8))[1].tobytes()
    for end in range(2, len(data) - 2):
        with pytest.raises(InputError, match=r"truncated|damaged|known format"):
            decode_rgb(data[:end], "it")


def test_a_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.png")
    with pytest.raises(InputError, match=r"x\.png' is no file, but a pipe"):
        read_image(tmp_path / "x.png")
    with pytest.raises(InputError, match="no file, but a pipe"):
        sha256_of(tmp_path / "x.png")
    for name in ("x.mp4", "x.mcap"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(InputError, match="is no file, but a pipe"):
            open_frames(tmp_path / name)
