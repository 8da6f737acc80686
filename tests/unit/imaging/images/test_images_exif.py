"""Images are turned upright by their EXIF data as OpenCV turns them."""

from __future__ import annotations

import struct
import zlib

import cv2
import numpy as np
import pytest

from embodied_iqa.base.errors import InputError
from embodied_iqa.imaging.images import codecs
from embodied_iqa.imaging.images.codecs import decode_rgb
from embodied_iqa.imaging.images.exif import jpeg_orientation, orientation

IMAGE = np.kron(np.random.default_rng(5).integers(0, 256, (3, 4, 3)), np.ones((8, 8, 1))).astype(np.uint8)
JPEG, PNG = (cv2.imencode(end, IMAGE[..., ::-1])[1].tobytes() for end in (".jpg", ".png"))


def exif(value: int, order: str = "<", tags: int = 2, kind: int = 3) -> bytes:
    """Return EXIF data whose last tag is the orientation."""
    start = b"II*\0" if order == "<" else b"MM\0*"
    other = struct.pack(f"{order}HHII", 0x010F, 4, 1, 7) * (tags - 1)
    turn = struct.pack(f"{order}HHIHH", 0x0112, kind, 1, value, 0)
    return start + struct.pack(f"{order}IH", 8, tags) + other + turn + b"\0\0\0\0"


def jpeg(*blocks: bytes) -> bytes:
    parts = (b"\xff\xe1" + struct.pack(">H", 8 + len(each)) + b"Exif\0\0" + each for each in blocks)
    return JPEG[:2] + b"".join(parts) + JPEG[2:]


def png(block: bytes) -> bytes:
    chunk = b"eXIf" + block
    return PNG[:33] + struct.pack(">I", len(block)) + chunk + struct.pack(">I", zlib.crc32(chunk)) + PNG[33:]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("value", range(1, 9))
def test_every_orientation_is_turned_as_by_opencv(
    value: int, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [jpeg(exif(value, order)), png(exif(value, order))]
    expected = [cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB) for data in files]
    monkeypatch.setattr(codecs, "_has_opencv", lambda: False)
    for data, pixels in zip(files, expected, strict=True):
        assert np.array_equal(decode_rgb(data, "it"), pixels)


@pytest.mark.parametrize(
    "block",
    [b"", b"II*\0", b"II*\0\xff\xff\xff\xff", b"XX*\0" + exif(6)[4:], exif(0), exif(9), exif(6, kind=4)],
)
def test_unclear_data_leaves_the_image_out(block: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codecs, "_has_opencv", lambda: False)
    for data in (jpeg(block), png(block)):
        with pytest.raises(InputError, match="has unclear EXIF data, which needs OpenCV"):
            decode_rgb(data, "it")


def test_no_orientation_is_upright_and_two_are_unclear() -> None:
    assert jpeg_orientation(JPEG) == orientation(exif(6, tags=1)[:8] + b"\0\0") == 1
    assert jpeg_orientation(jpeg(exif(6), exif(1))) is None
    assert jpeg_orientation(jpeg(exif(6)) + b"Exif\0\0") == 6
